"""Gates that hold product code at a place until the test opens them."""

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

# Time limit of a failing test; working code never takes this long.
TIMEOUT_SECONDS = 30.0


class CallWatcher:
    """Patches a function and signals the test whenever a call returned, in any thread."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> None:
        test_loop, function = asyncio.get_running_loop(), getattr(module, name)
        self._call_returned = asyncio.Event()

        def call_and_signal(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            finally:
                # The chat's event loop may outlive the test's.
                with contextlib.suppress(RuntimeError):
                    test_loop.call_soon_threadsafe(self._call_returned.set)

        monkeypatch.setattr(module, name, call_and_signal)

    async def wait_for_next_call(self) -> None:
        """Wait for a call that returns from now on."""
        self._call_returned.clear()
        await self.wait_for_call()

    async def wait_for_call(self) -> None:
        """Wait until any call has returned since the last `wait_for_next_call`."""
        await asyncio.wait_for(self._call_returned.wait(), TIMEOUT_SECONDS)


class Gate:
    """Blocks callers until it is opened; created on the test's event loop, reached on any other."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._reached = asyncio.Event()
        self._open = threading.Event()

    async def wait_until_reached(self) -> None:
        await asyncio.wait_for(self._reached.wait(), TIMEOUT_SECONDS)

    def open(self) -> None:
        self._open.set()

    def wait(self) -> None:
        """Block this thread until the gate is open."""
        self._loop.call_soon_threadsafe(self._reached.set)
        assert self._open.wait(TIMEOUT_SECONDS)

    def before(self, work: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        """Return `work` as a coroutine function that waits at this gate first."""

        async def gated(*args: Any, **kwargs: Any) -> Any:
            await asyncio.to_thread(self.wait)
            return await work(*args, **kwargs)

        return gated

    def after(self, work: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        """Return `work` as a coroutine function that waits at this gate before it returns."""

        async def gated(*args: Any, **kwargs: Any) -> Any:
            result = await work(*args, **kwargs)
            await asyncio.to_thread(self.wait)
            return result

        return gated
