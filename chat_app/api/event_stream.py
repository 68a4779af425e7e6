"""The HTTP response that streams a run's events as server-sent events."""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import ExitStack, aclosing, contextmanager
from threading import Lock
from typing import Final
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase

from chat_app.runs.metrics import STREAMS_OPEN
from mockllm_site.kit.api.errors import ApiError
from mockllm_site.kit.streams import can_stream, close_if_lost, close_soon, read_to_end
from traces_app.log import LoggedEvent

HEARTBEAT: Final = b": still here\n\n"
# Events encoded ahead for a slow client; later ones stay in the run's log.
_MAX_QUEUED_EVENTS: Final = 64


def encode_event(event: LoggedEvent) -> bytes:
    """Return one server-sent event: `id` is its number, `data` its JSON with `type` first."""
    data = json.dumps(
        {"type": event.type, **event.payload}, ensure_ascii=False, separators=(",", ":")
    )
    return f"id: {event.seq}\ndata: {data}\n\n".encode("utf-8", "replace")


async def encode_stream(
    events: AsyncGenerator[LoggedEvent, None], *, heartbeat_seconds: float, max_seconds: float
) -> AsyncGenerator[bytes, None]:
    """Yield the events as bytes, all available ones in one piece; a comment after a silence. After
    `max_seconds` the stream ends between two events; the client can resume it."""
    queue: asyncio.Queue[bytes | None] = asyncio.Queue(_MAX_QUEUED_EVENTS)
    pump = asyncio.create_task(_encode_into_queue(events, queue))
    now = asyncio.get_running_loop().time
    ends_at = now() + max_seconds
    try:
        while (remaining := ends_at - now()) > 0:
            try:
                async with asyncio.timeout(min(heartbeat_seconds, remaining)):
                    frame_bytes = await queue.get()
            except TimeoutError:
                if remaining > heartbeat_seconds:
                    yield HEARTBEAT
                continue
            due = []
            while frame_bytes is not None:
                due.append(frame_bytes)
                if queue.empty():
                    break
                frame_bytes = queue.get_nowait()
            if due:
                yield b"".join(due)
            if frame_bytes is None:
                # Raises an error of the events, so that the stream does not seem complete.
                await pump
                return
    finally:
        pump.cancel()
        await asyncio.wait({pump})


async def _encode_into_queue(
    events: AsyncGenerator[LoggedEvent, None], queue: "asyncio.Queue[bytes | None]"
) -> None:
    """Put the encoded events into the queue, and None at the end, also before an error is
    raised."""
    try:
        async with aclosing(events):
            async for event in events:
                await queue.put(encode_event(event))
    except Exception:
        await queue.put(None)
        raise
    await queue.put(None)


log = logging.getLogger(__name__)

HEARTBEAT_SECONDS: Final = 15.0
RETRY_SECONDS: Final = 1

_open: set[object] = set()
_opening = Lock()
STREAMS_OPEN.set_function(lambda: len(_open))


@contextmanager
def stream_slot() -> Iterator[None]:
    """Reserve one of the process's MOCKLLM_MAX_STREAMS slots while the context is open; raises a
    503 if all are used. Enter it before a run starts, so that no run starts without a reader."""
    slot = object()
    with _opening:
        if len(_open) >= settings.MOCKLLM_MAX_STREAMS:
            raise ApiError(
                503,
                "Too many streams are open; try again.",
                headers={"Retry-After": str(RETRY_SECONDS)},
            )
        _open.add(slot)
    try:
        yield
    finally:
        _open.discard(slot)


class _StreamBody:
    """A streamed body that closes `resources`. Django always calls `close`, even if unread."""

    def __init__(self, pieces: AsyncGenerator[bytes, None], resources: ExitStack) -> None:
        self._pieces = pieces
        self._resources = resources
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_complete = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        self._loop = asyncio.get_running_loop()
        with self._resources:
            try:
                async with aclosing(self._pieces):
                    async for frame_bytes in self._pieces:
                        yield frame_bytes
                self._is_complete = True
            except Exception:
                log.exception("an event stream failed")
                # As if the client had disconnected: Django closes the response, and the server
                # cuts the connection, so that the stream does not seem complete.
                raise asyncio.CancelledError from None

    def close(self) -> None:
        self._resources.close()
        if self._loop is not None and not self._is_complete:
            close_soon(self._pieces, self._loop)


async def event_stream(
    request: HttpRequest,
    events: AsyncGenerator[LoggedEvent, None],
    *,
    conversation_id: UUID,
    resources: ExitStack,
    trace_id: UUID | None = None,
) -> HttpResponseBase:
    """Return the response that streams `events`; `resources` are closed at its end. `trace_id` is
    None for the events of several runs."""
    pieces = encode_stream(
        events, heartbeat_seconds=HEARTBEAT_SECONDS, max_seconds=settings.MOCKLLM_MAX_STREAM_SECONDS
    )
    response: HttpResponseBase
    if can_stream(request):
        body = _StreamBody(pieces, resources)
        close_if_lost(body)
        response = StreamingHttpResponse(body)
    else:
        with resources:
            response = await read_to_end(pieces)
    response.headers["Content-Type"] = "text/event-stream"
    # Proxies must not buffer or change the stream.
    response.headers["Cache-Control"] = "no-cache, no-transform"
    response.headers["X-Accel-Buffering"] = "no"
    response.headers["X-Conversation-Id"] = str(conversation_id)
    if trace_id is not None:
        response.headers["X-Trace-Id"] = str(trace_id)
    return response
