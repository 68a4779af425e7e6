"""Moves the clock of an event loop forward, so that a timeout of a minute expires immediately."""

import asyncio
from asyncio import AbstractEventLoop
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

# Longer than the timeouts under test, shorter than the pauses of scripted servers.
STEP_SECONDS = 61.0
EVERY_SECONDS = 0.02


def move_clock(loop: AbstractEventLoop, seconds: float) -> None:
    """Move a loop's clock forward for good; moving it back would delay its timers."""
    time = loop.time
    loop.time = lambda: time() + seconds


@asynccontextmanager
async def fast_clock(
    is_due: Callable[[], bool], *, loop: AbstractEventLoop | None = None
) -> AsyncIterator[None]:
    """Within the block, move the clock forward repeatedly once `due()` is true."""
    mover = asyncio.create_task(_move_forward(is_due, loop or asyncio.get_running_loop()))
    try:
        yield
    finally:
        mover.cancel()
        with suppress(asyncio.CancelledError):
            await mover


async def _move_forward(is_due: Callable[[], bool], loop: AbstractEventLoop) -> None:
    while True:
        await asyncio.sleep(EVERY_SECONDS)
        if is_due():
            move_clock(loop, STEP_SECONDS)
            # Timers that are due now run before the clock moves again.
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop))
