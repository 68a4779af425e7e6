"""Limits on the number of connections: the server's cap and the file descriptors."""

import asyncio
import resource
import socket
from collections.abc import Callable
from typing import Any

import pytest

from mockllm_site.serve import limits as descriptors
from mockllm_site.serve.limits import RESERVED_DESCRIPTORS, Acceptor, cap_connections
from tests.project.guarded import REQUEST_START, open_connection, send_and_read_all, serving


async def open_kept_connections(port: int, count: int) -> list[asyncio.StreamWriter]:
    """Open connections, send a request on each, and keep them open."""
    writers = []
    for _ in range(count):
        reader, writer = await open_connection(port)
        writer.write(REQUEST_START + b"content-length: 0\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        writers.append(writer)
    return writers


@pytest.mark.parametrize("max_connections", [None, 6])
async def test_connections_beyond_the_cap_get_status_503(
    monkeypatch: pytest.MonkeyPatch, max_connections: int | None
) -> None:
    request = REQUEST_START + b"content-length: 0\r\nconnection: close\r\n\r\n"
    async with serving(monkeypatch, connections=4, max_connections=max_connections) as port:
        writers = await open_kept_connections(port, 4)
        responses = [await send_and_read_all(port, request) for _ in range(4)]
        assert all(response.startswith(b"HTTP/1.1 503 ") for response in responses)
        for writer in writers:
            writer.close()
            await writer.wait_closed()
        # The server notices the closed connections a moment later.
        async with asyncio.timeout(60):
            while not (await send_and_read_all(port, request)).startswith(b"HTTP/1.1 200 "):
                pass


async def test_connections_beyond_the_file_limit_wait_without_reset(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    request = REQUEST_START + b"content-length: 0\r\nconnection: close\r\n\r\n"
    async with serving(monkeypatch, connections=4, max_connections=6) as port:
        responses = await asyncio.gather(*(send_and_read_all(port, request) for _ in range(60)))
    statuses = {response[9:12] for response in responses}
    assert statuses <= {b"200", b"503"} and b"200" in statuses


async def test_acceptor_without_file_descriptors_tries_again() -> None:
    """The kernel reports error 24 when no file descriptor is left."""

    class FakeListener:
        attempts = 0

        def setblocking(self, _: bool) -> None: ...

        def fileno(self) -> int:
            return server_socket.fileno()

        def accept(self) -> tuple[socket.socket, Any]:
            self.attempts += 1
            if self.attempts == 1:
                raise OSError(24, "Too many open files")
            return server_socket.accept()

    connected = asyncio.Event()

    class SignalProtocol(asyncio.Protocol):
        def connection_made(self, transport: Any) -> None:
            connected.set()
            transport.close()

    with socket.create_server(("127.0.0.1", 0)) as server_socket:
        server_socket.setblocking(False)
        listener: Any = FakeListener()
        acceptor = Acceptor(listener, SignalProtocol, open=(), max_open=5)
        acceptor.start()
        _, writer = await open_connection(server_socket.getsockname()[1])
        await asyncio.wait_for(connected.wait(), 60)
        acceptor.stop()
        writer.close()
    assert listener.attempts >= 2


def fake_file_limits(
    monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, *, is_allowed: Callable[[int, int], bool]
) -> list[tuple[int, int]]:
    """Fake the process's limits on file descriptors; return a list of the limits it sets."""
    file_limits = [(soft, hard)]

    def setrlimit(_: int, new_limits: tuple[int, int]) -> None:
        if not is_allowed(*new_limits):
            raise ValueError("not allowed to raise maximum limit")
        file_limits.append(new_limits)

    monkeypatch.setattr(descriptors.resource, "getrlimit", lambda _: file_limits[-1])
    monkeypatch.setattr(descriptors.resource, "setrlimit", setrlimit)
    return file_limits


def test_file_limit_is_raised_as_far_as_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file_limits = fake_file_limits(
        monkeypatch, 1024, 1_000_000, is_allowed=lambda soft, hard: hard <= 1_000_000
    )
    assert cap_connections(5_000) == 5_000
    assert file_limits[-1] == (5_000 + RESERVED_DESCRIPTORS, 1_000_000)
    assert cap_connections(100) == 100
    assert len(file_limits) == 2


def test_fixed_file_limit_lowers_the_connections_with_a_log_line(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fake_file_limits(monkeypatch, 1024, 1024, is_allowed=lambda soft, hard: hard <= 1024)
    assert cap_connections(5_000) == 1024 - RESERVED_DESCRIPTORS
    (line,) = caplog.messages
    assert "accepts 768 connections instead of 5000" in line


def test_file_limit_without_a_hard_limit_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    file_limits = fake_file_limits(
        monkeypatch, 256, resource.RLIM_INFINITY, is_allowed=lambda soft, hard: True
    )
    assert cap_connections(5_000) == 5_000
    assert file_limits[-1] == (5_000 + RESERVED_DESCRIPTORS, resource.RLIM_INFINITY)
