"""Limits on the time and memory that a client uses before its request is complete."""

import asyncio
import contextlib
import gc
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import pytest

from mockllm_site.serve.connection import close_stalled_connections
from mockllm_site.serve.server import GC_THRESHOLDS
from tests.project.guarded import (
    HEAD_BYTES,
    REQUEST_START,
    open_connection,
    send_and_read_all,
    serving,
)
from tests.serving.pipelines import Harness, chat, scenario, text_step
from tests.serving.transports.protocol_server import encode_call, read_answer


async def test_endless_head_is_refused_and_not_collected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with serving(monkeypatch) as port:
        reader, writer = await open_connection(port)
        writer.write(REQUEST_START + b"x-endless: ")
        sent = 0
        with contextlib.suppress(ConnectionError):
            while sent < 64 * HEAD_BYTES and not reader.at_eof():
                writer.write(b"a" * 4096)
                await asyncio.wait_for(writer.drain(), 60)
                sent += 4096
        response = await reader.read()
        assert response.startswith(b"HTTP/1.1 431 ")
        assert b"connection: close" in response
        writer.close()


@pytest.mark.parametrize(
    "request_start", [b"", b"POST", REQUEST_START, REQUEST_START + b"x-slow: a"]
)
async def test_incomplete_head_gets_status_408_after_the_timeout(
    monkeypatch: pytest.MonkeyPatch, request_start: bytes
) -> None:
    async with serving(monkeypatch, timeout_seconds=0.2) as port:
        response = await asyncio.wait_for(send_and_read_all(port, request_start), 60)
    assert response.startswith(b"HTTP/1.1 408 ") if request_start else response == b""


async def test_slow_head_gets_status_408_after_the_timeout(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with serving(monkeypatch, timeout_seconds=0.2) as port:
        reader, writer = await open_connection(port)
        writer.write(REQUEST_START)
        read_task = asyncio.create_task(reader.read())
        with contextlib.suppress(ConnectionError):
            while not read_task.done():
                writer.write(b"x-a: b\r\n")
                await asyncio.wait({read_task}, timeout=0.02)
        assert (await read_task).startswith(b"HTTP/1.1 408 ")
        writer.close()


@pytest.mark.parametrize("length", [b"content-length: 10", b"transfer-encoding: chunked"])
async def test_incomplete_body_gets_status_408_after_the_timeout(
    monkeypatch: pytest.MonkeyPatch, length: bytes
) -> None:
    async with serving(monkeypatch, timeout_seconds=0.2) as port:
        response = await asyncio.wait_for(
            send_and_read_all(port, REQUEST_START + length + b"\r\n\r\n"), 60
        )
    assert response.startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("size", [0, 10, 65_536, 3_000_000])
async def test_whole_requests_are_answered_one_after_another(
    monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    async with serving(monkeypatch) as port:
        reader, writer = await open_connection(port)
        for _ in range(3):
            writer.write(REQUEST_START + b"content-length: %d\r\n\r\n" % size + b"x" * size)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200 ")
            assert await reader.readexactly(len(str(size))) == b"%d" % size
        writer.close()


async def test_a_connection_that_is_not_used_again_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with serving(monkeypatch, idle=0) as port:
        response = await asyncio.wait_for(
            send_and_read_all(port, REQUEST_START + b"content-length: 0\r\n\r\n"), 60
        )
    assert response.startswith(b"HTTP/1.1 200 ")


def watch_stall_checks(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Awaitable[None]]:
    """Return a function that waits until the server has checked its connections for stalls."""
    checks = 0

    def check_connections(connections: Iterable[Any]) -> None:
        nonlocal checks
        close_stalled_connections(connections)
        checks += 1

    async def wait_for_stall_check() -> None:
        # The next check may have started before this call.
        before = checks
        while checks < before + 2:
            await asyncio.sleep(0.01)

    monkeypatch.setattr("mockllm_site.serve.server.close_stalled_connections", check_connections)
    return wait_for_stall_check


async def test_no_connection_is_idle_while_a_request_comes_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wait_for_stall_check = watch_stall_checks(monkeypatch)
    async with serving(monkeypatch, idle=0) as port:
        reader, writer = await open_connection(port)
        writer.write(REQUEST_START + b"content-length: 0\r\n\r\n" + REQUEST_START)
        assert (await reader.readuntil(b"\r\n\r\n0")).startswith(b"HTTP/1.1 200 ")
        writer.write(b"content-length: 2\r\n\r\na")
        await wait_for_stall_check()
        writer.write(b"b")
        assert (await asyncio.wait_for(reader.read(), 60)).startswith(b"HTTP/1.1 200 ")
        writer.close()


async def test_connection_is_not_idle_while_a_pipelined_request_is_incomplete(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wait_for_stall_check, harness = (
        watch_stall_checks(monkeypatch),
        Harness(scenario("s", text_step("Hi!"))),
    )
    request = encode_call(chat())
    async with serving(monkeypatch, idle=0, harness=harness) as port:
        reader, writer = await open_connection(port)
        writer.write(request + request[:-1])
        assert b"Hi!" in await read_answer(reader)
        await wait_for_stall_check()
        writer.write(request[-1:])
        assert b"Hi!" in await read_answer(reader)
        writer.close()


async def test_a_body_in_chunks_is_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    chunks = b"".join(b"%x\r\n%s\r\n" % (n, b"y" * n) for n in (1, 70_000, 5))
    request = REQUEST_START + b"transfer-encoding: chunked\r\nconnection: close\r\n\r\n"
    async with serving(monkeypatch) as port:
        response = await send_and_read_all(port, request, chunks, b"0\r\n\r\n")
    assert response.endswith(b"70006")


async def test_server_freezes_old_objects_and_collects_rarely(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Objects from before the start are frozen, and full collections are rare."""
    before = gc.get_threshold()
    try:
        async with serving(monkeypatch):
            assert gc.get_threshold() == GC_THRESHOLDS
            assert gc.get_freeze_count() > 0
    finally:
        gc.set_threshold(*before)
