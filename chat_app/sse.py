"""A run's events as server-sent events: numbered, one JSON object each, comments in between."""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator
from typing import Final

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
