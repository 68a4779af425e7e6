"""The journal API: lists, reads and deletes answered requests."""

from collections.abc import Mapping
from typing import Any
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
from scenarios_app.models import Outcome, ServedRequest

MAX_PAGE_ROWS = 1_000
DEFAULT_PAGE_ROWS = 100
EVERY_ROW = Q()


class NearMissBody(StepBody):
    """A step that was near, and why it did not match."""

    mismatches = MismatchBody(many=True, help_text="The conditions that did not hold.")


class RequestLine(Shape):
    """A request and its outcome."""

    id = serializers.UUIDField(help_text="The value of the header x-mockllm-request.")
    at = serializers.DateTimeField(help_text="The time of arrival.")
    session = Text(help_text="The session.")
    provider = Text(allow_blank=True, help_text="The provider whose API was called.")
    path = Text(help_text="The path without its query.")
    scenario = Text(allow_null=True, help_text="The scenario that answered; null for none.")
    step = Text(allow_null=True, help_text="The step's name, or its number from 1.")
    matched = Flag(help_text="True for an answer of a step, block or endpoint.")
    fallback = Flag(help_text="True if a catch-all answered.")
    outcome = serializers.ChoiceField(Outcome.choices, help_text="How the answer ended.")
    status = Whole(help_text="The HTTP status.")
    violations = Texts(help_text="Violated expectations.")
    near_misses = NearMissBody(many=True, help_text="The closest steps, if none matched.")
    duration_ms = serializers.FloatField(help_text="Milliseconds to the answer's end.")


# The columns of a line; bodies and headers are not loaded for it.
COLUMNS = tuple(name for name in RequestLine._declared_fields if name != "id")


class MessageBody(Shape):
    """Headers and body as text, secrets masked. `bytes` is the size of the body; `cut` says that
    not all of it was kept."""

    headers = serializers.DictField(
        child=Text(allow_blank=True), help_text="The headers by name; secrets are masked."
    )
    body = Text(allow_blank=True, help_text="The body as text.")
    bytes = Whole(help_text="The size of the body.")
    cut = Flag(help_text="True if the stored body is not complete.")


class RequestMessage(MessageBody):
    """The request as it arrived."""

    method = Text(help_text="The HTTP method.")
    query = serializers.DictField(
        child=Text(allow_blank=True), help_text="The query by name; secrets are masked."
    )


class ResponseMessage(MessageBody):
    """The response as it was sent."""

    timings = serializers.DictField(
        child=serializers.FloatField(), help_text="Milliseconds since the request's arrival."
    )


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
    page = list((rows if bodies else rows.only("uid", *COLUMNS))[: limit + 1])
    return {
        "requests": [request_body(row) if bodies else _request_line(row) for row in page[:limit]],
        "next": str(page[limit - 1].uid) if len(page) > limit else None,
        **journal_completeness(session),
    }


def find_request(request_id: str | UUID) -> ServedRequest:
    """Return the row of an ended request, after a flush of the journal; ControlError 404."""
    flush_journal()
    return _find_row(request_id)


def request_body(row: ServedRequest) -> dict[str, Any]:
    """Return a request with the headers and bodies of both messages, as in a RequestBody."""
    return {
        **_request_line(row),
        "request": {"method": row.method, "query": row.query, **_message_fields(row, "request")},
        "response": {**_message_fields(row, "response"), "timings": row.timings},
    }


def _message_fields(row: ServedRequest, name: str) -> dict[str, Any]:
    """Return headers, body and size of a row's request or response."""
    return {key: getattr(row, f"{name}_{key}") for key in ("headers", "body", "bytes", "cut")}


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


def _request_line(row: ServedRequest) -> dict[str, Any]:
    line = {"id": str(row.uid)} | {column: getattr(row, column) for column in COLUMNS}
    return line | {"scenario": row.scenario or None, "step": row.step or None}
