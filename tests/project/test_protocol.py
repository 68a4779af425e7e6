"""What a client may make the server wait for, and hold, before there is a request."""

import asyncio
import contextlib
import resource
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Any

import pytest
import uvicorn

from mockllm_site.serve import limits as descriptors
from mockllm_site.serve import protocol
from mockllm_site.serve.limits import RESERVE, Acceptor, connection_cap
from mockllm_site.serve.protocol import GuardedProtocol, Limits, look_at_all
from mockllm_site.serve.server import Server, Stop
from scenarios_app.serving.doors.calls import Message, Receive, Scope, Send
from tests.serving.doors.direct_door import answer_of, raw
from tests.serving.pipelines import Playing, chat, says, scenario

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
) -> AsyncIterator[int]:
    """The port of a server that lets itself be kept waiting for so many seconds, and where so many
    may pass before a connection is used again."""
    monkeypatch.setattr(protocol, "HEAD_SECONDS", patience)
    monkeypatch.setattr(protocol, "BODY_SECONDS", patience)
    limits = Limits(HEAD_BYTES, connections, busy)
    monkeypatch.setattr(GuardedProtocol, "limits", limits, raising=False)
    config = uvicorn.Config(
        reading,
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


async def test_a_head_that_does_not_end_is_refused_and_not_collected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with serving(monkeypatch) as port:
        reader, writer = await connected(port)
        writer.write(OPENING + b"x-endless: ")
        sent = 0
        with contextlib.suppress(ConnectionError):
            while sent < 64 * HEAD_BYTES and not reader.at_eof():
                writer.write(b"a" * 4096)
                await asyncio.wait_for(writer.drain(), 60)
                sent += 4096
        said = await reader.read()
        assert said.startswith(b"HTTP/1.1 431 ")
        assert b"connection: close" in said
        writer.close()


@pytest.mark.parametrize("begun", [b"", b"POST", OPENING, OPENING + b"x-slow: a"])
async def test_a_head_that_stops_is_waited_for_so_long(
    monkeypatch: pytest.MonkeyPatch, begun: bytes
) -> None:
    async with serving(monkeypatch, patience=0.2) as port:
        said = await asyncio.wait_for(told(port, begun), 60)
    assert said.startswith(b"HTTP/1.1 408 ") if begun else said == b""


async def test_a_head_that_comes_drop_by_drop_is_waited_for_no_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with serving(monkeypatch, patience=0.2) as port:
        reader, writer = await connected(port)
        writer.write(OPENING)
        said = asyncio.create_task(reader.read())
        with contextlib.suppress(ConnectionError):
            while not said.done():
                writer.write(b"x-a: b\r\n")
                await asyncio.wait({said}, timeout=0.02)
        assert (await said).startswith(b"HTTP/1.1 408 ")
        writer.close()


@pytest.mark.parametrize("length", [b"content-length: 10", b"transfer-encoding: chunked"])
async def test_a_body_that_stops_is_waited_for_so_long(
    monkeypatch: pytest.MonkeyPatch, length: bytes
) -> None:
    async with serving(monkeypatch, patience=0.2) as port:
        said = await asyncio.wait_for(told(port, OPENING + length + b"\r\n\r\n"), 60)
    assert said.startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("size", [0, 10, 65_536, 3_000_000])
async def test_whole_requests_are_answered_one_after_another(
    monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    async with serving(monkeypatch) as port:
        reader, writer = await connected(port)
        for _ in range(3):
            writer.write(OPENING + b"content-length: %d\r\n\r\n" % size + b"x" * size)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200 ")
            assert await reader.readexactly(len(str(size))) == b"%d" % size
        writer.close()


async def test_a_connection_that_is_not_used_again_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with serving(monkeypatch, idle=0) as port:
        said = await asyncio.wait_for(told(port, OPENING + b"content-length: 0\r\n\r\n"), 60)
    assert said.startswith(b"HTTP/1.1 200 ")


def looking(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Awaitable[None]]:
    """Waits until the server has looked at its connections."""
    looks = 0

    def look(connections: Iterable[Any]) -> None:
        nonlocal looks
        look_at_all(connections)
        looks += 1

    async def looked() -> None:
        # The one that is under way may have begun too early.
        before = looks
        while looks < before + 2:
            await asyncio.sleep(0.01)

    monkeypatch.setattr("mockllm_site.serve.server.look_at_all", look)
    return looked


async def test_no_connection_is_idle_while_a_request_comes_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked = looking(monkeypatch)
    async with serving(monkeypatch, idle=0) as port:
        reader, writer = await connected(port)
        writer.write(OPENING + b"content-length: 0\r\n\r\n" + OPENING)
        assert (await reader.readuntil(b"\r\n\r\n0")).startswith(b"HTTP/1.1 200 ")
        writer.write(b"content-length: 2\r\n\r\na")
        await looked()
        writer.write(b"b")
        assert (await asyncio.wait_for(reader.read(), 60)).startswith(b"HTTP/1.1 200 ")
        writer.close()


async def test_nor_where_it_comes_in_one_packet_with_one_that_is_answered_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked, playing = looking(monkeypatch), Playing(scenario("s", says("Hi!")))
    monkeypatch.setattr(GuardedProtocol, "running", (lambda: playing.pipeline,))
    asked = raw(chat())
    async with serving(monkeypatch, idle=0) as port:
        reader, writer = await connected(port)
        writer.write(asked + asked[:-1])
        assert b"Hi!" in await answer_of(reader)
        await looked()
        writer.write(asked[-1:])
        assert b"Hi!" in await answer_of(reader)
        writer.close()


async def test_a_body_in_chunks_is_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    chunks = b"".join(b"%x\r\n%s\r\n" % (n, b"y" * n) for n in (1, 70_000, 5))
    request = OPENING + b"transfer-encoding: chunked\r\nconnection: close\r\n\r\n"
    async with serving(monkeypatch) as port:
        said = await told(port, request, chunks, b"0\r\n\r\n")
    assert said.endswith(b"70006")


async def held(port: int, count: int) -> list[asyncio.StreamWriter]:
    """Connections that are kept, each having been answered."""
    writers = []
    for _ in range(count):
        reader, writer = await connected(port)
        writer.write(OPENING + b"content-length: 0\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        writers.append(writer)
    return writers


@pytest.mark.parametrize("most", [None, 6])
async def test_beyond_the_cap_one_is_told_so(
    monkeypatch: pytest.MonkeyPatch, most: int | None
) -> None:
    request = OPENING + b"content-length: 0\r\nconnection: close\r\n\r\n"
    async with serving(monkeypatch, connections=4, most=most) as port:
        writers = await held(port, 4)
        beyond = [await told(port, request) for _ in range(4)]
        assert all(said.startswith(b"HTTP/1.1 503 ") for said in beyond)
        for writer in writers:
            writer.close()
            await writer.wait_closed()
        # That they are gone is known a moment later.
        async with asyncio.timeout(60):
            while not (await told(port, request)).startswith(b"HTTP/1.1 200 "):
                pass


async def test_where_no_more_may_be_open_the_others_wait_and_none_is_reset(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    request = OPENING + b"content-length: 0\r\nconnection: close\r\n\r\n"
    async with serving(monkeypatch, connections=4, most=6) as port:
        said = await asyncio.gather(*(told(port, request) for _ in range(60)))
    statuses = {one[9:12] for one in said}
    assert statuses <= {b"200", b"503"} and b"200" in statuses


async def test_an_acceptor_without_descriptors_waits_for_some() -> None:
    """As the kernel says it when they are used up."""

    class Listening:
        tries = 0

        def setblocking(self, _: bool) -> None: ...

        def fileno(self) -> int:
            return inner.fileno()

        def accept(self) -> tuple[socket.socket, Any]:
            self.tries += 1
            if self.tries == 1:
                raise OSError(24, "Too many open files")
            return inner.accept()

    made = asyncio.Event()

    class Made(asyncio.Protocol):
        def connection_made(self, transport: Any) -> None:
            made.set()
            transport.close()

    with socket.create_server(("127.0.0.1", 0)) as inner:
        inner.setblocking(False)
        listening: Any = Listening()
        acceptor = Acceptor(listening, Made, open=(), most=5)
        acceptor.start()
        _, writer = await connected(inner.getsockname()[1])
        await asyncio.wait_for(made.wait(), 60)
        acceptor.stop()
        writer.close()
    assert listening.tries >= 2


def limits_of(
    monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, *, may: Callable[[int, int], bool]
) -> list[tuple[int, int]]:
    """A process with these limits on descriptors; gives the limits that are set."""
    now = [(soft, hard)]

    def setrlimit(_: int, wanted: tuple[int, int]) -> None:
        if not may(*wanted):
            raise ValueError("not allowed to raise maximum limit")
        now.append(wanted)

    monkeypatch.setattr(descriptors.resource, "getrlimit", lambda _: now[-1])
    monkeypatch.setattr(descriptors.resource, "setrlimit", setrlimit)
    return now


def test_the_limit_on_descriptors_is_raised_as_far_as_is_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = limits_of(monkeypatch, 1024, 1_000_000, may=lambda soft, hard: hard <= 1_000_000)
    assert connection_cap(5_000) == 5_000
    assert now[-1] == (5_000 + RESERVE, 1_000_000)
    assert connection_cap(100) == 100
    assert len(now) == 2


def test_where_it_may_not_be_raised_fewer_connections_are_taken_and_that_is_said(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    limits_of(monkeypatch, 1024, 1024, may=lambda soft, hard: hard <= 1024)
    assert connection_cap(5_000) == 1024 - RESERVE
    (line,) = caplog.messages
    assert "takes 768 connections at once instead of 5000" in line


def test_without_a_hard_limit_it_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    now = limits_of(monkeypatch, 256, resource.RLIM_INFINITY, may=lambda soft, hard: True)
    assert connection_cap(5_000) == 5_000
    assert now[-1] == (5_000 + RESERVE, resource.RLIM_INFINITY)
