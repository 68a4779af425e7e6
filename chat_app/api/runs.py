"""Runs over HTTP: send a message, follow a run from any event on, cancel it. A run goes on if its
client disconnects."""

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
from chat_app.loop import submit
from chat_app.profiles import profile_name
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
        "X-Conversation-Id": "The conversation, which may be new.",
        "X-Trace-Id": "The id of the run, to follow or cancel it.",
    }.items()
]
LAST_EVENT_ID = OpenApiParameter(
    "Last-Event-ID",
    # An empty header counts as missing.
    {"type": "string", "pattern": "^[0-9]{0,19}$"},
    OpenApiParameter.HEADER,
    description="The number of the last event that the client has; browsers send it.",
)


class SendView(AsyncChatView):
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
        """Send a message and stream its answer."""
        data = self.read_body(SendBody)
        with ExitStack() as resources:
            resources.enter_context(stream_slot())
            handle = await send_message(
                data["conversation_id"],
                data["message"],
                profile_name(data["profile"]),
                client_id=data["client_id"],
                client_message_id=data["client_message_id"],
            )
            return await event_stream(
                request._request,
                handle.logged_events(),
                conversation_id=handle.conversation_id,
                trace_id=handle.id,
                resources=resources.pop_all(),
            )


class StreamView(AsyncChatView):
    http_method_names = ("get",)

    @documented(
        "follow_stream",
        tag="runs",
        query=StreamQuery,
        headers=[*IDS, LAST_EVENT_ID],
        answers={
            200: (EVENTS, "The events after that number; for an ended run, at least the last one."),
            204: (None, "The run has ended, and the client has its last event."),
        },
        errors=(404,),
        media_type=STREAM,
    )
    async def get(self, request: Request, trace_id: str) -> HttpResponseBase:
        """Stream the events of a live or ended run after a given one."""
        data = self.query(StreamQuery)
        last_event_id = self._last_event_id()
        after = data["after"] if last_event_id is None else last_event_id
        try:
            trace = await in_database(partial(trace_of, trace_id, data["client_id"]))
            with ExitStack() as resources:
                resources.enter_context(stream_slot())
                if await in_database(partial(terminal_number, trace.pk)) == after:
                    return Response(status=204)
                return await event_stream(
                    request._request,
                    follow(trace.pk, after=after),
                    conversation_id=trace.conversation_id,
                    trace_id=trace.pk,
                    resources=resources.pop_all(),
                )
        except Trace.DoesNotExist:
            raise _trace_not_found() from None

    def _last_event_id(self) -> int | None:
        """Return the number in the header `Last-Event-ID`, or None without one. Raises a 400."""
        header = self.request.headers.get("Last-Event-ID", "")
        if not header:
            return None
        if not (header.isascii() and header.isdigit() and len(header) < 20):
            raise ApiError(
                400, "Last-Event-ID: expected the number of an event", field="Last-Event-ID"
            )
        return int(header)


class CancelView(ChatView):
    @documented(
        "cancel_stream",
        tag="runs",
        body=CancelBody,
        answers={200: (CancelledBody, "The run has ended; its partial answer is stored.")},
        errors=(404, 409),
    )
    def post(self, request: Request) -> Response:
        """Cancel a run, or all live runs of a conversation; return the id of the first one."""
        data = self.read_body(CancelBody)
        trace_ids = _runs_to_cancel(data)
        cancelled: list[UUID] = []
        for trace_id in trace_ids:
            try:
                submit(cancel(trace_id)).result()
            except ChatError as error:
                # One run of a comparison may have ended; the other is still cancelled.
                if error.code != CONFLICT or (trace_id == trace_ids[-1] and not cancelled):
                    raise
            else:
                cancelled.append(trace_id)
        return Response({"status": "cancelled", "trace_id": str(cancelled[0])})


def _runs_to_cancel(data: dict[str, Any]) -> list[UUID]:
    """Return the id of the run `trace_id`, or those of all live runs of `conversation_id`. Raises
    NOT_FOUND, and CONFLICT if the conversation has no live run."""
    if "trace_id" in data:
        try:
            return [trace_of(data["trace_id"], data["client_id"]).pk]
        except Trace.DoesNotExist:
            raise _trace_not_found() from None
    conversation = conversation_of(data["client_id"], data["conversation_id"])
    running = traces_of(conversation.pk).filter(status=Status.RUNNING).order_by("branch")
    trace_ids = list(running.values_list("pk", flat=True))
    if not trace_ids:
        raise ChatError(CONFLICT, "Nothing is being answered", field="conversation_id")
    return trace_ids


def _trace_not_found() -> ChatError:
    return ChatError(NOT_FOUND, "Trace not found", field="trace_id")
