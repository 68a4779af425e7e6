"""Plays a reply out in time: what is due leaves in one piece, by deadlines that never drift."""

import asyncio
import math
import time
from collections.abc import AsyncGenerator, Awaitable, Callable

from scenarios_app.engine.errors import ErrorAnswer
from scenarios_app.serving.reply import Reply

MAX_STREAM_SECONDS = 600.0
# A drain can begin at any moment, from a signal and for every event loop of the process at once:
# whoever sleeps looks up this often (seconds) to see it.
LOOK_UP = 0.25


def never() -> float:
    return math.inf


async def play(
    reply: Reply,
    *,
    drain_at: Callable[[], float] = never,
    max_seconds: float = MAX_STREAM_SECONDS,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> AsyncGenerator[bytes, None]:
    """The pieces of a reply's body. The first is given when the head is due, and may be empty;
    a reply that is never started gives none.

    A stream that is not through at `drain_at()` (by `clock`), or `max_seconds` after its head,
    ends there with the provider's in-stream error. Whoever takes the pieces sets the pace: what
    became due in the meantime is the next piece.
    """
    start = clock() + reply.delay
    may_stop = reply.streaming or not reply.started

    async def reach(due: float) -> bool:
        while (now := clock()) < due:
            stop = min(drain_at(), start + max_seconds) if may_stop else math.inf
            if stop <= now:
                return False
            await sleep(min(due, stop, now + LOOK_UP) - now)
        return True

    in_time = await reach(start)
    if not reply.started:
        return
    frames, sent = reply.frames, 0
    while in_time:
        now = clock()
        due = sent
        while due < len(frames) and start + frames[due].at <= now:
            due += 1
        yield b"".join([frame.data for frame in frames[sent:due]])
        sent = due
        if sent == len(frames):
            return
        in_time = await reach(start + frames[sent].at)
    yield reply.error_frame(sent, _ended(drain_at() <= clock(), max_seconds))


def _ended(drained: bool, max_seconds: float) -> ErrorAnswer:
    if drained:
        return ErrorAnswer(503, "The server is shutting down.")
    return ErrorAnswer(504, f"The stream was ended: it may last {max_seconds:g} seconds.")
