"""The transport for clients in this process: one of `httpx2` that needs no socket.

openai.AsyncOpenAI(http_client=httpx2.AsyncClient(transport=MockTransport()))
"""

import asyncio
import contextlib
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import TypeAlias

import httpx2

from scenarios_app.serving.pipeline import Pipeline
from scenarios_app.serving.playback import Answer
from scenarios_app.serving.services import running_pipeline
from scenarios_app.serving.transports.asgi_scope import make_call, read_headers
from scenarios_app.wire.base import Call

GetPipeline: TypeAlias = Callable[[], Awaitable[Pipeline]]
# A piece of the body, None at its end, or the error that ended it.
Item: TypeAlias = bytes | Exception | None


class MockTransport(httpx2.AsyncBaseTransport):
    """HTTP transport that answers every request, for any host, as the server of this process."""

    def __init__(self, pipeline: GetPipeline = running_pipeline) -> None:
        self._pipeline = pipeline

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        call = call_of(request, await request.aread())
        return await self.respond(call, read_timeout=read_timeout_of(request))

    async def respond(self, call: Call, *, read_timeout: float | None) -> httpx2.Response:
        """Return the response to a call; `read_timeout` limits the wait for each of its pieces, in
        seconds."""
        pipeline = await self._pipeline()
        answer = await pipeline.answer(call)
        if not answer.is_immediate:
            return await _open_response(answer, read_timeout)
        # A stream, as over a network: clients measure the time until it is closed.
        stream = httpx2.ByteStream(answer.immediate_body())
        answer.finish()
        return _build_response(answer, stream)


def call_of(request: httpx2.Request, body: bytes) -> Call:
    """Return the call for a client's request."""
    path, _, query = request.url.raw_path.partition(b"?")
    return make_call(
        request.method,
        path.decode("latin-1"),
        query=query,
        headers=read_headers(request.headers.raw),
        body=body,
        scheme=request.url.scheme,
    )


def read_timeout_of(request: httpx2.Request) -> float | None:
    """Return the client's read timeout in seconds, or None for no limit."""
    timeout: float | None = request.extensions.get("timeout", {}).get("read")
    return timeout


class _Body(httpx2.AsyncByteStream):
    """The body of a response: the pieces that a pump queues, in order. Closing it, from any task,
    or garbage collection stops the pump."""

    def __init__(
        self,
        first: bytes,
        queue: asyncio.Queue[Item],
        *,
        pump: asyncio.Task[None],
        wait: float | None,
    ) -> None:
        self._first = first
        self._queue = queue
        self._pump = pump
        self._wait = wait
        self._forget = weakref.finalize(self, _cancel_pump, pump.get_loop(), pump)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._first:
            yield self._first
        while True:
            match await _next_item(self._queue, self._wait):
                case None:
                    return
                case Exception() as error:
                    raise error
                case piece:
                    yield piece

    async def aclose(self) -> None:
        """Stop the pump; a task that still reads gets ReadError."""
        self._forget.detach()
        if self._pump.done():
            return
        self._pump.cancel()
        await asyncio.gather(self._pump, return_exceptions=True)
        while not self._queue.empty():
            self._queue.get_nowait()
        # Wakes a reader in another task, which would wait for ever.
        self._queue.put_nowait(httpx2.ReadError("The response was closed while it was read."))


async def _open_response(answer: Answer, read_timeout: float | None) -> httpx2.Response:
    """Return the response once its first piece came; raise the answer's error or ReadTimeout."""
    queue: asyncio.Queue[Item] = asyncio.Queue(1)
    pump = asyncio.create_task(_fill(queue, answer))
    try:
        first = await _next_item(queue, read_timeout)
    except BaseException:
        pump.cancel()
        await asyncio.gather(pump, return_exceptions=True)
        raise
    if isinstance(first, Exception):
        raise first
    body = _Body(first or b"", queue, pump=pump, wait=read_timeout)
    return _build_response(answer, body)


async def _fill(queue: asyncio.Queue[Item], answer: Answer) -> None:
    """Put an answer's pieces into the queue. It holds no reference to the body that reads the
    queue, so that an unclosed body can be collected, which cancels this task."""
    sent = False
    end: Item = None
    try:
        async with aclosing(answer.pieces()) as pieces:
            async for piece in pieces:
                await queue.put(piece)
                sent = True
    except Exception as error:
        end = error
    if answer.reply.cut and end is None:
        end = httpx2.RemoteProtocolError(
            "peer closed connection without sending complete message body (incomplete read)"
            if sent
            else "Server disconnected without sending a response."
        )
    await queue.put(end)


async def _next_item(queue: asyncio.Queue[Item], wait: float | None) -> Item:
    """Return the next queued item; raise ReadTimeout after `wait` seconds."""
    try:
        async with asyncio.timeout(wait):
            return await queue.get()
    except TimeoutError:
        raise httpx2.ReadTimeout("The answer did not come in time.") from None


def _build_response(
    answer: Answer, stream: httpx2.ByteStream | httpx2.AsyncByteStream
) -> httpx2.Response:
    """Return a response with the answer's head and this body."""
    reply = answer.reply
    headers = [(name.encode(), value.encode("latin-1")) for name, value in reply.headers]
    return httpx2.Response(reply.status, headers=headers, stream=stream)


def _cancel_pump(loop: asyncio.AbstractEventLoop, pump: asyncio.Task[None]) -> None:
    # A closed event loop has ended its tasks.
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(pump.cancel)
