"""A server that guards its connections, and clients that keep it waiting."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

import pytest
import uvicorn

from mockllm_site.serve import protocol
from mockllm_site.serve.protocol import GuardedProtocol, Limits
from mockllm_site.serve.server import Server, Stop
from scenarios_app.serving.transports.asgi_scope import App, Message, Receive, Scope, Send

HEAD_BYTES = 32_768
OPENING = b"POST / HTTP/1.1\r\nhost: any\r\n"


async def reading(scope: Scope, receive: Receive, send: Send) -> None:
    """Reads a body to its end and answers with its length."""
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        size, more = size + len(message["body"]), message["more_body"]
    await answer(send, 200, b"%d" % size)


async def busy(scope: Scope, receive: Receive, send: Send) -> None:
    await answer(send, 503, b"busy")


async def answer(send: Send, status: int, body: bytes) -> None:
    headers = [(b"content-length", b"%d" % len(body))]
    start: Message = {"type": "http.response.start", "status": status, "headers": headers}
    await send(start)
    await send({"type": "http.response.body", "body": body})


@contextlib.asynccontextmanager
async def serving(
    monkeypatch: pytest.MonkeyPatch,
    *,
    connections: int = 100,
    most: int | None = None,
    patience: float = 60.0,
    idle: int = 60,
    app: App = reading,
) -> AsyncIterator[int]:
    """The port of a server that lets itself be kept waiting for so many seconds, and where so many
    may pass before a connection is used again."""
    monkeypatch.setattr(protocol, "HEAD_SECONDS", patience)
    monkeypatch.setattr(protocol, "BODY_SECONDS", patience)
    limits = Limits(HEAD_BYTES, connections, busy)
    monkeypatch.setattr(GuardedProtocol, "limits", limits, raising=False)
    config = uvicorn.Config(
        app,
        http=GuardedProtocol,
        log_config=None,
        lifespan="off",
        access_log=False,
        timeout_keep_alive=idle,
    )
    stop = object.__new__(Stop)
    stop.asked = False
    server = Server(config, ready=lambda: None, stop=stop, most_connections=most)
    bound = socket.create_server(("127.0.0.1", 0))
    serving = asyncio.create_task(server._serve([bound]))
    while not server.started:
        await asyncio.sleep(0)
    try:
        yield bound.getsockname()[1]
    finally:
        server.should_exit = server.force_exit = True
        await serving
        bound.close()


async def connected(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection("127.0.0.1", port)


async def told(port: int, *pieces: bytes) -> bytes:
    """All that the server says until it closes the connection."""
    reader, writer = await connected(port)
    for piece in pieces:
        writer.write(piece)
    said = await reader.read()
    writer.close()
    return said
