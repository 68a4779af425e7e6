"""Clients that send thousands of tiny frames get a limited part of each turn of the event loop."""

import asyncio
import base64
from itertools import pairwise
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState
from websockets.frames import Frame, Opcode

from mockllm_site.serve.page_socket import PageSocket
from scenarios_app.serving.fast import websocket_protocol
from scenarios_app.serving.fast.websocket_protocol import (
    MESSAGES_PER_TURN,
    WebSocketProtocol,
)
from scenarios_app.serving.transports.asgi_scope import Receive, Scope, Send
from scenarios_app.serving.transports.websocket_asgi import SocketApp
from scenarios_app.serving.transports.websocket_frames import (
    BYTES_PER_TURN,
    FRAMES_PER_TURN,
    MAX_EMPTY_FRAMES,
    ReceivedBytes,
)
from tests.serving.pipelines import KEY, Harness, scenario, text_step
from tests.serving.transports.guarded import Client, open_connection
from tests.serving.websocket.test_asgi import scope

DOCUMENT = scenario("s", text_step("Hi there."))
HANDSHAKE = (
    f"GET /v1/responses HTTP/1.1\r\nhost: any\r\nauthorization: Bearer {KEY}\r\n"
    "connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n"
    f"sec-websocket-key: {base64.b64encode(bytes(16)).decode()}\r\n\r\n"
).encode()
POLICY_VIOLATION, TRY_AGAIN_LATER = 1008, 1013


def frame(opcode: Opcode, payload: bytes = b"", *, last: bool = True) -> bytes:
    return Frame(opcode, payload, last).serialize(mask=True)


PING, TEXT = frame(Opcode.PING), frame(Opcode.TEXT, b"x")


class Clock:
    """A clock that moves only when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


async def open_socket(harness: Harness) -> tuple[Any, Client]:
    """Return an open WebSocket of the Responses API and its client."""
    http, client = open_connection(harness)
    http.data_received(HANDSHAKE)
    while not client.received:
        await asyncio.sleep(0)
    assert client.received.pop().startswith(b"HTTP/1.1 101 ")
    return client.protocol, client


def close_code(client: Client) -> int:
    close_frame = client.received[-1]
    assert close_frame[:1] == b"\x88"
    return int.from_bytes(close_frame[2:4])


def count_pieces(received: ReceivedBytes) -> int:
    return len(list(received.pieces()))


def test_a_turn_has_a_limited_number_of_frames() -> None:
    received = ReceivedBytes()
    received.add(TEXT * 1_000)
    assert list(received.pieces()) == [TEXT] * FRAMES_PER_TURN
    assert len(received) == len(TEXT) * (1_000 - FRAMES_PER_TURN)


@pytest.mark.parametrize("size", [100, 1_000, 70_000])
def test_a_turn_has_a_limited_number_of_bytes_in_the_order_of_arrival(size: int) -> None:
    received, parsed = ReceivedBytes(), b""
    data = frame(Opcode.TEXT, bytes(range(100)) * (size // 100)) * 200
    for at in range(0, len(data), 50_001):
        received.add(data[at : at + 50_001])
        while received:
            pieces = list(received.pieces())
            assert 0 < len(b"".join(pieces)) <= BYTES_PER_TURN
            parsed += b"".join(pieces)
    assert parsed == data and received.is_between_frames


def test_incomplete_head_is_parsed_at_once_and_not_held() -> None:
    received, data = ReceivedBytes(), frame(Opcode.TEXT, b"x" * 70_000) + PING
    for byte in data[:14]:
        received.add(bytes((byte,)))
        assert list(received.pieces()) == [bytes((byte,))] and not received.is_between_frames
    received.add(data[14:])
    while received:
        assert count_pieces(received) >= 1
    assert received.is_between_frames


@pytest.mark.parametrize(
    "data",
    [PING, frame(Opcode.PONG), frame(Opcode.TEXT), frame(Opcode.CONT, last=False)],
    ids=["ping", "pong", "empty message", "empty fragment"],
)
def test_client_with_hundreds_of_empty_frames_in_a_second_floods(data: bytes) -> None:
    clock = Clock()
    received = ReceivedBytes(clock)
    for _ in range(5):
        received.add(data * MAX_EMPTY_FRAMES)
        while received:
            count_pieces(received)
        assert not received.is_flooded
        clock.now += 1.0
    received.add(data * (MAX_EMPTY_FRAMES + 1))
    while received:
        count_pieces(received)
    assert received.is_flooded


async def test_ping_flood_closes_the_connection_with_a_reason() -> None:
    socket, client = await open_socket(Harness(DOCUMENT))
    socket.data_received(PING * 10_000)
    assert client.paused and not client.closed
    while not client.received[-1].startswith(b"\x88"):
        await asyncio.sleep(0)
    assert close_code(client) == POLICY_VIOLATION
    assert b"300 pings" in client.received[-1]
    assert not client.paused
    # Further bytes are dropped, without an error in the log.
    written = len(client.received)
    socket.data_received(PING * 10_000)
    assert len(client.received) == written
    socket.connection_lost(None)


async def test_newest_of_many_pings_is_answered() -> None:
    socket, client = await open_socket(Harness(DOCUMENT))
    socket.data_received(b"".join(frame(Opcode.PING, b"%d" % n) for n in range(50)))
    assert client.received == [b"\x8a\x0249"]
    socket.connection_lost(None)


async def test_messages_of_one_packet_are_answered_in_several_turns() -> None:
    harness = Harness(DOCUMENT)
    socket, client = await open_socket(harness)
    socket.data_received(TEXT * 20)
    assert (len(harness.journal), client.paused) == (MESSAGES_PER_TURN, True)
    while client.paused:
        await asyncio.sleep(0)
    assert len(harness.journal) == 20
    socket.connection_lost(None)


async def test_message_in_thousands_of_fragments_takes_no_more_memory_than_its_bytes() -> None:
    harness = Harness(DOCUMENT)
    socket, _ = await open_socket(harness)
    socket.data_received(
        frame(Opcode.TEXT, b"[", last=False) + frame(Opcode.CONT, b" ", last=False) * 5_000
    )
    while socket._received:
        await asyncio.sleep(0)
    assert 5_000 < WebSocketProtocol._all_held < 10_000
    socket.data_received(frame(Opcode.CONT, b"]"))
    assert [entry.status for entry in harness.journal] == [400]
    socket.connection_lost(None)
    assert WebSocketProtocol._all_held == 0


async def test_first_connection_beyond_the_limit_of_unfinished_messages_is_closed_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(websocket_protocol, "MAX_ALL_HELD_BYTES", 50_000)
    sockets = [await open_socket(Harness(DOCUMENT)) for _ in range(4)]
    data = frame(Opcode.TEXT, b"x" * 20_000)
    for socket, _ in sockets:
        socket.data_received(data[:15_000])
    assert [client.closed for _, client in sockets] == [False, False, False, True]
    assert close_code(sockets[3][1]) == TRY_AGAIN_LATER
    for socket, _ in sockets:
        socket.connection_lost(None)
    assert WebSocketProtocol._all_held == 0


async def test_packets_after_an_invalid_frame_are_dropped() -> None:
    socket, client = await open_socket(Harness(DOCUMENT))
    for _ in range(3):
        socket.data_received(b"\xff\xff")
    assert (close_code(client), len(client.received), client.ended) == (1002, 1, 1)
    socket.connection_lost(None)


async def test_asgi_socket_lets_other_tasks_run_between_messages() -> None:
    harness = Harness(DOCUMENT)
    incoming: asyncio.Queue[Any] = asyncio.Queue()
    incoming.put_nowait({"type": "websocket.connect"})
    for _ in range(50):
        incoming.put_nowait({"type": "websocket.receive", "text": "{}"})

    async def send(message: Any) -> None:
        """Take a message without a wait."""

    app = asyncio.create_task(SocketApp(harness.running)(scope(), incoming.get, send))
    left = [50]
    while left[-1]:
        await asyncio.sleep(0)
        left.append(incoming.qsize())
    assert max(before - after for before, after in pairwise(left[1:])) == 1
    incoming.put_nowait({"type": "websocket.disconnect"})
    await app


class Page:
    """A page's WebSocket whose application counts messages, each after `step` is set."""

    def __init__(self) -> None:
        self.messages = 0
        self.step = asyncio.Event()
        config = uvicorn.Config(self._app, interface="asgi3", log_config=None, lifespan="off")
        self.client = Client()
        self.socket = PageSocket(config, ServerState(), {})
        self.socket.connection_made(self.client)
        self.socket.data_received(HANDSHAKE)

    async def _app(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        while (await receive())["type"] == "websocket.receive":
            self.messages += 1
            await self.step.wait()

    async def open(self) -> None:
        while not self.client.received:
            await asyncio.sleep(0)
        self.client.received.clear()


async def test_ping_flood_closes_the_socket_of_a_page() -> None:
    page = Page()
    await page.open()
    page.socket.data_received(b"".join(frame(Opcode.PING, b"%d" % n) for n in range(10_000)))
    assert page.client.received == [b"\x8a\x0263"] and page.client.paused
    while not page.client.closed:
        await asyncio.sleep(0)
    assert close_code(page.client) == POLICY_VIOLATION
    page.socket.connection_lost(None)


async def test_next_message_to_a_page_is_parsed_when_the_last_one_is_read() -> None:
    page = Page()
    await page.open()
    page.socket.data_received(TEXT * 100)
    for _ in range(50):
        await asyncio.sleep(0)
    assert page.messages == 1 and page.socket.queue.qsize() <= 1
    page.step.set()
    while page.messages < 100:
        await asyncio.sleep(0)
    assert not page.socket._received and not page.client.paused
    page.socket.connection_lost(None)
