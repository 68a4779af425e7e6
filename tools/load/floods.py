"""Clients that send more than they should: trailers without an end, requests whose answers they do
not read, and thousands of requests in one write."""

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
BURST = 3_000
MODELS = b"GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer load\r\n\r\n"


def _trailers(*, key: str = "") -> Attack:
    """A body in chunks whose trailer section goes on and on, also after an answer."""
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
        sent, many = 0, TRAILER * (65_536 // len(TRAILER))
        with contextlib.suppress(ConnectionError, TimeoutError):
            async with asyncio.timeout(TRAILER_SECONDS):
                while sent < TRAILER_BYTES:
                    writer.write(many)
                    await writer.drain()
                    sent += len(many)
                    await asyncio.sleep(0)
        response = b""
        with contextlib.suppress(ConnectionError, TimeoutError):
            async with asyncio.timeout(1):
                response = await reader.read(64)
        writer.transport.abort()
        return f"{(response.split()[1:2] or [b'no answer'])[0].decode()} after {sent / 1e6:.1f} MB"

    return attack


async def unread_answers(port: int) -> str:
    """Requests one after another on ten connections that read no answer."""
    sent = await asyncio.gather(*(_unread(port) for _ in range(UNREAD_CONNECTIONS)))
    return f"took {sum(sent) / 1e6:.1f} MB of requests"


async def _unread(port: int) -> int:
    """Send until nothing more is taken; the bytes that were."""
    loop, many, sent = asyncio.get_running_loop(), MODELS * 700, 0
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.setblocking(False)
        await loop.sock_connect(one, ("127.0.0.1", port))
        with contextlib.suppress(TimeoutError, ConnectionError):
            async with asyncio.timeout(UNREAD_SECONDS):
                while sent < UNREAD_BYTES:
                    await loop.sock_sendall(one, many)
                    sent += len(many)
        # Accepted requests are handled until the client leaves.
        await asyncio.sleep(UNREAD_SECONDS)
    return sent


def _burst(data: bytes) -> Attack:
    async def burst(port: int) -> str:
        """Thousands of requests in one write, whose answers are read."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(data * BURST)
        statuses = [await status(reader) for _ in range(BURST)]
        writer.close()
        return ", ".join(f"{code} × {statuses.count(code)}" for code in sorted(set(statuses)))

    return burst


# Ordered, so that the journal of a server in test mode fills first and then stops growing.
FLOODS: dict[str, Attack] = {
    "3,000 GETs in one write": _burst(MODELS),
    "3,000 POSTs in one write": _burst(request(CHAT, chat("a small question"))),
    "trailers without an end": _trailers(key="Authorization: Bearer load\r\n"),
    "trailers without a key": _trailers(),
    "answers that nobody reads": unread_answers,
}
