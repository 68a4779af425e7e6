"""Runs over HTTP: a message starts one, its events can be followed from anywhere, it can be
cancelled. A client that stops listening stops nothing."""

from contextlib import ExitStack
from functools import partial
from typing import Any
from uuid import UUID

from django.http.response import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response

from chat_app.api.event_stream import event_stream, stream_slot
from chat_app.api.kit import AsyncChatView, ChatView, documented
from chat_app.api.shapes import CancelBody, CancelledBody, SendBody, StreamQuery
from chat_app.conversations import conversation_of
from chat_app.errors import CONFLICT, NOT_FOUND, ChatError
from chat_app.loop import wait_for
from chat_app.profiles import Named
from chat_app.service import cancel, send_message
from mockllm_site.kit.api.errors import ApiError
from mockllm_site.kit.database_thread import in_database
from traces_app.follow import follow, terminal_number
from traces_app.models import Status, Trace
from traces_app.selectors import trace_of, traces_of

STREAM = "text/event-stream"
# Each event's data is the JSON of one of these.
EVENTS = {
    "type": "string",
    "contentMediaType": "application/json",
    "contentSchema": {"$ref": "#/components/schemas/Event"},
}
IDS = [
    OpenApiParameter(name, UUID, OpenApiParameter.HEADER, response=[200], description=meaning)
    for name, meaning in {
        "X-Conversation-Id": "The conversation, also one that was just begun.",
        "X-Trace-Id": "The run, to follow or cancel it.",
    }.items()
]
LAST_EVENT_ID = OpenApiParameter(
    "Last-Event-ID",
    # An empty one is as if not given.
    {"type": "string", "pattern": "^[0-9]{0,19}$"},
    OpenApiParameter.HEADER,
    description="The number of the last event that is known; browsers send it by themselves.",
)


class SendView(AsyncChatView):
    http_method_names = ("post",)

    @documented(
        "get_chat_response_stream",
        tag="runs",
        body=SendBody,
        headers=IDS,
        answers={200: (EVENTS, "The run's events, from the first to the last.")},
        errors=(404, 409),
        media_type=STREAM,
    )
    async def post(self, request: Request) -> HttpResponseBase:
        """Send a message, and follow its answer."""
        asked = self.read_body(SendBody)
        with ExitStack() as held:
            held.enter_context(stream_slot())
            handle = await send_message(
                asked["conversation_id"],
                asked["message"],
                Named(asked["profile"]),
                client_id=asked["client_id"],
                client_message_id=asked["client_message_id"],
            )
            return event_stream(
                handle.logged(),
                conversation_id=handle.conversation_id,
                trace_id=handle.id,
                held=held.pop_all(),
            )


class StreamView(AsyncChatView):
    http_method_names = ("get",)

    @documented(
        "follow_stream",
        tag="runs",
        query=StreamQuery,
        headers=[*IDS, LAST_EVENT_ID],
        answers={
            200: (EVENTS, "The events after that number; of an ended run at least the last."),
            204: (None, "The run has ended, and its last event is known."),
        },
        errors=(404,),
        media_type=STREAM,
    )
    async def get(self, request: Request, trace_id: str) -> HttpResponseBase:
        """Follow a run from an event on, be it over or not."""
        asked = self.query(StreamQuery)
        known = self._last_event_id()
        after = asked["after"] if known is None else known
        try:
            trace = await in_database(partial(trace_of, trace_id, asked["client_id"]))
            with ExitStack() as held:
                held.enter_context(stream_slot())
                if await in_database(partial(terminal_number, trace.pk)) == after:
                    return Response(status=204)
                return event_stream(
                    follow(trace.pk, after=after),
                    conversation_id=trace.conversation_id,
                    trace_id=trace.pk,
                    held=held.pop_all(),
                )
        except Trace.DoesNotExist:
            raise _unknown_trace() from None

    def _last_event_id(self) -> int | None:
        given = self.request.headers.get("Last-Event-ID", "")
        if not given:
            return None
        if not (given.isascii() and given.isdigit() and len(given) < 20):
            raise ApiError(
                400, "Last-Event-ID: expected the number of an event", field="Last-Event-ID"
            )
        return int(given)


class CancelView(ChatView):
    http_method_names = ("post",)

    @documented(
        "cancel_stream",
        tag="runs",
        body=CancelBody,
        answers={200: (CancelledBody, "It has ended; what was said until then is stored.")},
        errors=(404, 409),
    )
    def post(self, request: Request) -> Response:
        """Stop what is being answered."""
        asked = self.read_body(CancelBody)
        found = _to_cancel(asked)
        cancelled: list[UUID] = []
        for trace_id in found:
            try:
                wait_for(cancel(trace_id))
            except ChatError as error:
                # One of two answers may end just now; the other is cancelled all the same.
                if error.code != CONFLICT or (trace_id == found[-1] and not cancelled):
                    raise
            else:
                cancelled.append(trace_id)
        return Response({"status": "cancelled", "trace_id": str(cancelled[0])})


def _to_cancel(asked: dict[str, Any]) -> list[UUID]:
    """The runs that are meant: the one with that id, or all that go on in that conversation."""
    if "trace_id" in asked:
        try:
            return [trace_of(asked["trace_id"], asked["client_id"]).pk]
        except Trace.DoesNotExist:
            raise _unknown_trace() from None
    conversation = conversation_of(asked["client_id"], asked["conversation_id"])
    running = traces_of(conversation.pk).filter(status=Status.RUNNING).order_by("branch")
    found = list(running.values_list("pk", flat=True))
    if not found:
        raise ChatError(CONFLICT, "Nothing is being answered", field="conversation_id")
    return found


def _unknown_trace() -> ChatError:
    return ChatError(NOT_FOUND, "Trace not found", field="trace_id")
