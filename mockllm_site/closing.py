"""Closing what a client left in the middle, without waiting for the garbage collector: Django
leaves the asynchronous generator inside a response as it is, and calls `close` from a thread."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import Any

_closing: set["asyncio.Task[None]"] = set()


def close_soon(stream: AsyncGenerator[Any, None], loop: asyncio.AbstractEventLoop) -> None:
    """Close a generator on the loop that it runs on, from any thread. One that nobody waits for
    any more, but that is being closed already, goes on being closed."""
    # The loop may have ended before the response.
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(_begin, stream)


def _begin(stream: AsyncGenerator[Any, None]) -> None:
    task = asyncio.create_task(_close(stream))
    _closing.add(task)
    task.add_done_callback(_closing.discard)


async def _close(stream: AsyncGenerator[Any, None]) -> None:
    with contextlib.suppress(RuntimeError):
        await stream.aclose()
