"""Closing what a client left in the middle, without waiting for the garbage collector: Django
leaves the asynchronous generator inside a response as it is, and calls `close` from a thread."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.decorators import async_only_middleware, sync_only_middleware

_closing: set["asyncio.Task[None]"] = set()


class Closable(Protocol):
    def close(self) -> None: ...


@dataclass(slots=True)
class _Asked:
    """A request: the bodies made for it, and whether its client has left."""

    bodies: list[Closable] = field(default_factory=list)
    left: bool = False


_asked: ContextVar[_Asked | None] = ContextVar("asked", default=None)


@async_only_middleware
def close_lost_streams(
    get_response: Callable[[HttpRequest], Awaitable[HttpResponseBase]],
) -> Callable[[HttpRequest], Awaitable[HttpResponseBase]]:
    """Closes the bodies of a response that got lost: when its client leaves while middleware has
    it in a thread, nobody else knows of it any more. It has to be the outermost, and asynchronous
    where the others are not: a thread hears of no cancellation."""

    async def middleware(request: HttpRequest) -> HttpResponseBase:
        asked = _Asked()
        token = _asked.set(asked)
        try:
            return await get_response(request)
        except asyncio.CancelledError:
            asked.left = True
            for body in asked.bodies:
                body.close()
            raise
        finally:
            _asked.reset(token)

    return middleware


@sync_only_middleware
def close_lost_files(
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """The same for the file of a response. It has to stand right before what gives such ones."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        file: Closable | None = getattr(response, "file_to_stream", None)
        if file is not None:
            close_if_lost(file)
        return response

    return middleware


def close_if_lost(body: Closable) -> None:
    """Have a response's body closed if its client leaves before the server has the response."""
    if asked := _asked.get():
        asked.bodies.append(body)
        if asked.left:
            # A thread cannot be cancelled: it may have come to the view only now.
            body.close()


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
