"""Pipelined requests on one connection: their order, limits, and effect on others."""

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncIterator

import pytest

from mockllm_site.serve import client_limits
from mockllm_site.serve.client_limits import UNREAD_SECONDS
from mockllm_site.serve.connection import HttpConnection
from mockllm_site.serve.request_queue import (
    MAX_ALL_QUEUED_BYTES,
    MAX_QUEUED_BYTES,
    RequestQueue,
)
from scenarios_app.serving.transports.asgi_scope import (
    Message,
    Receive,
    Scope,
    Send,
    make_call,
    read_headers,
    with_prepared_scope,
)
from tests.project.guarded import (
    HEAD_BYTES,
    REQUEST_START,
    open_connection,
    read_body_app,
    send_response,
    serving,
)
from tests.serving.pipelines import Harness, chat, scenario, text_step
from tests.serving.transports import guarded
from tests.serving.transports.guarded import Client
from tests.serving.transports.protocol_server import encode_call

CHAT = "/v1/chat/completions"
GET = b"GET / HTTP/1.1\r\nhost: any\r\n\r\n"
CHUNKED = REQUEST_START + b"transfer-encoding: chunked\r\n\r\n"


class Application:
    """Answers with the length of a body once `released` is set; counts concurrent requests."""

    def __init__(self) -> None:
        self.released = asyncio.Event()
        self.running = self.max_running = self.response_count = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.running += 1
        self.max_running = max(self.max_running, self.running)
        await self.released.wait()
        await read_body_app(scope, receive, send)
        self.running -= 1
        self.response_count += 1


@pytest.fixture
async def app() -> AsyncIterator[Application]:
    application = Application()
    yield application
    application.released.set()


def make_connection(app: Application) -> tuple[HttpConnection, Client]:
    return guarded.open_connection(Harness(scenario("s", text_step("Hi!"))), app=app)


async def run_loop(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_one_request_of_a_connection_is_parsed_in_each_turn(app: Application) -> None:
    protocol, client = make_connection(app)
    protocol.data_received(encode_call(chat()) * 20)
    assert len(client.received) == 1
    await run_loop(5)
    assert 1 < len(client.received) <= 7
    await run_loop(50)
    assert [response[:12] for response in client.received] == [b"HTTP/1.1 200"] * 20


async def test_a_request_waits_unparsed_for_the_answer_before_it(app: Application) -> None:
    protocol, client = make_connection(app)
    protocol.data_received(GET * 20)
    await run_loop(100)
    assert app.max_running == 1 and client.received == [] and not protocol.pipeline
    app.released.set()
    await run_loop(300)
    assert app.response_count == 20 and app.max_running == 1


async def test_connection_that_sends_far_ahead_is_paused_until_answered(app: Application) -> None:
    protocol, client = make_connection(app)
    protocol.data_received(GET)
    protocol.data_received(GET)
    # The connection is still read to notice a disconnect.
    assert not client.paused
    protocol.data_received(GET * (MAX_QUEUED_BYTES // len(GET) + 1))
    assert client.paused
    await run_loop(10)
    protocol.flow.resume_reading()
    assert client.paused
    app.released.set()
    async with asyncio.timeout(60):
        while client.paused:
            await asyncio.sleep(0)


async def test_closed_connection_releases_its_queued_bytes(app: Application) -> None:
    before = RequestQueue._all_queued_bytes
    protocol, client = make_connection(app)
    protocol.data_received(GET * 5_000)
    assert RequestQueue._all_queued_bytes - before == 4_999 * len(GET)
    client.closed = True
    protocol.connection_lost(None)
    assert RequestQueue._all_queued_bytes == before and not protocol.queue


async def test_connection_beyond_the_total_queue_limit_is_closed(
    monkeypatch: pytest.MonkeyPatch, app: Application
) -> None:
    protocol, client = make_connection(app)
    protocol.data_received(GET)
    monkeypatch.setattr(RequestQueue, "_all_queued_bytes", MAX_ALL_QUEUED_BYTES)
    protocol.data_received(GET)
    assert client.closed


REQUESTS = (
    (GET, 0),
    (REQUEST_START + b"content-length: 12\r\n\r\n" + b"\r\n\r\na\r\n\r\nb\r\n", 12),
    (CHUNKED + b"8\r\n\r\n\r\n\r\n\r\n\r\n3\r\nabc\r\n0\r\n\r\n", 11),
    (CHUNKED + b"2\r\nab\r\n0\r\nx-sum: 1\r\nx-b: c\r\n\r\n", 2),
    (b"\r\n" + GET, 0),
    (REQUEST_START + b"content-length: 70000\r\n\r\n" + b"x" * 70_000, 70_000),
)


@pytest.mark.parametrize("seed", range(40))
async def test_requests_are_the_same_however_their_bytes_are_cut(
    app: Application, seed: int
) -> None:
    rng = random.Random(seed)
    requests = [rng.choice(REQUESTS) for _ in range(12)]
    data = b"".join(request for request, _ in requests)
    protocol, client = make_connection(app)
    app.released.set()
    max_piece_bytes = rng.choice((3, 40, 400))
    while data:
        # Send most of a long body in one packet.
        in_long_body = data.startswith(b"x" * 1_000)
        size = 60_000 if in_long_body else rng.randint(1, max_piece_bytes)
        protocol.data_received(data[:size])
        data = data[size:]
        await run_loop(rng.randint(0, 2))
    await run_loop(300)
    responses = b"".join(client.received).split(b"HTTP/1.1 200 OK\r\n")[1:]
    assert [int(response.rpartition(b"\r\n")[2]) for response in responses] == [
        size for _, size in requests
    ]
    assert app.max_running == 1


async def test_body_of_many_chunks_does_not_block_the_event_loop(app: Application) -> None:
    protocol, client = make_connection(app)
    app.released.set()
    body = b"\r\n\r\n" * 10_000
    protocol.data_received(CHUNKED + b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body))
    assert len(protocol.queue) > len(body) // 2
    async with asyncio.timeout(60):
        while not client.received:
            await asyncio.sleep(0)
    assert client.received[-1].endswith(b"40000")


async def test_client_that_reads_none_of_its_answer_is_disconnected(app: Application) -> None:
    protocol, client = make_connection(app)
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
    """Reads a body, then records the headers of the scope."""

    def __init__(self) -> None:
        self.headers: list[dict[bytes, bytes]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        message: Message = {"more_body": True}
        while message["more_body"]:
            message = await receive()
        self.headers.append(dict(scope["headers"]))
        await send_response(send, 200, b"")


async def test_trailers_are_not_added_to_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    scopes = Scopes()
    async with serving(monkeypatch, app=scopes) as port:
        reader, writer = await open_connection(port)
        for _ in range(2):
            writer.write(CHUNKED + b"1\r\na\r\n")
            await writer.drain()
            await asyncio.sleep(0)
            writer.write(b"0\r\nx-mockllm-session: theirs\r\n\r\n")
            await reader.readuntil(b"\r\n\r\n")
        writer.close()
    assert [sorted(headers) for headers in scopes.headers] == [[b"host", b"transfer-encoding"]] * 2


@pytest.mark.parametrize("line", [b"x: y\r\n", b"x-endless"])
@pytest.mark.parametrize("early", [False, True])
async def test_trailers_that_do_not_end_are_refused(
    monkeypatch: pytest.MonkeyPatch, line: bytes, early: bool
) -> None:
    async def reject(scope: Scope, receive: Receive, send: Send) -> None:
        await send_response(send, 401, b"")

    async with serving(monkeypatch, app=reject if early else read_body_app) as port:
        reader, writer = await open_connection(port)
        writer.write(CHUNKED + b"1\r\na\r\n")
        if early:
            assert b" 401 " in await reader.readuntil(b"\r\n\r\n")
        writer.write(b"0\r\n")
        read_task = asyncio.create_task(reader.read())
        with contextlib.suppress(ConnectionError):
            for _ in range(4):
                writer.write(line * (HEAD_BYTES // len(line)))
                await asyncio.wait({read_task}, timeout=0.05)
        response = await asyncio.wait_for(read_task, 60)
        assert response == b"" if early else response.startswith(b"HTTP/1.1 431 ")
        writer.close()


async def test_chunked_body_in_many_packets_is_read_to_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with serving(monkeypatch) as port:
        reader, writer = await open_connection(port)
        for piece in (CHUNKED, b"3\r\n", b"abc\r\n", b"0", b"\r\n", b"\r\n"):
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.02)
        await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 60)
        assert await reader.readexactly(1) == b"3"
        writer.close()


async def test_line_ends_between_requests_do_not_keep_a_connection(app: Application) -> None:
    app.released.set()
    protocol, client = make_connection(app)
    protocol.data_received(GET)
    await run_loop(10)
    idle = time.monotonic() + protocol.config.timeout_keep_alive + 1
    protocol.data_received(b"\r\n")
    protocol.close_if_stalled(idle)
    assert client.closed


@pytest.mark.parametrize("offered", [b"websocket", b"h2c"])
async def test_a_post_that_offers_another_protocol_is_answered(
    app: Application, offered: bytes
) -> None:
    app.released.set()
    protocol, client = make_connection(app)
    upgrade = b"connection: upgrade\r\nupgrade: " + offered + b"\r\ncontent-length: 5\r\n\r\n"
    protocol.data_received((REQUEST_START + upgrade + b"hello") * 2)
    await run_loop(20)
    assert [response[-1:] for response in client.received if not response.startswith(b"HTTP")] == [
        b"5",
        b"5",
    ]


async def test_blanks_after_a_header_are_not_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    scopes = Scopes()
    async with serving(monkeypatch, app=scopes) as port:
        reader, writer = await open_connection(port)
        writer.write(b"GET / HTTP/1.1\r\nhost: any \r\nx-a:\t b c \t \r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        writer.close()
    assert scopes.headers == [{b"host": b"any", b"x-a": b"b c"}]


async def test_incomplete_heads_are_closed_when_connections_run_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(client_limits, "CROWDED_SECONDS", 0.2)
    async with serving(monkeypatch, connections=8, max_connections=12) as port:
        half_open = [await open_connection(port) for _ in range(12)]
        for _, writer in half_open:
            writer.write(REQUEST_START)
        async with asyncio.timeout(30):
            response = b""
            while b" 200 " not in response:
                reader, writer = await open_connection(port)
                writer.write(GET)
                response = await reader.readuntil(b"\r\n\r\n")
                writer.close()
                await asyncio.sleep(0.05)
        for _, writer in half_open:
            writer.close()


def test_blanks_around_a_header_are_stripped_by_every_transport() -> None:
    call = make_call("GET", "/", query=b"", headers=read_headers([(b"X-A", b" b c \t")]), body=b"")
    assert call.headers == {"x-a": "b c"}


async def test_header_added_while_a_body_is_read_is_not_seen() -> None:
    scopes, headers = Scopes(), [(b"host", b"any")]

    async def receive() -> Message:
        headers.append((b"x-mockllm-session", b"theirs"))
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None: ...

    scope = {"type": "http", "method": "POST", "path": CHAT, "raw_path": CHAT.encode()}
    await with_prepared_scope(scopes)({**scope, "headers": headers}, receive, send)
    assert scopes.headers == [{b"host": b"any"}]
