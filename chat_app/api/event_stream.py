"""The HTTP response to a follower of a run: its events as they come, for as long as the client
stays."""

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import ExitStack, aclosing, contextmanager
from threading import Lock
from typing import Final
from uuid import UUID

from django.conf import settings
from django.http import StreamingHttpResponse

from chat_app.runs.metrics import STREAMS_OPEN
from mockllm_site.kit.api.errors import ApiError
from mockllm_site.kit.lost_streams import close_if_lost, close_soon
from traces_app.log import LoggedEvent

HEARTBEAT: Final = b": still here\n\n"
# How many events may wait for a slow client before its run's log has to keep them.
_AHEAD: Final = 64


def frame(event: LoggedEvent) -> bytes:
    """One event: its number is its id, its type the first key of its JSON."""
    data = json.dumps(
        {"type": event.type, **event.payload}, ensure_ascii=False, separators=(",", ":")
    )
    return f"id: {event.seq}\ndata: {data}\n\n".encode("utf-8", "replace")


async def frames(
    events: AsyncGenerator[LoggedEvent, None], *, heartbeat_seconds: float, most_seconds: float
) -> AsyncGenerator[bytes, None]:
    """The events as bytes, all that are due in one piece; a comment where none came for long.

    After `most_seconds` it ends between two events: the rest is there for who follows again.
    """
    waiting: asyncio.Queue[bytes | None] = asyncio.Queue(_AHEAD)
    pump = asyncio.create_task(_pump(events, waiting))
    now = asyncio.get_running_loop().time
    ends_at = now() + most_seconds
    try:
        while (left := ends_at - now()) > 0:
            try:
                async with asyncio.timeout(min(heartbeat_seconds, left)):
                    piece = await waiting.get()
            except TimeoutError:
                if left > heartbeat_seconds:
                    yield HEARTBEAT
                continue
            due = []
            while piece is not None:
                due.append(piece)
                if waiting.empty():
                    break
                piece = waiting.get_nowait()
            if due:
                yield b"".join(due)
            if piece is None:
                # Raises what ended the events too early: the stream breaks off, and does not seem
                # whole.
                await pump
                return
    finally:
        pump.cancel()
        await asyncio.wait({pump})


async def _pump(
    events: AsyncGenerator[LoggedEvent, None], waiting: "asyncio.Queue[bytes | None]"
) -> None:
    try:
        async with contextlib.aclosing(events):
            async for event in events:
                await waiting.put(frame(event))
    except Exception:
        await waiting.put(None)
        raise
    await waiting.put(None)


log = logging.getLogger(__name__)

HEARTBEAT_SECONDS: Final = 15.0
RETRY_SECONDS: Final = 1

_open: set[object] = set()
_opening = Lock()
STREAMS_OPEN.set_function(lambda: len(_open))


@contextmanager
def stream_slot() -> Iterator[None]:
    """A slot among the streams that this process may have open; raises a 503 where none is left.

    It is taken before a run starts: what cannot be answered is not begun.
    """
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


class _Stream:
    """The body of an answer. Django calls `close` whether it read all of it, some, or nothing."""

    def __init__(self, pieces: AsyncGenerator[bytes, None], held: ExitStack) -> None:
        self._pieces = pieces
        self._held = held
        self._loop: asyncio.AbstractEventLoop | None = None
        self._through = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        self._loop = asyncio.get_running_loop()
        with self._held:
            try:
                async with aclosing(self._pieces):
                    async for piece in self._pieces:
                        yield piece
                self._through = True
            except Exception:
                log.exception("a stream broke off")
                # For Django the client has left, and it closes what it holds; the server cuts a
                # connection whose answer was not completed, so that it does not seem whole.
                raise asyncio.CancelledError from None

    def close(self) -> None:
        self._held.close()
        if self._loop is not None and not self._through:
            close_soon(self._pieces, self._loop)


def event_stream(
    events: AsyncGenerator[LoggedEvent, None],
    *,
    conversation_id: UUID,
    held: ExitStack,
    trace_id: UUID | None = None,
) -> StreamingHttpResponse:
    """The events as an answer; `held` is let go once the answer has ended. Those of several runs
    have no trace of their own."""
    pieces = frames(
        events,
        heartbeat_seconds=HEARTBEAT_SECONDS,
        most_seconds=settings.MOCKLLM_MAX_STREAM_SECONDS,
    )
    body = _Stream(pieces, held)
    close_if_lost(body)
    response = StreamingHttpResponse(body, content_type="text/event-stream")
    # No proxy may gather or change what has to arrive as it comes.
    response.headers["Cache-Control"] = "no-cache, no-transform"
    response.headers["X-Accel-Buffering"] = "no"
    response.headers["X-Conversation-Id"] = str(conversation_id)
    if trace_id is not None:
        response.headers["X-Trace-Id"] = str(trace_id)
    return response
