"""Closes streams and files of disconnected clients without waiting for the garbage collector.

Django does not close the asynchronous generator in a response, and calls `close` from a thread.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.decorators import async_only_middleware, sync_only_middleware

from mockllm_site.kit.api.in_thread import GetResponse

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


@async_only_middleware
def close_lost_streams(
    get_response: Callable[[HttpRequest], Awaitable[HttpResponseBase]],
) -> Callable[[HttpRequest], Awaitable[HttpResponseBase]]:
    """Close the bodies of a response whose client disconnects while a thread makes it. Must be the
    outermost middleware, and asynchronous, since only coroutines are cancelled."""

    async def middleware(request: HttpRequest) -> HttpResponseBase:
        pending = _PendingResponse()
        token = _pending_response.set(pending)
        try:
            return await get_response(request)
        except asyncio.CancelledError:
            pending.client_left = True
            for body in pending.bodies:
                body.close()
            raise
        finally:
            _pending_response.reset(token)

    return middleware


@sync_only_middleware
def close_lost_files(get_response: GetResponse) -> GetResponse:
    """Close the file of a lost response. Must wrap the middleware that serves files directly."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        file: Closable | None = getattr(response, "file_to_stream", None)
        if file is not None:
            close_if_lost(file)
        return response

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
