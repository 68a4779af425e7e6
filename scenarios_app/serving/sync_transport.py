"""The transport for synchronous clients in this process: `MockTransport` on another thread's loop.

openai.OpenAI(http_client=httpx2.Client(transport=SyncMockTransport()))
"""

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from typing import Any, TypeVar

import httpx2

from scenarios_app.serving.services import running_pipeline
from scenarios_app.serving.transport import GetPipeline, MockTransport, call_of, read_timeout_of

T = TypeVar("T")


class SyncMockTransport(httpx2.BaseTransport):
    """Answers like `MockTransport`, on an event loop in a separate thread."""

    def __init__(self, pipeline: GetPipeline = running_pipeline) -> None:
        self._inner = MockTransport(pipeline)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        call = call_of(request, request.read())
        response = _run_in_loop(self._inner.respond(call, read_timeout=read_timeout_of(request)))
        if isinstance(response.stream, httpx2.AsyncByteStream) and not isinstance(
            response.stream, httpx2.ByteStream
        ):
            response.stream = _SyncBody(response.stream)
        return response


class _SyncBody(httpx2.SyncByteStream):
    """Reads an asynchronous response body for a synchronous client."""

    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    def __iter__(self) -> Iterator[bytes]:
        pieces = aiter(self._inner)
        while (piece := _run_in_loop(_next_piece(pieces))) is not None:
            yield piece

    def close(self) -> None:
        _run_in_loop(self._inner.aclose())


async def _next_piece(pieces: AsyncIterator[bytes]) -> bytes | None:
    """Return the next piece, or None at the end."""
    return await anext(pieces, None)


class _Loop:
    """The event loop of all synchronous clients. Its thread is a daemon, since a program must be
    able to end without closing its clients."""

    def __init__(self) -> None:
        self._forget()
        os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        """Start without a loop, also in a forked child, which lacks the loop's thread."""
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def get(self) -> asyncio.AbstractEventLoop:
        """Return the loop; the first call starts its thread."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(
                    target=self._loop.run_forever, name="mockllm-transport", daemon=True
                ).start()
            return self._loop


_loop = _Loop()


def _run_in_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the loop of all synchronous clients, and return its result or raise its
    error. Cancel it if the wait is interrupted."""
    future = asyncio.run_coroutine_threadsafe(work, _loop.get())
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise
