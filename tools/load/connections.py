"""Attacks with connections that keep a server waiting: endless heads, partial bodies, too many."""

import asyncio
import random
import socket
import time
from contextlib import suppress

from tools.load.attacks import CHAT
from tools.load.probing import ask, chat, every, request, status

STALLED_BODIES = 1_000
CLIENTS = 3_000
# Far more than a server should accept.
HEAD_BYTES = 100_000_000
CLOSE_SECONDS = 45
CONNECT_SECONDS, HALF_OPEN_SECONDS = 1.0, 15.0
SLOW_READERS, SLOW_SECONDS = 300, 20
PAUSING_CLIENTS, PAUSES = 200, 12
# Around the time after which many clients drop idle connections.
PAUSE_SECONDS = (4.9, 5.1)
# Between idle connections: a crowded server closes those that are idle for three seconds.
IDLE_SECONDS = 0.006
SMALL = request(CHAT, chat("a small question"))


async def endless_head(port: int) -> str:
    """Send a header line until the server responds, at most HEAD_BYTES."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"POST {CHAT} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Long: ".encode())
    answer, sent = asyncio.create_task(reader.read(64)), 0
    with suppress(ConnectionError):
        while sent < HEAD_BYTES and not answer.done():
            writer.write(b"x" * 65_536)
            await writer.drain()
            sent += 65_536
            await asyncio.sleep(0)
    status = (await answer).split()[1:2]
    writer.close()
    return f"{(status or [b'no answer'])[0].decode()} after {sent / 1e6:.1f} MB"


async def stalled_bodies(port: int) -> str:
    """Send the beginnings of many bodies, and wait until the server closes the connections."""
    loop, sockets = asyncio.get_running_loop(), []
    data = request(CHAT, b'{"messages": [', length=60_000)
    for _ in range(STALLED_BODIES):
        one = socket.socket()
        one.setblocking(False)
        await loop.sock_connect(one, ("127.0.0.1", port))
        await loop.sock_sendall(one, data)
        sockets.append(one)
    began = time.monotonic()

    async def wait_until_closed(one: socket.socket) -> float:
        with suppress(ConnectionError):
            while await loop.sock_recv(one, 4096):
                pass
        return time.monotonic() - began

    async with asyncio.timeout(CLOSE_SECONDS):
        ends = await asyncio.gather(*map(wait_until_closed, sockets))
    for sock in sockets:
        sock.close()
    return f"{STALLED_BODIES} closed, the last after {max(ends):.0f} s"


async def half_open_heads(port: int) -> str:
    """Open three times as many connections as the server can hold; send half a head or nothing."""
    loop, sockets, late = asyncio.get_running_loop(), [], 0
    for number in range(CLIENTS):
        one = socket.socket()
        one.setblocking(False)
        sockets.append(one)
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await loop.sock_connect(one, ("127.0.0.1", port))
                if number % 2:
                    await loop.sock_sendall(one, b"POST /v1/models HTTP/1.1\r\nHost: a\r\nX-Half: ")
        except (TimeoutError, ConnectionError):
            late += 1
    await asyncio.sleep(HALF_OPEN_SECONDS)
    for sock in sockets:
        sock.close()
    return f"{CLIENTS} connected, {late} of them late"


async def slow_readers(port: int) -> str:
    """Read one byte a second of a long stream with many clients."""
    loop, sockets = asyncio.get_running_loop(), []
    data = request(CHAT, chat("a long answer", stream=True))
    for _ in range(SLOW_READERS):
        one = socket.socket()
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.setblocking(False)
        await loop.sock_connect(one, ("127.0.0.1", port))
        await loop.sock_sendall(one, data)
        sockets.append(one)
    for _ in range(SLOW_SECONDS):
        await asyncio.sleep(1)
        for sock in sockets:
            with suppress(ConnectionError):
                await loop.sock_recv(sock, 1)
    for sock in sockets:
        sock.close()
    return f"{SLOW_READERS} read {SLOW_SECONDS} bytes each"


async def too_many(port: int) -> str:
    """Open more connections than a process with 1,024 descriptors can hold."""
    data = request(CHAT, chat("a small question"), more="Connection: close\r\n")
    return await every([ask(port, data) for _ in range(CLIENTS)])


async def pausing_clients(port: int) -> str:
    """Use connections again and again, after pauses."""
    results = await asyncio.gather(*(_ask_with_pauses(port) for _ in range(PAUSING_CLIENTS)))
    codes = [code for client in results for code in client]
    return f"{codes.count(200)} × 200, {len(codes) - codes.count(200)} failed"


async def _ask_with_pauses(port: int) -> list[int]:
    """Return the statuses of requests on one connection; 0 for each that got no answer."""
    await asyncio.sleep(random.uniform(0, PAUSE_SECONDS[0]))
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    codes = []
    for _ in range(PAUSES + 1):
        writer.write(SMALL)
        codes.append(await status(reader))
        await asyncio.sleep(random.uniform(*PAUSE_SECONDS))
    writer.close()
    return codes


async def idle_connections(port: int) -> str:
    """Send one request on each of many connections, one after the other, and leave them open."""
    codes, writers = [], []
    for _ in range(CLIENTS):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writers.append(writer)
        writer.write(SMALL)
        codes.append(await status(reader))
        await asyncio.sleep(IDLE_SECONDS)
    for writer in writers:
        writer.close()
    return ", ".join(f"{code} × {codes.count(code)}" for code in sorted(set(codes)))
