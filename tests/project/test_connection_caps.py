"""How many connections a server takes: by its cap, its descriptors, and the limits on them."""

import asyncio
import resource
import socket
from collections.abc import Callable
from typing import Any

import pytest

from mockllm_site.serve import limits as descriptors
from mockllm_site.serve.limits import RESERVE, Acceptor, connection_cap
from tests.project.guarded import OPENING, connected, serving, told


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
        # The server notices the closed connections a moment later.
        async with asyncio.timeout(60):
            while not (await told(port, request)).startswith(b"HTTP/1.1 200 "):
                pass


async def test_connections_beyond_the_file_limit_wait_without_reset(
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


def test_fixed_file_limit_lowers_the_connections_with_a_log_line(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    limits_of(monkeypatch, 1024, 1024, may=lambda soft, hard: hard <= 1024)
    assert connection_cap(5_000) == 1024 - RESERVE
    (line,) = caplog.messages
    assert "accepts 768 connections instead of 5000" in line


def test_without_a_hard_limit_it_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    now = limits_of(monkeypatch, 256, resource.RLIM_INFINITY, may=lambda soft, hard: True)
    assert connection_cap(5_000) == 5_000
    assert now[-1] == (5_000 + RESERVE, resource.RLIM_INFINITY)
