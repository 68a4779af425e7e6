"""Measures chat runs that another process cancels, or whose process is killed."""

import asyncio
import json
import time
from collections.abc import Callable

from tools.load.probing import request
from tools.soak.client import Client

STREAM_PATH, CANCEL_PATH = "/api/get_chat_response_stream", "/api/cancel_stream"
TIMEOUT_SECONDS = 60.0
CLIENT_ID = "soak"


async def measure_cancels(one: int, other: int, *, count: int) -> list[float]:
    """Return the sorted seconds of `count` calls that cancel a run of `one` at the port `other`."""
    client = Client(other)
    took = [await _cancel_run(one, client) for _ in range(count)]
    await client.closed()
    return sorted(took)


async def _cancel_run(port: int, client: Client) -> float:
    """Start a run, cancel it with another client, and return the seconds of that call."""
    reader, writer, trace = await _start_run(port)
    async with asyncio.timeout(TIMEOUT_SECONDS):
        began = time.monotonic()
        response = await client.control(
            "POST", CANCEL_PATH, {"client_id": CLIENT_ID, "trace_id": trace}
        )
        took = time.monotonic() - began
        assert response == {"status": "cancelled", "trace_id": trace}, response
        await reader.readuntil(b'"cancelled":true')
    writer.close()
    return took


async def measure_interrupt(one: int, other: int, kill: Callable[[], object]) -> float:
    """Return the seconds from the kill of a run's process until a follower at the port `other` gets
    an error event."""
    _, writer, trace = await _start_run(one)
    reader, following = await asyncio.open_connection("127.0.0.1", other)
    path = f"/api/stream/{trace}?client_id={CLIENT_ID}"
    following.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
    async with asyncio.timeout(TIMEOUT_SECONDS):
        await reader.readuntil(b'"type":"chunk"')
        kill()
        began = time.monotonic()
        line = await reader.readuntil(b'"type":"error"') + await reader.readuntil(b"\n")
    assert b'"SERVICE_UNAVAILABLE"' in line and b"interrupted" in line, line[-500:]
    for stream in (writer, following):
        stream.close()
    return time.monotonic() - began


async def _start_run(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, str]:
    """Start a run and read its first chunk; return its connection and trace id."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(
        request(STREAM_PATH, json.dumps({"client_id": CLIENT_ID, "message": "slowly"}).encode())
    )
    async with asyncio.timeout(TIMEOUT_SECONDS):
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        await reader.readuntil(b'"type":"chunk"')
    return reader, writer, head.partition("x-trace-id: ")[2].partition("\r\n")[0]
