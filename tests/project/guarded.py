"""A server with guarded connections, and clients that keep it waiting."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest
import uvicorn

from mockllm_site.serve import client_limits
from mockllm_site.serve.connection import HttpConnection, Settings
from mockllm_site.serve.server import Server, Stop
from scenarios_app.serving.transports.asgi_scope import App, Message, Receive, Scope, Send
from tests.serving.pipelines import Harness

HEAD_BYTES = 32_768
REQUEST_START = b"POST / HTTP/1.1\r\nhost: any\r\n"


async def read_body_app(scope: Scope, receive: Receive, send: Send) -> None:
    """Read a body to its end and answer with its length."""
    size, has_more = 0, True
    while has_more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        size, has_more = size + len(message["body"]), message["more_body"]
    await send_response(send, 200, b"%d" % size)


async def busy_app(scope: Scope, receive: Receive, send: Send) -> None:
    await send_response(send, 503, b"busy")


async def send_response(send: Send, status: int, body: bytes) -> None:
    headers = [(b"content-length", b"%d" % len(body))]
    start: Message = {"type": "http.response.start", "status": status, "headers": headers}
    await send(start)
    await send({"type": "http.response.body", "body": body})


@contextlib.asynccontextmanager
async def serving(
    monkeypatch: pytest.MonkeyPatch,
    *,
    connections: int = 100,
    max_connections: int | None = None,
    timeout_seconds: float = 60.0,
    idle: int = 60,
    app: App = read_body_app,
    harness: Harness | None = None,
) -> AsyncIterator[int]:
    """Run a server and yield its port.

    It waits `timeout_seconds` for heads and bodies, and `idle` seconds for a further request. The
    pipeline of a `harness` answers plain requests directly.
    """
    monkeypatch.setattr(client_limits, "HEAD_SECONDS", timeout_seconds)
    monkeypatch.setattr(client_limits, "BODY_SECONDS", timeout_seconds)
    layer = None if harness is None else harness.layer
    settings = Settings(HEAD_BYTES, connections, busy_app, layer=layer)
    protocol: Any = partial(HttpConnection, settings=settings)
    config = uvicorn.Config(
        app,
        http=protocol,
        log_config=None,
        lifespan="off",
        access_log=False,
        timeout_keep_alive=idle,
    )
    stop = object.__new__(Stop)
    stop.requested = False
    server = Server(config, ready=lambda: None, stop=stop, max_connections=max_connections)
    listener = socket.create_server(("127.0.0.1", 0))
    server_task = asyncio.create_task(server._serve([listener]))
    while not server.started:
        await asyncio.sleep(0)
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = server.force_exit = True
        await server_task
        listener.close()


async def open_connection(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection("127.0.0.1", port)


async def send_and_read_all(port: int, *pieces: bytes) -> bytes:
    """Send pieces and return all that the server sends until it closes the connection."""
    reader, writer = await open_connection(port)
    for piece in pieces:
        writer.write(piece)
    response = await reader.read()
    writer.close()
    return response
