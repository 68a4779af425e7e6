"""Measures how long small requests wait during an attack, and how much memory the server takes."""

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

SAMPLE_SECONDS = 0.05
SETTLE_SECONDS = 1.0


def request(
    path: str, body: bytes, *, key: str = "load", length: int | None = None, more: str = ""
) -> bytes:
    """Return the bytes of a POST request. `length` replaces the body's own Content-Length; `more`
    are further header lines."""
    return (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n"
        f"Content-Type: application/json\r\n{more}"
        f"Content-Length: {len(body) if length is None else length}\r\n\r\n"
    ).encode() + body


def chat(content: str, *, stream: bool = False) -> bytes:
    """Return the body of an OpenAI chat request with one user message."""
    messages = [{"role": "user", "content": content}]
    return json.dumps({"model": "gpt-4o", "messages": messages, "stream": stream}).encode()


async def status(reader: asyncio.StreamReader) -> int:
    """Read one response to its end and return its status; 0 if the connection ends before."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        if "transfer-encoding: chunked" in head:
            while size := int(await reader.readline(), 16):
                await reader.readexactly(size + 2)
            await reader.readline()
        else:
            length = head.partition("content-length: ")[2].partition("\r\n")[0]
            await reader.readexactly(int(length or 0))
        return int(head.split()[1])
    except (asyncio.IncompleteReadError, ConnectionError):
        return 0


async def ask(port: int, data: bytes) -> int:
    """Return the status of one request on a new connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(data)
        return await status(reader)
    finally:
        writer.close()


def resident(pid: int) -> float:
    """Return the resident memory of a process in megabytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096 / 1e6


@dataclass
class AttackEffect:
    """The effect of an attack. `longest`: seconds of the longest small request; `grown` and `left`:
    megabytes that the server took at most, and after the attack."""

    longest: float = 0.0
    grown: float = 0.0
    left: float = 0.0
    seconds: float = 0.0


@asynccontextmanager
async def measuring_effect(port: int, pid: int) -> AsyncIterator[AttackEffect]:
    """Send small requests to a server and sample its memory while the context is open; yield the
    results, which are complete after it."""
    effect, before = AttackEffect(), resident(pid)

    async def sample() -> None:
        while True:
            effect.grown = max(effect.grown, resident(pid) - before)
            await asyncio.sleep(SAMPLE_SECONDS)

    # A separate process, because this one is busy with the attack.
    probe = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "tools.load.probe", str(port)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert probe.stdout is not None
    await probe.stdout.readline()
    sampling = asyncio.create_task(sample())
    began = time.monotonic()
    try:
        yield effect
        effect.seconds = time.monotonic() - began
    finally:
        sampling.cancel()
        out, _ = await probe.communicate(b"")
    effect.longest = float(out)
    await asyncio.sleep(SETTLE_SECONDS)
    effect.left = resident(pid) - before


async def every(works: list[Awaitable[int]]) -> str:
    """Run requests concurrently and return their statuses as text, such as `200 × 38, 503 × 2`."""
    results = await asyncio.gather(*works)
    return ", ".join(f"{code} × {results.count(code)}" for code in sorted(set(results)))
