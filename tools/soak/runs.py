"""Chat runs that another process cancels, or whose process is killed."""

import asyncio
import json
import time
from collections.abc import Callable

from tools.load.probing import request
from tools.soak.client import Client

STREAM, CANCEL = "/api/get_chat_response_stream", "/api/cancel_stream"
SECONDS = 60.0
CLIENT = "soak"


async def cancelled(one: int, other: int, *, count: int) -> list[float]:
    """Return the seconds from the kill of a run's process until a follower at the other port gets
    the end."""
    client = Client(other)
    took = [await _cancelled(one, client) for _ in range(count)]
    await client.closed()
    return sorted(took)


async def _cancelled(port: int, client: Client) -> float:
    reader, writer, trace = await _begun(port)
    async with asyncio.timeout(SECONDS):
        began = time.monotonic()
        response = await client.control("POST", CANCEL, {"client_id": CLIENT, "trace_id": trace})
        took = time.monotonic() - began
        assert response == {"status": "cancelled", "trace_id": trace}, response
        await reader.readuntil(b'"cancelled":true')
    writer.close()
    return took


async def interrupted(one: int, other: int, kill: Callable[[], object]) -> float:
    """Seconds from the death of a run's process until who follows it at the other port is told."""
    _, writer, trace = await _begun(one)
    reader, following = await asyncio.open_connection("127.0.0.1", other)
    path = f"/api/stream/{trace}?client_id={CLIENT}"
    following.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
    async with asyncio.timeout(SECONDS):
        await reader.readuntil(b'"type":"chunk"')
        kill()
        began = time.monotonic()
        line = await reader.readuntil(b'"type":"error"') + await reader.readuntil(b"\n")
    assert b'"SERVICE_UNAVAILABLE"' in line and b"interrupted" in line, line[-500:]
    for stream in (writer, following):
        stream.close()
    return time.monotonic() - began


async def _begun(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, str]:
    """A run that has said something, and its trace."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request(STREAM, json.dumps({"client_id": CLIENT, "message": "slowly"}).encode()))
    async with asyncio.timeout(SECONDS):
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        await reader.readuntil(b'"type":"chunk"')
    return reader, writer, head.partition("x-trace-id: ")[2].partition("\r\n")[0]
