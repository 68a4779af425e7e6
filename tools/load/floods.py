"""Attacks that send too much: endless trailers, requests whose responses are not read, and
thousands of requests in one write."""

import asyncio
import contextlib
import socket

from tools.load.attacks import CHAT, Attack
from tools.load.probing import chat, request, status

TRAILER = b"X-T: " + b"t" * 8 + b"\r\n"
TRAILER_BYTES = 150_000_000
TRAILER_SECONDS = 30.0
UNREAD_CONNECTIONS = 10
UNREAD_SECONDS = 10.0
UNREAD_BYTES = 20_000_000
BURST_REQUESTS = 3_000
LIST_MODELS = b"GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer load\r\n\r\n"


def _make_trailer_attack(*, key: str = "") -> Attack:
    """Return an attack with a chunked body whose trailers are endless, even after a response."""
    body = chat("a small question")
    head = (
        f"POST {CHAT} HTTP/1.1\r\nHost: 127.0.0.1\r\n{key}"
        f"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    ).encode()

    async def attack(port: int) -> str:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(head + b"%x\r\n%b\r\n0\r\n" % (len(body), body))
        # The application reads the head first.
        await asyncio.sleep(0.1)
        sent, data = 0, TRAILER * (65_536 // len(TRAILER))
        with contextlib.suppress(ConnectionError, TimeoutError):
            async with asyncio.timeout(TRAILER_SECONDS):
                while sent < TRAILER_BYTES:
                    writer.write(data)
                    await writer.drain()
                    sent += len(data)
                    await asyncio.sleep(0)
        response = b""
        with contextlib.suppress(ConnectionError, TimeoutError):
            async with asyncio.timeout(1):
                response = await reader.read(64)
        writer.transport.abort()
        return f"{(response.split()[1:2] or [b'no answer'])[0].decode()} after {sent / 1e6:.1f} MB"

    return attack


async def unread_responses(port: int) -> str:
    """Send requests on ten connections without reading a response."""
    sent = await asyncio.gather(*(_send_unread(port) for _ in range(UNREAD_CONNECTIONS)))
    return f"took {sum(sent) / 1e6:.1f} MB of requests"


async def _send_unread(port: int) -> int:
    """Send until the server takes no more; return the number of bytes that it took."""
    loop, data, sent = asyncio.get_running_loop(), LIST_MODELS * 700, 0
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.setblocking(False)
        await loop.sock_connect(one, ("127.0.0.1", port))
        with contextlib.suppress(TimeoutError, ConnectionError):
            async with asyncio.timeout(UNREAD_SECONDS):
                while sent < UNREAD_BYTES:
                    await loop.sock_sendall(one, data)
                    sent += len(data)
        # Accepted requests are handled until the client leaves.
        await asyncio.sleep(UNREAD_SECONDS)
    return sent


def _make_burst(request_data: bytes) -> Attack:
    async def burst(port: int) -> str:
        """Send thousands of requests in one write, and read the responses."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request_data * BURST_REQUESTS)
        statuses = [await status(reader) for _ in range(BURST_REQUESTS)]
        writer.close()
        return ", ".join(f"{code} × {statuses.count(code)}" for code in sorted(set(statuses)))

    return burst


# Ordered, so that the journal of a server in test mode fills first and then stops growing.
FLOODS: dict[str, Attack] = {
    "3,000 GETs in one write": _make_burst(LIST_MODELS),
    "3,000 POSTs in one write": _make_burst(request(CHAT, chat("a small question"))),
    "trailers without an end": _make_trailer_attack(key="Authorization: Bearer load\r\n"),
    "trailers without a key": _make_trailer_attack(),
    "answers that nobody reads": unread_responses,
}
