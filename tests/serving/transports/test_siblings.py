"""Journal entries count other open connections that requested the same path in the same session."""

import asyncio
from typing import Any

import pytest

from tests.serving.pipelines import Harness, chat, scenario, text_step
from tests.serving.transports.protocol_server import (
    LoopServer,
    encode_call,
    read_answer,
    run_direct_server,
)
from tests.serving.websocket.connections import socket_server

SCRIPT = scenario("s", text_step("Hi!", consume=False))
OTHER = {"authorization": "Bearer sk-another"}


async def ask(server: LoopServer, **fields: Any) -> asyncio.StreamWriter:
    """Send a request on a new connection and return the connection once the answer is there."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    await ask_again(reader, writer, **fields)
    return writer


async def ask_again(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, **fields: Any
) -> None:
    writer.write(encode_call(chat(**fields)))
    assert (await read_answer(reader)).startswith(b"HTTP/1.1 200")


def siblings(harness: Harness) -> list[int]:
    return [entry.siblings for entry in harness.journal]


async def test_open_connections_of_a_session_are_siblings() -> None:
    async with run_direct_server(SCRIPT) as (server, harness):
        # The first is parsed, the second has a known head, and the third is a stream.
        writers = [await ask(server), await ask(server), await ask(server, stream=True)]
        assert siblings(harness) == [0, 1, 2]
        for writer in writers:
            writer.close()


async def test_connection_that_is_used_again_has_no_siblings() -> None:
    async with run_direct_server(SCRIPT) as (server, harness):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        for _ in range(3):
            await ask_again(reader, writer)
        assert siblings(harness) == [0, 0, 0]
        writer.close()


async def test_connection_that_was_closed_before_is_no_sibling() -> None:
    async with run_direct_server(SCRIPT) as (server, harness):
        for _ in range(20):
            (await ask(server)).close()
        assert siblings(harness) == [0] * 20


async def test_connection_counts_for_the_session_of_its_latest_request() -> None:
    async with run_direct_server(SCRIPT) as (server, harness):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        await ask_again(reader, writer)
        writers = [writer, await ask(server, headers=OTHER)]
        await ask_again(reader, writer, headers=OTHER)
        writers.append(await ask(server))
        assert siblings(harness) == [0, 0, 1, 0]
        for open_writer in writers:
            open_writer.close()


UPGRADE = (
    b"GET /v1/responses HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer k\r\nConnection: Upgrade\r\n"
    b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)


async def test_connection_that_became_a_websocket_is_no_sibling(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with socket_server(monkeypatch, SCRIPT) as (port, harness):
        server = LoopServer(port, set(), [])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        await ask_again(reader, writer)
        writer.write(UPGRADE)
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 101")
        other_writer = await ask(server)
        assert siblings(harness) == [0, 0]
        for open_writer in (writer, other_writer):
            open_writer.close()
