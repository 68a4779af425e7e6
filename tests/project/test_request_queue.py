"""Requests that a client sends ahead on one connection, and what they cost others."""

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncIterator

import pytest

from mockllm_site.asgi import application
from mockllm_site.serve import protocol as protocol_module
from mockllm_site.serve.protocol import UNREAD_SECONDS, GuardedProtocol
from mockllm_site.serve.request_queue import (
    MAX_ALL_HELD_BYTES,
    MAX_HELD_BYTES,
    SerialProtocol,
)
from scenarios_app.serving.transports.asgi_scope import (
    Message,
    Receive,
    Scope,
    Send,
    make_call,
    read_headers,
)
from tests.project.guarded import HEAD_BYTES, OPENING, answer, connected, reading, serving
from tests.serving.pipelines import Playing, chat, says, scenario
from tests.serving.transports import guarded
from tests.serving.transports.direct_door import raw
from tests.serving.transports.guarded import Client

CHAT = "/v1/chat/completions"
GET = b"GET / HTTP/1.1\r\nhost: any\r\n\r\n"
CHUNKED = OPENING + b"transfer-encoding: chunked\r\n\r\n"


class Application:
    """Answers with a body's length, once `open` is set; counts what it is given at once."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.running = self.most = self.answered = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.running += 1
        self.most = max(self.most, self.running)
        await self.open.wait()
        await reading(scope, receive, send)
        self.running -= 1
        self.answered += 1


@pytest.fixture
async def app() -> AsyncIterator[Application]:
    application = Application()
    yield application
    application.open.set()


def connection(monkeypatch: pytest.MonkeyPatch, app: Application) -> tuple[GuardedProtocol, Client]:
    return guarded.connection(Playing(scenario("s", says("Hi!"))), monkeypatch, app=app)


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_one_request_of_a_connection_is_parsed_in_each_turn(
    monkeypatch: pytest.MonkeyPatch, app: Application
) -> None:
    protocol, client = connection(monkeypatch, app)
    protocol.data_received(raw(chat()) * 20)
    assert len(client.heard) == 1
    await turns(5)
    assert 1 < len(client.heard) <= 7
    await turns(50)
    assert [said[:12] for said in client.heard] == [b"HTTP/1.1 200"] * 20


async def test_a_request_waits_unparsed_for_the_answer_before_it(
    monkeypatch: pytest.MonkeyPatch, app: Application
) -> None:
    protocol, client = connection(monkeypatch, app)
    protocol.data_received(GET * 20)
    await turns(100)
    assert app.most == 1 and client.heard == [] and not protocol.pipeline
    app.open.set()
    await turns(300)
    assert app.answered == 20 and app.most == 1


async def test_a_connection_that_sends_far_ahead_is_read_no_more_until_it_is_answered(
    monkeypatch: pytest.MonkeyPatch, app: Application
) -> None:
    protocol, client = connection(monkeypatch, app)
    protocol.data_received(GET)
    protocol.data_received(GET)
    # Still read, so that a disconnect is noticed.
    assert not client.paused
    protocol.data_received(GET * (MAX_HELD_BYTES // len(GET) + 1))
    assert client.paused
    await turns(10)
    protocol.flow.resume_reading()
    assert client.paused
    app.open.set()
    async with asyncio.timeout(60):
        while client.paused:
            await asyncio.sleep(0)


async def test_nothing_is_held_of_a_connection_that_has_gone(
    monkeypatch: pytest.MonkeyPatch, app: Application
) -> None:
    before = GuardedProtocol._all_held
    protocol, client = connection(monkeypatch, app)
    protocol.data_received(GET * 5_000)
    assert GuardedProtocol._all_held - before == 4_999 * len(GET)
    client.closed = True
    protocol.connection_lost(None)
    assert GuardedProtocol._all_held == before and not protocol._held


async def test_the_connection_that_would_hold_more_than_all_may_is_closed(
    monkeypatch: pytest.MonkeyPatch, app: Application
) -> None:
    protocol, client = connection(monkeypatch, app)
    protocol.data_received(GET)
    monkeypatch.setattr(SerialProtocol, "_all_held", MAX_ALL_HELD_BYTES)
    protocol.data_received(GET)
    assert client.closed


REQUESTS = (
    (GET, 0),
    (OPENING + b"content-length: 12\r\n\r\n" + b"\r\n\r\na\r\n\r\nb\r\n", 12),
    (CHUNKED + b"8\r\n\r\n\r\n\r\n\r\n\r\n3\r\nabc\r\n0\r\n\r\n", 11),
    (CHUNKED + b"2\r\nab\r\n0\r\nx-sum: 1\r\nx-b: c\r\n\r\n", 2),
    (b"\r\n" + GET, 0),
    (OPENING + b"content-length: 70000\r\n\r\n" + b"x" * 70_000, 70_000),
)


@pytest.mark.parametrize("seed", range(40))
async def test_requests_are_the_same_however_their_bytes_are_cut(
    monkeypatch: pytest.MonkeyPatch, app: Application, seed: int
) -> None:
    drawn = random.Random(seed)
    chosen = [drawn.choice(REQUESTS) for _ in range(12)]
    data = b"".join(request for request, _ in chosen)
    protocol, client = connection(monkeypatch, app)
    app.open.set()
    longest = drawn.choice((3, 40, 400))
    while data:
        # Most of a long body comes in one packet.
        long = data.startswith(b"x" * 1_000)
        size = 60_000 if long else drawn.randint(1, longest)
        protocol.data_received(data[:size])
        data = data[size:]
        await turns(drawn.randint(0, 2))
    await turns(300)
    said = b"".join(client.heard).split(b"HTTP/1.1 200 OK\r\n")[1:]
    assert [int(one.rpartition(b"\r\n")[2]) for one in said] == [size for _, size in chosen]
    assert app.most == 1


async def test_thousands_of_pieces_of_a_body_leave_others_their_turn(
    monkeypatch: pytest.MonkeyPatch, app: Application
) -> None:
    protocol, client = connection(monkeypatch, app)
    app.open.set()
    body = b"\r\n\r\n" * 10_000
    protocol.data_received(CHUNKED + b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body))
    assert len(protocol._held) > len(body) // 2
    async with asyncio.timeout(60):
        while not client.heard:
            await asyncio.sleep(0)
    assert client.heard[-1].endswith(b"40000")


async def test_a_client_that_takes_nothing_of_its_answer_is_left_alone_no_longer_than_so_long(
    monkeypatch: pytest.MonkeyPatch, app: Application
) -> None:
    protocol, client = connection(monkeypatch, app)
    protocol.data_received(GET)
    now = time.monotonic()
    client.unread = 1_000
    protocol.close_if_stalled(now)
    client.unread = 900
    protocol.close_if_stalled(now + UNREAD_SECONDS)
    protocol.close_if_stalled(now + 2 * UNREAD_SECONDS - 1)
    assert not client.closed
    protocol.close_if_stalled(now + 2 * UNREAD_SECONDS + 1)
    assert client.closed


class Scopes:
    """Reads a body and keeps the headers there are then."""

    def __init__(self) -> None:
        self.headers: list[dict[bytes, bytes]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        message: Message = {"more_body": True}
        while message["more_body"]:
            message = await receive()
        self.headers.append(dict(scope["headers"]))
        await answer(send, 200, b"")


async def test_trailers_are_no_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    scopes = Scopes()
    async with serving(monkeypatch, app=scopes) as port:
        reader, writer = await connected(port)
        for _ in range(2):
            writer.write(CHUNKED + b"1\r\na\r\n")
            await writer.drain()
            await asyncio.sleep(0)
            writer.write(b"0\r\nx-mockllm-session: theirs\r\n\r\n")
            await reader.readuntil(b"\r\n\r\n")
        writer.close()
    assert [sorted(one) for one in scopes.headers] == [[b"host", b"transfer-encoding"]] * 2


@pytest.mark.parametrize("line", [b"x: y\r\n", b"x-endless"])
@pytest.mark.parametrize("early", [False, True])
async def test_trailers_that_do_not_end_are_refused(
    monkeypatch: pytest.MonkeyPatch, line: bytes, early: bool
) -> None:
    async def at_once(scope: Scope, receive: Receive, send: Send) -> None:
        await answer(send, 401, b"")

    async with serving(monkeypatch, app=at_once if early else reading) as port:
        reader, writer = await connected(port)
        writer.write(CHUNKED + b"1\r\na\r\n")
        if early:
            assert b" 401 " in await reader.readuntil(b"\r\n\r\n")
        writer.write(b"0\r\n")
        told = asyncio.create_task(reader.read())
        with contextlib.suppress(ConnectionError):
            for _ in range(4):
                writer.write(line * (HEAD_BYTES // len(line)))
                await asyncio.wait({told}, timeout=0.05)
        said = await asyncio.wait_for(told, 60)
        assert said == b"" if early else said.startswith(b"HTTP/1.1 431 ")
        writer.close()


async def test_a_body_whose_chunk_begins_in_a_packet_of_its_own_is_read_to_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with serving(monkeypatch) as port:
        reader, writer = await connected(port)
        for piece in (CHUNKED, b"3\r\n", b"abc\r\n", b"0", b"\r\n", b"\r\n"):
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.02)
        await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 60)
        assert await reader.readexactly(1) == b"3"
        writer.close()


async def test_line_ends_between_requests_do_not_keep_a_connection(
    monkeypatch: pytest.MonkeyPatch, app: Application
) -> None:
    app.open.set()
    protocol, client = connection(monkeypatch, app)
    protocol.data_received(GET)
    await turns(10)
    idle = time.monotonic() + protocol.timeout_keep_alive + 1
    protocol.data_received(b"\r\n")
    protocol.close_if_stalled(idle)
    assert client.closed


@pytest.mark.parametrize("offered", [b"websocket", b"h2c"])
async def test_a_post_that_offers_another_protocol_is_answered(
    monkeypatch: pytest.MonkeyPatch, app: Application, offered: bytes
) -> None:
    app.open.set()
    protocol, client = connection(monkeypatch, app)
    upgrade = b"connection: upgrade\r\nupgrade: " + offered + b"\r\ncontent-length: 5\r\n\r\n"
    protocol.data_received((OPENING + upgrade + b"hello") * 2)
    await turns(20)
    assert [said[-1:] for said in client.heard if not said.startswith(b"HTTP")] == [b"5", b"5"]


async def test_blanks_after_a_header_are_not_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    scopes = Scopes()
    async with serving(monkeypatch, app=scopes) as port:
        reader, writer = await connected(port)
        writer.write(b"GET / HTTP/1.1\r\nhost: any \r\nx-a:\t b c \t \r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        writer.close()
    assert scopes.headers == [{b"host": b"any", b"x-a": b"b c"}]


async def test_heads_that_stop_leave_where_no_more_connections_are_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(protocol_module, "CROWDED_SECONDS", 0.2)
    async with serving(monkeypatch, connections=8, most=12) as port:
        half_open = [await connected(port) for _ in range(12)]
        for _, writer in half_open:
            writer.write(OPENING)
        async with asyncio.timeout(30):
            said = b""
            while b" 200 " not in said:
                reader, writer = await connected(port)
                writer.write(GET)
                said = await reader.readuntil(b"\r\n\r\n")
                writer.close()
                await asyncio.sleep(0.05)
        for _, writer in half_open:
            writer.close()


def test_blanks_around_a_header_are_not_part_of_it_on_any_way_in() -> None:
    call = make_call("GET", "/", query=b"", headers=read_headers([(b"X-A", b" b c \t")]), body=b"")
    assert call.headers == {"x-a": "b c"}


async def test_header_added_while_a_body_is_read_is_not_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scopes, headers = Scopes(), [(b"host", b"any")]

    async def receive() -> Message:
        headers.append((b"x-mockllm-session", b"theirs"))
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None: ...

    monkeypatch.setattr("mockllm_site.asgi.providers", scopes)
    scope = {"type": "http", "method": "POST", "path": CHAT, "raw_path": CHAT.encode()}
    await application({**scope, "headers": headers}, receive, send)
    assert scopes.headers == [{b"host": b"any"}]
