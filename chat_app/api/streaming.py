"""The answer to whoever follows a run: its events as they come, for as long as the client stays."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import ExitStack, aclosing, contextmanager
from typing import Final
from uuid import UUID

from django.conf import settings
from django.http import StreamingHttpResponse

from chat_app.figures import STREAMS_OPEN
from chat_app.sse import frames
from mockllm_site.api.errors import ApiError
from mockllm_site.closing import close_if_lost, close_soon
from traces_app.log import LoggedEvent

log = logging.getLogger(__name__)

HEARTBEAT_SECONDS: Final = 15.0
RETRY_SECONDS: Final = 1

_open: set[object] = set()
STREAMS_OPEN.set_function(lambda: len(_open))


@contextmanager
def stream_slot() -> Iterator[None]:
    """A place among the streams that this process may have open; raises a 503 where none is left.

    It is taken before a run starts: what cannot be answered is not begun.
    """
    if len(_open) >= settings.MOCKLLM_MAX_STREAMS:
        raise ApiError(
            503,
            "Too many streams are open; try again.",
            headers={"Retry-After": str(RETRY_SECONDS)},
        )
    place = object()
    _open.add(place)
    try:
        yield
    finally:
        _open.discard(place)


class _Stream:
    """The body of an answer. Django calls `close` whether it read all of it, some, or nothing."""

    def __init__(self, pieces: AsyncGenerator[bytes, None], held: ExitStack) -> None:
        self._pieces = pieces
        self._held = held
        self._loop = asyncio.get_running_loop()
        self._through = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
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
        if not self._through:
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
