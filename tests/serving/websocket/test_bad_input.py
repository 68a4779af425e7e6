"""Clients that break WebSocket rules get an error or a close code, without harm to others."""

import asyncio
import base64
import gc
import json
import os
import resource
import time
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.frames import Frame, Opcode

from scenarios_app.serving.fast import websocket_protocol
from scenarios_app.serving.fast.websocket_protocol import WebSocketProtocol
from scenarios_app.serving.transports import websocket
from scenarios_app.wire.openai.responses.socket import ResponsesSocket
from tests.serving.pipelines import KEY, Harness, scenario, text_step
from tests.serving.websocket.connections import (
    PATH,
    SocketClient,
    connected,
    socket_server,
    text_of,
)

LONG = text_step("word " * 40_000, match={"model": "long"})
ENDLESS = text_step("one two", match={"model": "endless"})
ENDLESS["produce"]["pacing"] = {"chunk_ms": 90_000, "words_per_chunk": 1}
DOCUMENT = scenario("s", LONG, ENDLESS, text_step("Hi there.", match={"model": "gpt-4o"}))
# Classes of which each connection has one object.
CONNECTION_CLASSES = (WebSocketProtocol, websocket.SocketSession, ResponsesSocket)


async def open_raw(
    port: int, *lines: str
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, bytes]:
    """Return a connection after its handshake, and the head of the response."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    key = base64.b64encode(os.urandom(16)).decode()
    head = (
        f"GET {PATH} HTTP/1.1",
        *("host: any", f"authorization: Bearer {KEY}", "connection: Upgrade", "upgrade: websocket"),
        *("sec-websocket-version: 13", f"sec-websocket-key: {key}", *lines, "", ""),
    )
    writer.write("\r\n".join(head).encode())
    return reader, writer, await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 20)


def frame(opcode: Opcode, data: bytes) -> bytes:
    return Frame(opcode, data).serialize(mask=True)


def create(**fields: Any) -> bytes:
    return json.dumps({"type": "response.create", "model": "gpt-4o", **fields}).encode()


@pytest.mark.parametrize(
    ("text", "status"),
    [("no json", 400), ("[]", 400), ('{"type":"session.update"}', 400), ("[" * 50_000, 400)],
)
async def test_bad_message_is_an_error_event_and_the_connection_goes_on(
    monkeypatch: pytest.MonkeyPatch, text: str, status: int
) -> None:
    async with socket_server(monkeypatch, DOCUMENT) as (port, harness), connected(port) as client:
        await client.connection.send(text)
        error = await client.event()
        assert (error["type"], error["status"]) == ("error", status)
        assert error["error"]["message"]
        assert text_of(await client.ask()) == "Hi there."
    assert [entry.status for entry in harness.journal] == [status, 200]


@pytest.mark.parametrize(
    ("message", "status", "code"),
    [(b"binary", 400, 1003), ("x" * (websocket.MAX_MESSAGE_BYTES + 1), 413, 1009)],
)
async def test_binary_or_large_message_is_an_error_and_closes_the_connection(
    monkeypatch: pytest.MonkeyPatch, message: Any, status: int, code: int
) -> None:
    async with (
        socket_server(monkeypatch, DOCUMENT) as (port, harness),
        connected(port) as neighbour,
        connected(port) as client,
    ):
        await client.connection.send(message)
        error = await client.event()
        assert (error["type"], error["status"]) == ("error", status)
        assert await client.close_code() == code
        assert text_of(await neighbour.ask()) == "Hi there."
    assert harness.journal[0].status == status


async def test_largest_message_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    async with socket_server(monkeypatch, DOCUMENT) as (port, _), connected(port) as client:
        room = websocket.MAX_MESSAGE_BYTES - len(create(input=""))
        await client.connection.send(create(input="x" * room).decode())
        assert text_of((await client.answer())[-1]) == "Hi there."


async def test_message_in_many_frames_is_one_request(monkeypatch: pytest.MonkeyPatch) -> None:
    async with socket_server(monkeypatch, DOCUMENT) as (port, _), connected(port) as client:
        await client.connection.send([create().decode()[i : i + 7] for i in range(0, 44, 7)])
        assert text_of((await client.answer())[-1]) == "Hi there."
        assert text_of(await client.ask()) == "Hi there."


async def test_frames_in_one_packet_and_bytes_one_by_one_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with socket_server(monkeypatch, DOCUMENT) as (port, harness):
        reader, writer, _ = await open_raw(port)
        data = frame(Opcode.TEXT, create())
        writer.write(data * 20)
        for byte in data:
            writer.write(bytes((byte,)))
            await writer.drain()
        while len(harness.journal) < 21:
            await asyncio.wait_for(reader.read(1 << 16), 20)
        writer.close()
    assert {entry.status for entry in harness.journal} == {200}


async def test_large_message_is_read_if_its_first_packet_looks_like_a_whole_frame(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = frame(Opcode.TEXT, create(input="x" * 70_000))
    assert data[1] & 0x7F == 127
    async with socket_server(monkeypatch, DOCUMENT) as (port, harness):
        reader, writer, _ = await open_raw(port)
        writer.write(data[: 6 + 127])
        await asyncio.sleep(0.1)
        writer.write(data[6 + 127 :])
        await asyncio.wait_for(reader.readuntil(b"response.completed"), 20)
        writer.close()
    assert [entry.status for entry in harness.journal] == [200]


async def test_message_beyond_the_limit_of_bodies_is_refused_after_shorter_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = socket_server(monkeypatch, DOCUMENT, max_body_bytes=200)
    async with server as (port, _), connected(port) as client:
        assert [text_of(await client.ask()) for _ in range(3)] == ["Hi there."] * 3
        assert (await client.ask("x" * 200))["status"] == 413


async def test_unfinished_large_messages_are_closed_beyond_a_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(websocket_protocol, "MAX_ALL_HELD_BYTES", 1_000_000)
    async with socket_server(monkeypatch, DOCUMENT) as (port, _), connected(port) as neighbour:
        raw_connections = [await open_raw(port) for _ in range(4)]
        for _, writer, _ in raw_connections:
            writer.write(frame(Opcode.TEXT, b"x" * 400_000)[:-1])
        endings = [asyncio.create_task(reader.read(4)) for reader, _, _ in raw_connections]
        await asyncio.wait(endings, return_when=asyncio.FIRST_COMPLETED, timeout=20)
        close_frames = [task.result() for task in endings if task.done()]
        assert {int.from_bytes(close_frame[2:4]) for close_frame in close_frames} == {1013}
        assert text_of(await neighbour.ask()) == "Hi there."
        for _, writer, _ in raw_connections:
            writer.close()
        await asyncio.gather(*endings, return_exceptions=True)
    assert WebSocketProtocol._all_held == 0


async def test_ten_thousand_lanes_are_refused_beyond_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with socket_server(monkeypatch, DOCUMENT) as (port, _), connected(port) as client:
        for number in range(10_000):
            await client.send(model="gpt-4o", stream_id=f"lane-{number}")
        ends = [(await client.answer())[-1] for _ in range(10_000)]
        error_codes = [end["error"]["code"] for end in ends if end["type"] == "error"]
        assert error_codes == ["websocket_stream_limit_reached"] * (10_000 - 32)
        assert text_of(await client.ask()) == "Hi there."


@pytest.mark.parametrize("data", [b"\xff\xff", b"\x81\x05hello", b"\xc1\x80\x00\x00\x00\x00"])
async def test_broken_or_compressed_frame_closes_the_connection(
    monkeypatch: pytest.MonkeyPatch, data: bytes
) -> None:
    async with socket_server(monkeypatch, DOCUMENT) as (port, _):
        reader, writer, head = await open_raw(
            port, "sec-websocket-extensions: permessage-deflate; client_max_window_bits"
        )
        assert b"extensions" not in head.lower()
        writer.write(data)
        close_frame = await asyncio.wait_for(reader.read(), 20)
        writer.close()
    assert close_frame[:1] == b"\x88" and int.from_bytes(close_frame[2:4]) == 1002


async def test_client_that_never_reads_is_closed_after_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with socket_server(monkeypatch, DOCUMENT) as (port, harness), connected(port) as other:
        _, writer, _ = await open_raw(port)
        # Answers of several MB each; what the sockets do not take is not rendered.
        writer.write(frame(Opcode.TEXT, create(model="long")) * 400)
        stuck: list[WebSocketProtocol] = []
        while not stuck:
            assert text_of(await other.ask()) == "Hi there."
            sockets = [
                protocol for protocol in gc.get_objects() if isinstance(protocol, WebSocketProtocol)
            ]
            stuck = [protocol for protocol in sockets if not protocol.is_writable]
        assert stuck[0].transport.get_write_buffer_size() < 4_000_000
        now = time.monotonic()
        for moment in (now, now + websocket_protocol.SILENT_SECONDS + 1):
            stuck[0].close_if_stalled(moment)
        assert stuck[0].transport.is_closing()
        assert text_of(await other.ask()) == "Hi there."
        writer.transport.abort()
    assert len([entry for entry in harness.journal if entry.model == "long"]) < 20


async def test_client_that_leaves_ends_all_its_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    async with socket_server(monkeypatch, DOCUMENT) as (port, harness):
        before = len(asyncio.all_tasks())
        async with connected(port) as client:
            for lane in ("a", "b"):
                await client.send(model="endless", input="Hello", stream_id=lane)
                await client.send(model="gpt-4o", input="waits", stream_id=lane)
            for _ in range(4):
                await client.event()
            client.connection.transport.abort()
        while len(harness.journal) < 2 or len(asyncio.all_tasks()) > before:
            await asyncio.sleep(0.001)
    assert [entry.outcome for entry in harness.journal] == ["client_gone"] * 2


async def test_silent_client_gets_a_ping_and_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websocket_protocol, "PING_SECONDS", 0.2)
    monkeypatch.setattr(websocket_protocol, "SILENT_SECONDS", 3.0)
    async with socket_server(monkeypatch, DOCUMENT) as (port, _), connected(port) as answering:
        reader, writer, _ = await open_raw(port)
        received = await asyncio.wait_for(reader.read(), 20)
        assert received.startswith(b"\x89\x00")
        # A client that answers pings stays.
        assert text_of(await answering.ask()) == "Hi there."
        writer.close()


async def open_and_drop(port: int, harness: Harness, *, count: int) -> None:
    """Open and drop connections, each with a request on its way."""
    for number in range(count):
        _, writer, _ = await open_raw(port)
        writer.write(frame(Opcode.TEXT, create(store=False)))
        if number % 2:
            writer.transport.abort()
        else:
            writer.close()
        harness.journal.clear()
    while gc.collect() or any(isinstance(item, CONNECTION_CLASSES) for item in gc.get_objects()):
        await asyncio.sleep(0.01)
        harness.journal.clear()


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


async def test_closed_connections_leave_no_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    async with socket_server(monkeypatch, DOCUMENT) as (port, harness):
        await open_and_drop(port, harness, count=200)


@pytest.mark.long
@pytest.mark.timeout(600)
async def test_memory_stays_flat_over_20000_connections(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with socket_server(monkeypatch, DOCUMENT) as (port, harness):
        await open_and_drop(port, harness, count=2_000)
        before = resident_bytes()
        await open_and_drop(port, harness, count=20_000)
        grown = resident_bytes() - before
    print(f"20,000 connections: {grown / 1e6:+.1f} MB")
    assert grown < 8_000_000


async def test_connection_beyond_the_maximum_gets_an_http_response(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with (
        socket_server(monkeypatch, DOCUMENT, connections=1) as (port, _),
        connected(port) as client,
    ):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(
            f"GET {PATH} HTTP/1.1\r\nhost: any\r\nconnection: Upgrade, close\r\n"
            "upgrade: websocket\r\n\r\n".encode()
        )
        assert b" 503 " in await asyncio.wait_for(reader.readline(), 20)
        writer.close()
        assert text_of(await client.ask()) == "Hi there."


async def test_old_connection_is_closed_with_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    async with socket_server(monkeypatch, DOCUMENT) as (port, _), connected(port) as client:
        await client.ask()
        (session,) = (
            item for item in gc.get_objects() if isinstance(item, websocket.SocketSession)
        )
        session._opened_at -= 3_600
        error = await client.event()
        assert error["error"]["code"] == "websocket_connection_limit_reached"
        assert await client.close_code() == 1000


async def test_compression_is_declined_for_a_client_that_offers_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    headers = {"authorization": f"Bearer {KEY}"}
    async with (
        socket_server(monkeypatch, DOCUMENT) as (port, _),
        connect(f"ws://127.0.0.1:{port}{PATH}", additional_headers=headers) as connection,
    ):
        assert connection.protocol.extensions == []
        assert text_of(await SocketClient(connection).ask()) == "Hi there."
