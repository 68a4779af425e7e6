"""The chat's event loop: one thread in each process, so that runs outlive their requests. It works
under any server, command or test."""

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
# Waits for work to finish for this many seconds, then ends it.
Drain: TypeAlias = Callable[[float], Awaitable[None]]

STOP_SECONDS = 10.0


class _LoopThread:
    """A thread that runs one event loop until it is stopped."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._run, name="mockllm-chat", daemon=True)
        self.thread.start()

    def _run(self) -> None:
        # At its end, the runner cancels the tasks that are left and closes the loop.
        with asyncio.Runner(loop_factory=lambda: self.loop):
            self.loop.run_forever()


_lock = threading.Lock()
_current: _LoopThread | None = None
_drains: list[Drain] = []
_closers: list[Closer] = []


def submit(work: Coroutine[Any, Any, T]) -> "Future[T]":
    """Start a coroutine on the loop and return its future; the first call starts the loop."""
    global _current
    with _lock:
        if _current is None:
            _current = _LoopThread()
        return asyncio.run_coroutine_threadsafe(work, _current.loop)


async def run_on_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the loop and wait for it; it continues if the caller is cancelled."""
    return await asyncio.shield(asyncio.wrap_future(submit(work)))


def call_later(seconds: float, work: Callable[[], object]) -> None:
    """Call `work` on the loop, if it runs. Takes no lock, so signal handlers may call it."""
    if (current := _current) is not None:
        with contextlib.suppress(RuntimeError):
            current.loop.call_soon_threadsafe(current.loop.call_later, seconds, work)


def is_running() -> bool:
    """True if the loop was started and not stopped."""
    return _current is not None


def register_drain(drain: Drain) -> None:
    """Await `drain` on the loop at each stop, before the closers."""
    if drain not in _drains:
        _drains.append(drain)


def register_closer(closer: Closer) -> None:
    """Await `closer` on the loop at each stop; the last registered runs first."""
    if closer not in _closers:
        _closers.append(closer)


def stop(seconds: float = 0.0) -> None:
    """Stop the loop and its thread; runs have `seconds` to finish. The next coroutine starts a new
    loop. Must not be called on the loop itself."""
    global _current
    with _lock:
        current = _current
    if current is None:
        return
    closing = asyncio.run_coroutine_threadsafe(_drain_and_close(seconds), current.loop)
    try:
        closing.result(seconds + STOP_SECONDS)
    except Exception:
        log.exception("the chat's event loop could not be closed completely")
    with _lock:
        if _current is current:
            _current = None
    current.loop.call_soon_threadsafe(current.loop.stop)
    current.thread.join(STOP_SECONDS)


async def _drain_and_close(seconds: float) -> None:
    """Await the drains, then the closers from the last to the first; an error ends this."""
    for drain in _drains:
        await drain(seconds)
    for closer in reversed(_closers):
        await closer()


def _reset_after_fork() -> None:
    """Forget the parent's thread in a forked child; its first coroutine starts a loop."""
    global _current, _lock
    _lock = threading.Lock()
    _current = None


os.register_at_fork(after_in_child=_reset_after_fork)
