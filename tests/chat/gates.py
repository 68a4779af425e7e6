"""A place in the chat where everything waits until a test says so: for what has to be looked at, or
done, at that moment."""

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

# Time limit of a failing test; working code never takes this long.
GIVEN_UP_SECONDS = 30.0


class Each:
    """Heard of whenever a function of a module has done its work, in whichever thread."""

    def __init__(self, patch: pytest.MonkeyPatch, module: Any, name: str) -> None:
        here, work = asyncio.get_running_loop(), getattr(module, name)
        self._done = asyncio.Event()

        def told(*given: Any, **named: Any) -> Any:
            try:
                return work(*given, **named)
            finally:
                # The chat's event loop may outlive the test's.
                with contextlib.suppress(RuntimeError):
                    here.call_soon_threadsafe(self._done.set)

        patch.setattr(module, name, told)

    async def next(self) -> None:
        """Wait for one that is done from now on."""
        self._done.clear()
        await self.first()

    async def first(self) -> None:
        await asyncio.wait_for(self._done.wait(), GIVEN_UP_SECONDS)


class Gate:
    """Made on the test's event loop; reached on any other, or in a thread."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._reached = asyncio.Event()
        self._open = threading.Event()

    async def reached(self) -> None:
        await asyncio.wait_for(self._reached.wait(), GIVEN_UP_SECONDS)

    def open(self) -> None:
        self._open.set()

    def wait(self) -> None:
        """Wait in a thread."""
        self._loop.call_soon_threadsafe(self._reached.set)
        assert self._open.wait(GIVEN_UP_SECONDS)

    def before(self, work: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        """The same coroutine function, which waits here first."""

        async def gated(*given: Any, **named: Any) -> Any:
            await asyncio.to_thread(self.wait)
            return await work(*given, **named)

        return gated

    def after(self, work: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        """The same coroutine function, which waits here when it is done."""

        async def gated(*given: Any, **named: Any) -> Any:
            found = await work(*given, **named)
            await asyncio.to_thread(self.wait)
            return found

        return gated
