"""The journal: every request that was answered, oldest first, a page at a time or one whole."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from mockllm_site.api.shapes import Flag, Shape, Text, Whole
from scenarios_app.control.documented import documented
from scenarios_app.control.errors import ControlError
from scenarios_app.control.journalled import flush, rows_of_session
from scenarios_app.control.sessions import session_named
from scenarios_app.control.shapes import MismatchBody, SessionQuery
from scenarios_app.control.view import ControlView
from scenarios_app.models import Outcome, ServedRequest

MOST = 1_000
PAGE = 100
# The columns of a line: bodies and headers stay where they are.
COLUMNS = (
    "uid",
    "at",
    "session",
    "provider",
    "path",
    "scenario",
    "step",
    "matched",
    "fallback",
    "outcome",
    "status",
    "violations",
    "near_misses",
    "duration_ms",
)


class NearMissBody(Shape):
    """A step that was near, and why it did not match."""

    scenario = Text()
    step = Text()
    mismatches = MismatchBody(many=True)


class RequestLine(Shape):
    id = serializers.UUIDField(help_text="The answer's x-mockllm-request.")
    at = serializers.DateTimeField(help_text="When it came in.")
    session = Text()
    provider = Text(allow_blank=True)
    path = Text()
    scenario = Text(allow_null=True)
    step = Text(allow_null=True, help_text="Its name, or its number from 1.")
    matched = Flag()
    fallback = Flag(help_text="A catch-all answered, since nothing else did.")
    outcome = serializers.ChoiceField(Outcome.choices)
    status = Whole()
    violations = serializers.ListField(child=Text())
    near_misses = NearMissBody(many=True)
    duration_ms = serializers.FloatField()


class RequestsBody(Shape):
    requests = RequestLine(many=True)
    next = serializers.UUIDField(
        allow_null=True, help_text="The `after` of the next page; null where this is the last."
    )


class MessageBody(Shape):
    """Headers and body as text, secrets masked. `bytes` is the size of the body; `cut` says that
    not all of it was kept."""

    headers = serializers.DictField(child=Text(allow_blank=True))
    body = Text(allow_blank=True)
    bytes = Whole()
    cut = Flag()


class RequestMessage(MessageBody):
    method = Text()
    query = serializers.DictField(child=Text(allow_blank=True))


class ResponseMessage(MessageBody):
    timings = serializers.DictField(
        child=serializers.FloatField(), help_text="Milliseconds from the arrival of the request."
    )


class RequestBody(RequestLine):
    request = RequestMessage()
    response = ResponseMessage()


class RequestsQuery(SessionQuery):
    provider = Text(required=False)
    scenario = Text(required=False)
    matched = Flag(required=False, words=True)
    after = serializers.UUIDField(
        required=False,
        help_text="The id after which to go on.",
        error_messages={"invalid": "expected the id of a request"},
    )
    limit = Whole(required=False, digits=True, min_value=1, max_value=MOST, default=PAGE)


class RequestsView(ControlView):
    @documented(
        "list_requests",
        query=RequestsQuery,
        answers={200: (RequestsBody, "In the order in which answers ended.")},
        errors=(404,),
    )
    def get(self, request: Request) -> Response:
        """Requests whose answers have ended, the oldest first."""
        asked = self.query(RequestsQuery)
        rows = _rows(asked.get("session"))
        given = {key: asked[key] for key in ("provider", "scenario", "matched") if key in asked}
        rows = rows.filter(**given)
        if "after" in asked:
            rows = rows.filter(pk__gt=_row(asked["after"], field="after").pk)
        limit = asked["limit"]
        page = list(rows.only(*COLUMNS)[: limit + 1])
        more = len(page) > limit
        shown = page[:limit]
        return Response(
            {
                "requests": [_line(row) for row in shown],
                "next": str(shown[-1].uid) if more else None,
            }
        )

    @documented("delete_requests", query=SessionQuery, answers={204: (None, "They are gone.")})
    def delete(self, request: Request) -> Response:
        """Empty the journal, or what it has of a session; states stay as they are."""
        _rows(self.query(SessionQuery).get("session")).delete()
        return Response(status=204)


class OneRequest(ControlView):
    @documented(
        "read_request", answers={200: (RequestBody, "All that is known of it.")}, errors=(404,)
    )
    def get(self, request: Request, id: str) -> Response:
        """One request with its headers and bodies."""
        flush()
        row = _row(id)
        return Response(
            {
                **_line(row),
                "request": {
                    "method": row.method,
                    "query": row.query,
                    "headers": row.request_headers,
                    "body": row.request_body,
                    "bytes": row.request_bytes,
                    "cut": row.request_cut,
                },
                "response": {
                    "headers": row.response_headers,
                    "body": row.response_body,
                    "bytes": row.response_bytes,
                    "cut": row.response_cut,
                    "timings": row.timings,
                },
            }
        )


def _rows(session: str | None) -> QuerySet[ServedRequest]:
    flush()
    return rows_of_session(None if session is None else session_named(session))


def _row(given: str | UUID, *, field: str | None = None) -> ServedRequest:
    try:
        found = ServedRequest.objects.filter(uid=UUID(str(given))).first()
    except ValueError:
        found = None
    if found is None:
        raise ControlError(404, f"The journal has no request {given}.", field=field)
    return found


def _line(row: ServedRequest) -> dict[str, Any]:
    return {
        "id": str(row.uid),
        "at": row.at,
        "session": row.session,
        "provider": row.provider,
        "path": row.path,
        "scenario": row.scenario or None,
        "step": row.step or None,
        "matched": row.matched,
        "fallback": row.fallback,
        "outcome": row.outcome,
        "status": row.status,
        "violations": row.violations,
        "near_misses": row.near_misses,
        "duration_ms": row.duration_ms,
    }
