"""The journal API: lists, reads and deletes answered requests."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias, TypeVar, get_type_hints
from uuid import UUID

from django.db.models import Q
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from mockllm_site.kit.api.shapes import Flag, Shape, Text, Whole
from scenarios_app.control.kit import (
    ControlError,
    ControlView,
    JournalledBody,
    MismatchBody,
    SessionQuery,
    StepBody,
    Texts,
    delete_journal_rows,
    documented,
    flush_journal,
    journal_completeness,
    rows_of_session,
)
from scenarios_app.control.sessions import find_session
from scenarios_app.engine import journal_entry as entries
from scenarios_app.engine.journal_entry import FIELD_RULES, JournalEntry, ShownIn
from scenarios_app.models import Outcome, ServedRequest

MAX_PAGE_ROWS = 1_000
DEFAULT_PAGE_ROWS = 100
EVERY_ROW = Q()


class NearMissBody(StepBody):
    """A step that was near, and why it did not match."""

    mismatches = MismatchBody(many=True, help_text="The conditions that did not hold.")


class TextsByName(serializers.DictField):
    """An object of texts."""

    child = Text(allow_blank=True)


class NumbersByName(serializers.DictField):
    """An object of numbers."""

    child = serializers.FloatField()


Field: TypeAlias = Callable[..., "serializers.Field[Any, Any, Any, Any]"]
S = TypeVar("S", bound=Shape)

_HINTS = get_type_hints(JournalEntry)
_FIELDS_BY_HINT: Mapping[Any, Field] = {
    bool: Flag,
    float: serializers.FloatField,
    int: Whole,
    int | None: Whole,
    str: Text,
    entries.B: Text,
    entries.Outcome: partial(serializers.ChoiceField, Outcome.choices),
    Mapping[str, float]: NumbersByName,
    Mapping[str, str]: TextsByName,
    Sequence[str]: Texts,
}
_FIELDS_BY_NAME: Mapping[str, Field] = {
    "uid": serializers.UUIDField,
    "at": serializers.DateTimeField,
    "near_misses": partial(NearMissBody, many=True),
    "response_headers": TextsByName,
}


def _shown_in(part: ShownIn) -> dict[str, str]:
    """Return the fields of an entry that an object of the API has, by their keys there."""
    names = [name for name, rule in FIELD_RULES.items() if rule.shown_in == part]
    return {"id" if name == "uid" else name.removeprefix(f"{part}_"): name for name in names}


_PARTS: Mapping[ShownIn, dict[str, str]] = {
    part: _shown_in(part) for part in ("line", "request", "response")
}


def _with_fields(part: ShownIn) -> Callable[[type[S]], type[S]]:
    """Return a decorator that gives a shape the fields of an entry that are shown in `part`."""
    fields = {}
    for key, name in _PARTS[part].items():
        make = _FIELDS_BY_NAME.get(name) or _FIELDS_BY_HINT[_HINTS[name]]
        null = {"allow_null": True} if FIELD_RULES[name].null else {}
        fields[key] = make(help_text=FIELD_RULES[name].help, **null)

    def add_fields(shape: type[S]) -> type[S]:
        """Return the shape with the fields."""
        shape._declared_fields.update(fields)
        return shape

    return add_fields


@_with_fields("line")
class RequestLine(Shape):
    """A request and its outcome."""


@_with_fields("request")
class RequestMessage(Shape):
    """The request as it arrived."""


@_with_fields("response")
class ResponseMessage(Shape):
    """The response as it was sent."""


class RequestBody(RequestLine):
    """A request with the headers and bodies of both messages."""

    request = RequestMessage(help_text="The request.")
    response = ResponseMessage(help_text="The response.")


class ListedRequest(RequestLine):
    """A request of a page."""

    request = RequestMessage(required=False, help_text="The request, with `bodies`.")
    response = ResponseMessage(required=False, help_text="The response, with `bodies`.")


class RequestsBody(JournalledBody):
    """A page of the journal."""

    requests = ListedRequest(many=True, help_text="The requests, oldest first.")
    next = serializers.UUIDField(
        allow_null=True, help_text="The `after` of the next page; null on the last page."
    )


class RequestsQuery(SessionQuery):
    """The filters of the list of journalled requests, and the size of a page."""

    provider = Text(required=False, help_text="Only requests to this provider's API.")
    scenario = Text(required=False, help_text="Only requests that this scenario answered.")
    matched = Flag(
        required=False,
        words=True,
        help_text="Only requests that matched, or (false) did not.",
    )
    after = serializers.UUIDField(
        required=False,
        help_text="The last id of the page before.",
        error_messages={"invalid": "expected the id of a request"},
    )
    limit = Whole(
        required=False,
        digits=True,
        min_value=1,
        max_value=MAX_PAGE_ROWS,
        default=DEFAULT_PAGE_ROWS,
        help_text="The maximum number of requests.",
    )


class PageQuery(RequestsQuery):
    """The filters of the list, and how much it has of each request."""

    bodies = Flag(
        required=False,
        words=True,
        default=False,
        help_text="Adds headers and bodies, as in `GET /control/requests/ID`.",
    )


class RequestsView(ControlView):
    @documented(
        "list_requests",
        RequestsBody,
        "The requests, in the order in which their answers ended.",
        query=PageQuery,
        errors=(404,),
    )
    def get(self, request: Request) -> Response:
        """Requests whose answers have ended, oldest first."""
        return Response(list_requests(self.query(PageQuery)))

    @documented("delete_requests", None, "Deleted.", status=204, query=SessionQuery)
    def delete(self, request: Request) -> Response:
        """Delete the journal, or a session's part of it; session state stays unchanged."""
        session = _flush_and_resolve(self.query(SessionQuery).get("session"))
        delete_journal_rows(None if session is None else [session])
        return Response(status=204)


class RequestDetailView(ControlView):
    @documented("read_request", RequestBody, "The request.", errors=(404,))
    def get(self, request: Request, id: str) -> Response:
        """One request with its headers and bodies."""
        return Response(request_body(find_request(id)))


def list_requests(query: Mapping[str, Any], condition: Q = EVERY_ROW) -> dict[str, Any]:
    """Return a page of the journal for the fields of a RequestsQuery or PageQuery. Only rows that
    meet the condition are listed. Raises ControlError 404 for an unknown `after`."""
    session = _flush_and_resolve(query.get("session"))
    filters = {key: query[key] for key in ("provider", "scenario", "matched") if key in query}
    rows = rows_of_session(session).filter(condition, **filters)
    if "after" in query:
        rows = rows.filter(pk__gt=_find_row(query["after"], field="after").pk)
    limit = query["limit"]
    bodies = query.get("bodies", False)
    page = list((rows if bodies else rows.only(*_PARTS["line"].values()))[: limit + 1])
    return {
        "requests": [request_body(row) if bodies else _show(row, "line") for row in page[:limit]],
        "next": str(page[limit - 1].uid) if len(page) > limit else None,
        **journal_completeness(session),
    }


def find_request(request_id: str | UUID) -> ServedRequest:
    """Return the row of an ended request, after a flush of the journal; ControlError 404."""
    flush_journal()
    return _find_row(request_id)


def request_body(row: ServedRequest) -> dict[str, Any]:
    """Return a request with the headers and bodies of both messages, as in a RequestBody."""
    messages = {"request": _show(row, "request"), "response": _show(row, "response")}
    return _show(row, "line") | messages


def _show(row: ServedRequest, part: ShownIn) -> dict[str, Any]:
    """Return the fields of a row that an object of the API has, by their keys there."""
    values = {key: getattr(row, name) for key, name in _PARTS[part].items()}
    nulls = {
        key: None
        for key, name in _PARTS[part].items()
        if FIELD_RULES[name].null and not values[key]
    }
    return values | nulls


def _flush_and_resolve(session: str | None) -> str | None:
    """Flush the journal and return the session's name, or None for all sessions."""
    flush_journal()
    return find_session(session)


def _find_row(request_id: str | UUID, *, field: str | None = None) -> ServedRequest:
    """Return the row with this id. Raises ControlError 404 with `field`."""
    try:
        row = ServedRequest.objects.filter(uid=UUID(str(request_id))).first()
    except ValueError:
        row = None
    if row is None:
        raise ControlError(404, f"The journal has no request {request_id}.", field=field)
    return row
