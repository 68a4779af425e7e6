"""What a client may make the server wait for, and hold, before there is a request."""

import asyncio
import contextlib
import gc
import inspect
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import pytest
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from mockllm_site.serve.protocol import GuardedProtocol, close_stalled_connections
from mockllm_site.serve.server import GARBAGE
from tests.project.guarded import HEAD_BYTES, OPENING, connected, serving, told
from tests.serving.pipelines import Playing, chat, says, scenario
from tests.serving.transports.direct_door import answer_of, raw


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
        close_stalled_connections(connections)
        looks += 1

    async def looked() -> None:
        # The running check may have begun too early.
        before = looks
        while looks < before + 2:
            await asyncio.sleep(0.01)

    monkeypatch.setattr("mockllm_site.serve.server.close_stalled_connections", look)
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


async def test_connection_is_not_idle_while_a_pipelined_request_is_incomplete(
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


async def test_a_server_looks_for_garbage_where_there_may_be_some(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What was there when it started is looked through no more, and all together seldom."""
    before = gc.get_threshold()
    try:
        async with serving(monkeypatch):
            assert gc.get_threshold() == GARBAGE
            assert gc.get_freeze_count() > 0
    finally:
        gc.set_threshold(*before)


def test_uvicorn_still_has_what_the_protocol_overrides_and_calls() -> None:
    """Private names, which a new version may rename: ours would then be called by nobody."""
    overridden = {"_should_upgrade", "_unsupported_upgrade_warning"}
    assert overridden <= vars(GuardedProtocol).keys()
    assert overridden <= vars(HttpToolsProtocol).keys()
    parsing = inspect.getsource(HttpToolsProtocol)
    for name in overridden:
        assert f"self.{name}(" in parsing, name
