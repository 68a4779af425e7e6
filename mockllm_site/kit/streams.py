"""Streams in Django's responses: closes those of disconnected clients without waiting for the
garbage collector, and reads them to their end where no piece can be sent.

Django does not close the asynchronous generator in a response, and calls `close` from a thread.
WSGI servers and Django's synchronous test client give a view an event loop that ends with it.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

_closing: set["asyncio.Task[None]"] = set()


class Closable(Protocol):
    """Something with a `close` method, such as a file or a stream."""

    def close(self) -> None: ...


@dataclass(slots=True)
class _PendingResponse:
    """The bodies made for a request, and whether its client has disconnected."""

    bodies: list[Closable] = field(default_factory=list)
    client_left: bool = False


_pending_response: ContextVar[_PendingResponse | None] = ContextVar(
    "pending_response", default=None
)


@sync_and_async_middleware
def close_lost_streams(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Close the bodies of a response whose client disconnects while a thread makes it. Must be the
    outermost middleware. Does nothing under WSGI, where no request is cancelled."""
    if not iscoroutinefunction(get_response):
        return get_response

    async def middleware(request: HttpRequest) -> HttpResponseBase:
        pending = _PendingResponse()
        token = _pending_response.set(pending)
        try:
            response: HttpResponseBase = await get_response(request)
            return response
        except asyncio.CancelledError:
            pending.client_left = True
            for body in pending.bodies:
                body.close()
            raise
        finally:
            _pending_response.reset(token)

    return middleware


def close_if_lost(body: Closable) -> None:
    """Register a response's body to be closed if the client disconnects before the server has the
    response."""
    if pending := _pending_response.get():
        pending.bodies.append(body)
        if pending.client_left:
            # Threads cannot be cancelled, so the view may run after the request has ended.
            body.close()


def close_soon(stream: AsyncGenerator[Any, None], loop: asyncio.AbstractEventLoop) -> None:
    """Close a generator on its event loop later; any thread may call this. Does nothing if the
    loop is closed."""
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(_start_closing, stream)


def _start_closing(stream: AsyncGenerator[Any, None]) -> None:
    """Close a generator in a new task of the running loop."""
    task = asyncio.create_task(_close(stream))
    _closing.add(task)
    task.add_done_callback(_closing.discard)


async def _close(stream: AsyncGenerator[Any, None]) -> None:
    """Close a generator unless it is running at the moment."""
    with contextlib.suppress(RuntimeError):
        await stream.aclose()


class WholeStream(HttpResponse):
    """A stream that was read to its end. Its body is in `content`, as that of every response, and
    in `streaming_content`, as that of a stream."""

    @property
    def streaming_content(self) -> Iterator[bytes]:
        return iter(self)


def can_stream(request: HttpRequest) -> bool:
    """Return True for a request of an ASGI server or of `AsyncClient`, which read a stream piece by
    piece."""
    return hasattr(request, "scope")


async def read_to_end(pieces: AsyncGenerator[bytes, None]) -> WholeStream:
    """Return the response with all pieces of a stream."""
    async with aclosing(pieces):
        return WholeStream(b"".join([piece async for piece in pieces]))
