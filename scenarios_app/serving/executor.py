"""Runs work on requests inline, cooperatively or in a thread, so that a large request does not
block others."""

import asyncio
import os
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import Any, NoReturn, ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

# Requests above the first size block the event loop noticeably if many come at once; above the
# second, one does. So does a computation over many texts.
MEDIUM_BYTES = 8_192
LARGE_BYTES = 65_536
MANY_TEXTS = 16


@cache
def _thread() -> ThreadPoolExecutor:
    """Return the executor for large work. It has one thread, since the interpreter computes in one
    thread at a time."""
    return ThreadPoolExecutor(1, thread_name_prefix="mockllm-large")


# A forked child inherits the executor, but not its thread.
os.register_at_fork(after_in_child=_thread.cache_clear)
# Event loops that run medium-sized work now.
_busy_loops: set[asyncio.AbstractEventLoop] = set()


class Work(Protocol):
    """Calls a function inline, cooperatively or in a thread; await it for the function's result."""

    def __call__(
        self, do: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> Awaitable[T]: ...


async def run_inline(do: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Call the function now."""
    return do(*args, **kwargs)


async def run_cooperatively(do: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Call the function in this event loop, at most one such call per iteration."""
    loop = asyncio.get_running_loop()
    while loop in _busy_loops:
        await asyncio.sleep(0)
    _busy_loops.add(loop)
    loop.call_soon(_busy_loops.discard, loop)
    return do(*args, **kwargs)


async def run_in_thread(do: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Call the function in the thread, after earlier large work."""
    return await asyncio.wrap_future(_thread().submit(do, *args, **kwargs))


def work_for(*, size: int, texts: int = 0) -> Work:
    """Return `run_inline`, `run_cooperatively` or `run_in_thread`, by the bytes of a request or the
    number of texts that a response is computed from."""
    if size > LARGE_BYTES or texts > MANY_TEXTS:
        return run_in_thread
    return run_cooperatively if size > MEDIUM_BYTES else run_inline


def run_eagerly(coroutine: Coroutine[Any, Any, T]) -> T | Awaitable[T]:
    """Run a coroutine until it first waits. Return its result, or an awaitable of the rest of it or
    of its error."""
    try:
        waits_for = coroutine.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    except Exception as error:
        return _raise_error(error)
    return _continue(coroutine, waits_for)


async def _raise_error(error: Exception) -> NoReturn:
    raise error


@types.coroutine
def _continue(coroutine: Coroutine[Any, Any, T], waits_for: Any) -> Generator[Any, Any, T]:
    """Run a coroutine to its end that was begun by hand and now waits for `waits_for`."""
    while True:
        try:
            sent = yield waits_for
        except BaseException as error:
            go_on = partial(coroutine.throw, error)
        else:
            go_on = partial(coroutine.send, sent)
        try:
            waits_for = go_on()
        except StopIteration as end:
            result: T = end.value
            return result
