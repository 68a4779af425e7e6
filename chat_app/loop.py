"""The event loop on which runs live: one thread in each process, so that a run outlives the request
that started it, under any server, command or test."""

import asyncio
import contextlib
import logging
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeAlias, TypeVar

log = logging.getLogger(__name__)

T = TypeVar("T")
Closer: TypeAlias = Callable[[], Awaitable[None]]
# Waits that many seconds for what runs to finish, then ends it.
Drain: TypeAlias = Callable[[float], Awaitable[None]]

STOP_SECONDS = 10.0


class _Loop:
    """A thread that runs one event loop until it is stopped."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._run, name="mockllm-chat", daemon=True)
        self.thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
            self.loop.run_until_complete(_end_tasks())
            self.loop.run_until_complete(self.loop.shutdown_asyncgens())
            self.loop.run_until_complete(self.loop.shutdown_default_executor())
        finally:
            self.loop.close()


_lock = threading.Lock()
_current: _Loop | None = None
_drains: list[Drain] = []
_closers: list[Closer] = []


def submit(work: Coroutine[Any, Any, T]) -> "Future[T]":
    """Run a coroutine on the loop; the first one starts it."""
    global _current
    with _lock:
        if _current is None:
            _current = _Loop()
        return asyncio.run_coroutine_threadsafe(work, _current.loop)


async def on_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the loop and wait for it. It goes on when the waiter is cancelled."""
    return await asyncio.shield(asyncio.wrap_future(submit(work)))


def wait_for(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the loop and wait for it, in a thread that may wait."""
    return submit(work).result()


def call_later(seconds: float, work: Callable[[], object]) -> None:
    """Call something on the loop, if it runs; also from a signal handler, so nothing is locked."""
    if (current := _current) is not None:
        with contextlib.suppress(RuntimeError):
            current.loop.call_soon_threadsafe(current.loop.call_later, seconds, work)


def running() -> bool:
    return _current is not None


def before_stop(drain: Drain) -> None:
    """Have `drain` awaited on the loop whenever it is to stop, before anything is closed."""
    if drain not in _drains:
        _drains.append(drain)


def at_stop(closer: Closer) -> None:
    """Have `closer` awaited on the loop whenever it stops; the last registered comes first."""
    if closer not in _closers:
        _closers.append(closer)


def stop(seconds: float = 0.0) -> None:
    """End the loop: runs have `seconds` to finish, then everything on it is ended. Afterwards
    no thread is left, and the next coroutine starts another loop. Not from the loop itself."""
    global _current
    with _lock:
        current = _current
    if current is None:
        return
    closing = asyncio.run_coroutine_threadsafe(_close(seconds), current.loop)
    try:
        closing.result(seconds + STOP_SECONDS)
    except Exception:
        log.exception("not everything on the chat's event loop could be closed")
    with _lock:
        if _current is current:
            _current = None
    current.loop.call_soon_threadsafe(current.loop.stop)
    current.thread.join(STOP_SECONDS)


async def _close(seconds: float) -> None:
    for drain in _drains:
        await drain(seconds)
    for closer in reversed(_closers):
        await closer()


async def _end_tasks() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _forget() -> None:
    """A forked child has no threads: its first coroutine starts a loop of its own."""
    global _current, _lock
    _lock = threading.Lock()
    _current = None


os.register_at_fork(after_in_child=_forget)
