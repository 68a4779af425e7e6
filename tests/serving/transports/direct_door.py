"""A server in the test loop whose protocol answers by itself, and what a client says to it."""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from typing import Any, ClassVar

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from scenarios_app.serving.transports.asgi import ProviderApp
from scenarios_app.serving.transports.asgi_scope import Receive, Scope, Send
from scenarios_app.serving.transports.uvicorn_protocol import UvicornProtocol
from scenarios_app.wire.base import Call
from tests.serving.pipelines import Playing, says, scenario

PACED = says("slow slow slow", match={"model": "paced"})
PACED["produce"]["pacing"] = {"chunk_ms": 10, "words_per_chunk": 1}
LATE = says("late", match={"model": "late"})
LATE["produce"]["latency_ms"] = 20
CUT = says("never whole", match={"model": "cut"})
CUT["produce"]["fault"] = {"kind": "disconnect"}
LONG = says("long " * 50_000, match={"model": "long"})
DOCUMENT = scenario("s", PACED, LATE, CUT, LONG, says("Hi! " * 30, match={"model": "gpt-4o"}))


class Running:
    """A server in this loop, its connections, and what its cycle has taken."""

    def __init__(self, port: int, connections: set[Any], taken: list[str]) -> None:
        self.port = port
        self.connections = connections
        self.taken = taken

    async def say(self, data: bytes) -> bytes:
        """All that a connection answers until it is closed."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(data)
        said = await asyncio.wait_for(reader.read(), 60)
        writer.close()
        return said


@contextlib.asynccontextmanager
async def serving(playing: Playing, http: type[HttpToolsProtocol]) -> AsyncIterator[Running]:
    taken: list[str] = []
    door = ProviderApp(playing.running)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        taken.append(scope["method"])
        await door(scope, receive, send)

    config = uvicorn.Config(app, http=http, log_config=None, lifespan="off", access_log=False)
    config.load()
    state = ServerState()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: http(config=config, server_state=state, app_state={}), "127.0.0.1", 0
    )
    try:
        yield Running(server.sockets[0].getsockname()[1], state.connections, taken)
    finally:
        server.close()
        for connection in tuple(state.connections):
            connection.transport.abort()  # type: ignore[union-attr]
        await asyncio.gather(*state.tasks, return_exceptions=True)


@contextlib.asynccontextmanager
async def direct(*documents: Any, **options: Any) -> AsyncIterator[tuple[Running, Playing]]:
    playing = Playing(*(documents or (DOCUMENT,)), **options)

    class Direct(UvicornProtocol):
        running: ClassVar = (lambda: playing.pipeline,)

    async with serving(playing, Direct) as running:
        yield running, playing


def raw(call: Call, *, close: bool = False, **headers: str) -> bytes:
    """A call as it comes over the wire; `close` asks for the end of the connection after it."""
    path = f"{call.path}?{call.raw_query}" if call.raw_query else call.path
    lines = [f"{call.method} {path} HTTP/1.1", "host: localhost"]
    given = {"content-length": str(len(call.body)), **call.headers, **headers}
    if close:
        given["connection"] = "close"
    lines += [f"{name}: {value}" for name, value in given.items()]
    return "\r\n".join([*lines, "", ""]).encode() + call.body


def bare(said: bytes) -> bytes:
    """An answer without what each has of its own."""
    return re.sub(rb"(?m)^(date|x-mockllm-request): .*\r\n", b"", said)


async def answer_of(reader: asyncio.StreamReader) -> bytes:
    """One answer of a connection that stays open."""
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 60)
    if b"transfer-encoding: chunked" in head:
        return head + await asyncio.wait_for(reader.readuntil(b"0\r\n\r\n"), 60)
    length = re.search(rb"content-length: (\d+)", head)
    assert length is not None
    return head + await asyncio.wait_for(reader.readexactly(int(length[1])), 60)


async def whole(running: Running, asked: bytes) -> tuple[bytes, bytes]:
    """Head and body of an answer, whichever packets it came in, up to where it may be cut."""
    reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
    writer.write(asked)
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
    return bare(head), body


async def gone(playing: Playing, count: int) -> None:
    """Wait until so many answers have ended."""
    while len(playing.journal) < count:
        await asyncio.sleep(0.001)


async def answer_of_any_size(reader: asyncio.StreamReader) -> bytes:
    """The head of one streamed answer, whose body is read and dropped."""
    head = await reader.readuntil(b"\r\n\r\n")
    while size := int(await reader.readuntil(b"\r\n"), 16):
        await reader.readexactly(size + 2)
    await reader.readexactly(2)
    return head


async def until_open(running: Running) -> tuple[Any, ...]:
    """The connections, as soon as one has begun to be read."""
    while True:
        found = tuple(running.connections)
        if found and getattr(found[0], "_pieces", None) is not None:
            return found
        await asyncio.sleep(0.001)
