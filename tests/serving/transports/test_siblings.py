"""The journal says how many other open connections asked the same path in the same session."""

import asyncio
from collections import Counter
from typing import Any

import pytest

from scenarios_app.serving.transports.uvicorn_protocol import UvicornProtocol
from tests.serving.pipelines import Playing, chat, says, scenario
from tests.serving.transports.direct_door import Running, answer_of, direct, raw
from tests.serving.websocket.connections import socket_server

SCRIPT = scenario("s", says("Hi!", consume=False))
OTHER = {"authorization": "Bearer sk-another"}


@pytest.fixture(autouse=True)
def no_other_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests with connections of their own making do not always end them."""
    monkeypatch.setattr(UvicornProtocol, "_siblings", Counter())


async def ask(running: Running, **fields: Any) -> asyncio.StreamWriter:
    """Send a request on a new connection and return the connection once the answer is there."""
    reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
    await ask_again(reader, writer, **fields)
    return writer


async def ask_again(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, **fields: Any
) -> None:
    writer.write(raw(chat(**fields)))
    assert (await answer_of(reader)).startswith(b"HTTP/1.1 200")


def siblings(playing: Playing) -> list[int]:
    return [entry.siblings for entry in playing.journal]


async def test_open_connections_of_a_session_are_siblings_on_each_way() -> None:
    async with direct(SCRIPT) as (running, playing):
        # The first is parsed, the second has a known head, and the third is a stream.
        writers = [await ask(running), await ask(running), await ask(running, stream=True)]
        assert siblings(playing) == [0, 1, 2]
        for writer in writers:
            writer.close()


async def test_connection_that_is_used_again_has_no_siblings() -> None:
    async with direct(SCRIPT) as (running, playing):
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
        for _ in range(3):
            await ask_again(reader, writer)
        assert siblings(playing) == [0, 0, 0]
        writer.close()


async def test_connection_that_was_closed_before_is_no_sibling() -> None:
    async with direct(SCRIPT) as (running, playing):
        for _ in range(20):
            (await ask(running)).close()
        assert siblings(playing) == [0] * 20


async def test_connection_counts_for_the_session_of_its_latest_request() -> None:
    async with direct(SCRIPT) as (running, playing):
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
        await ask_again(reader, writer)
        writers = [writer, await ask(running, headers=OTHER)]
        await ask_again(reader, writer, headers=OTHER)
        writers.append(await ask(running))
        assert siblings(playing) == [0, 0, 1, 0]
        for one in writers:
            one.close()


UPGRADE = (
    b"GET /v1/responses HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer k\r\nConnection: Upgrade\r\n"
    b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)


async def test_connection_that_became_a_websocket_is_no_sibling(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with socket_server(monkeypatch, SCRIPT) as (port, playing):
        running = Running(port, set(), [])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        await ask_again(reader, writer)
        writer.write(UPGRADE)
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 101")
        other = await ask(running)
        assert siblings(playing) == [0, 0]
        for one in (writer, other):
            one.close()
