"""How long it takes until a run of the chat has ended that another process is told to end."""

import asyncio
import json
import time

from tests.load.probing import request
from tests.soak.client import Client

STREAM, CANCEL = "/api/get_chat_response_stream", "/api/cancel_stream"
SECONDS = 30.0


async def cancelled(one: int, other: int, *, count: int) -> list[float]:
    """Seconds from asking at one port to the answer, of runs that the other one's process has;
    each run says to who follows it that it was cancelled."""
    client = Client(other)
    took = [await _cancelled(one, client) for _ in range(count)]
    await client.closed()
    return sorted(took)


async def _cancelled(port: int, client: Client) -> float:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = json.dumps({"client_id": "soak", "message": "slowly"}).encode()
    writer.write(request(STREAM, body))
    async with asyncio.timeout(SECONDS):
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        trace = head.partition("x-trace-id: ")[2].partition("\r\n")[0]
        await reader.readuntil(b'"type":"chunk"')
        began = time.monotonic()
        told = await client.control("POST", CANCEL, {"client_id": "soak", "trace_id": trace})
        took = time.monotonic() - began
        assert told == {"status": "cancelled", "trace_id": trace}, told
        await reader.readuntil(b'"cancelled":true')
    writer.close()
    return took
