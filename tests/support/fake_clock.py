"""An event loop whose clock is put forward: a wait of a minute ends at once, and no test guesses
how short a wait a busy machine can keep."""

import asyncio
from asyncio import AbstractEventLoop
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

# More than the limits of tests, and less than what their servers hold back.
STEP_SECONDS = 61.0
EVERY_SECONDS = 0.02


def put_forward(loop: AbstractEventLoop, seconds: float) -> None:
    """Let so much time go by for a loop. It stays so: time that went back would delay timers."""
    time = loop.time
    loop.time = lambda: time() + seconds  # type: ignore[method-assign]


@asynccontextmanager
async def hurried(
    due: Callable[[], bool], *, loop: AbstractEventLoop | None = None
) -> AsyncIterator[None]:
    """A block in which minutes go by in moments once `due()` holds, for this loop or another."""
    hurry = asyncio.create_task(_hurry(due, loop or asyncio.get_running_loop()))
    try:
        yield
    finally:
        hurry.cancel()
        with suppress(asyncio.CancelledError):
            await hurry


async def _hurry(due: Callable[[], bool], loop: AbstractEventLoop) -> None:
    while True:
        await asyncio.sleep(EVERY_SECONDS)
        if due():
            put_forward(loop, STEP_SECONDS)
            # What is due by now has its turn before more time goes by.
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop))
