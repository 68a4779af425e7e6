"""Runs a server in the test's event loop, and reads its answers from connections."""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from mockllm_site.serve.connection import HttpConnection, Settings
from scenarios_app.serving.fast.direct import FastLayer, Incoming
from scenarios_app.serving.transports.asgi_scope import Receive, Scope, Send
from scenarios_app.wire.base import Call
from tests.serving.pipelines import Harness, scenario, text_step
from tests.serving.transports.provider_app import provider_app

PACED = text_step("slow slow slow", match={"model": "paced"})
PACED["produce"]["pacing"] = {"chunk_ms": 10, "words_per_chunk": 1}
LATE = text_step("late", match={"model": "late"})
LATE["produce"]["latency_ms"] = 20
CUT = text_step("never whole", match={"model": "cut"})
CUT["produce"]["fault"] = {"kind": "disconnect"}
LONG = text_step("long " * 50_000, match={"model": "long"})
DOCUMENT = scenario("s", PACED, LATE, CUT, LONG, text_step("Hi! " * 30, match={"model": "gpt-4o"}))


class LoopServer:
    """A server in this loop; `cycle_methods` are the methods of the requests to its ASGI cycle."""

    def __init__(self, port: int, connections: set[Any], cycle_methods: list[str]) -> None:
        self.port = port
        self.connections = connections
        self.cycle_methods = cycle_methods

    async def exchange(self, data: bytes) -> bytes:
        """Send data on a new connection and return all bytes until it is closed."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(data)
        received = await asyncio.wait_for(reader.read(), 60)
        writer.close()
        return received


@contextlib.asynccontextmanager
async def run_loop_server(
    harness: Harness, http: Callable[..., HttpToolsProtocol]
) -> AsyncIterator[LoopServer]:
    cycle_methods: list[str] = []
    django = provider_app(harness)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        cycle_methods.append(scope["method"])
        await django(scope, receive, send)

    config = uvicorn.Config(app, log_config=None, lifespan="off", access_log=False)
    config.load()
    state = ServerState()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: http(config=config, server_state=state, app_state={}), "127.0.0.1", 0
    )
    try:
        yield LoopServer(server.sockets[0].getsockname()[1], state.connections, cycle_methods)
    finally:
        server.close()
        for connection in tuple(state.connections):
            connection.transport.abort()
        await asyncio.gather(*state.tasks, return_exceptions=True)


async def refuse_nothing(scope: Scope, receive: Receive, send: Send) -> None:
    raise AssertionError("no test opens that many connections")


def make_settings(layer: FastLayer | None) -> Settings:
    """Return the settings of connections with usual limits."""
    return Settings(65_536, 10_000, refuse_nothing, layer=layer)


@contextlib.asynccontextmanager
async def run_layer_server(harness: Harness, layer: FastLayer | None) -> AsyncIterator[LoopServer]:
    """Run a server with these direct answers; all others come from the pipeline of a harness."""
    http = partial(HttpConnection, settings=make_settings(layer))
    async with run_loop_server(harness, http) as server:
        yield server


@contextlib.asynccontextmanager
async def run_direct_server(
    *documents: Any, **options: Any
) -> AsyncIterator[tuple[LoopServer, Harness]]:
    harness = Harness(*(documents or (DOCUMENT,)), **options)
    async with run_layer_server(harness, harness.layer) as server:
        yield server, harness


def encode_call(call: Call, *, close: bool = False, **headers: str) -> bytes:
    """Return the bytes of a call; `close` sends `connection: close`."""
    path = f"{call.path}?{call.raw_query}" if call.raw_query else call.path
    lines = [f"{call.method} {path} HTTP/1.1"]
    first = {"host": "localhost", "content-length": str(len(call.body))}
    all_headers = {**first, **call.headers, **headers}
    if close:
        all_headers["connection"] = "close"
    lines += [f"{name}: {value}" for name, value in all_headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + call.body


def without_varying_headers(answer: bytes) -> bytes:
    """Return an answer without the headers that differ in every answer."""
    return re.sub(rb"(?m)^(date|x-mockllm-request): .*\r\n", b"", answer)


async def read_answer(reader: asyncio.StreamReader) -> bytes:
    """Read one answer of a connection that stays open."""
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 60)
    if b"transfer-encoding: chunked" in head:
        return head + await asyncio.wait_for(reader.readuntil(b"0\r\n\r\n"), 60)
    length = re.search(rb"content-length: (\d+)", head)
    assert length is not None
    return head + await asyncio.wait_for(reader.readexactly(int(length[1])), 60)


async def exchange_may_be_cut(server: LoopServer, request: bytes) -> tuple[bytes, bytes]:
    """Send a request and return head and decoded body of the answer, which may be cut."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(request)
    head, body = await reader.readuntil(b"\r\n\r\n"), b""
    with contextlib.suppress(asyncio.IncompleteReadError):
        if b"transfer-encoding: chunked" not in head:
            length = re.search(rb"content-length: (\d+)", head)
            body = await reader.readexactly(int(length[1]) if length else 0)
        else:
            while size := int(await reader.readuntil(b"\r\n"), 16):
                body += (await reader.readexactly(size + 2))[:-2]
            body += await reader.readexactly(2)
    writer.close()
    return without_varying_headers(head), body


async def wait_for_entries(harness: Harness, count: int) -> None:
    """Wait until the journal has `count` entries."""
    while len(harness.journal) < count:
        await asyncio.sleep(0.001)


async def skip_streamed_answer(reader: asyncio.StreamReader) -> bytes:
    """Read one streamed answer and return its head."""
    head = await reader.readuntil(b"\r\n\r\n")
    while size := int(await reader.readuntil(b"\r\n"), 16):
        await reader.readexactly(size + 2)
    await reader.readexactly(2)
    return head


async def wait_until_reading(server: LoopServer) -> tuple[Any, ...]:
    """Wait until a request is partly read; return the connections."""
    while True:
        connections = tuple(server.connections)
        if connections and isinstance(connections[0].direct.current, Incoming):
            return connections
        await asyncio.sleep(0.001)
