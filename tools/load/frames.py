"""Attacks over WebSockets: tiny frames without end, and messages that stay unfinished."""

import asyncio
import base64
import contextlib
import os

from websockets.frames import Frame, Opcode

from tools.load.attacks import Attack

RESPONSES, UNKNOWN_PAGE = "/v1/responses", "/ws/nothing/"
SECONDS = 60.0
UNFINISHED = 100
MEGABYTE = 1_048_576


async def _connect(port: int, path: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Return a connection after its handshake."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    key = base64.b64encode(os.urandom(16)).decode()
    writer.write(
        f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer load\r\n"
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        f"Sec-WebSocket-Key: {key}\r\n\r\n".encode()
    )
    assert b" 101 " in await reader.readuntil(b"\r\n\r\n")
    return reader, writer


def _frame(opcode: Opcode, payload: bytes = b"", *, last: bool = True) -> bytes:
    return Frame(opcode, payload, last).serialize(mask=True)


def _flood(path: str, data: bytes, *, first: bytes = b"") -> Attack:
    """Return an attack that sends frames in one write and reads until the connection is closed."""

    async def attack(port: int) -> str:
        reader, writer = await _connect(port, path)
        received = bytearray()

        async def read() -> None:
            while piece := await reader.read(65_536):
                received[:] = (received + piece)[-256:]

        reading = asyncio.create_task(read())
        # The server answers the close frame once it has read all before it, if it still reads.
        writer.write(first + data + _frame(Opcode.CLOSE, (1000).to_bytes(2)))
        with contextlib.suppress(ConnectionError, TimeoutError):
            async with asyncio.timeout(SECONDS):
                await reading
        reading.cancel()
        writer.transport.abort()
        close_at = received.rfind(b"\x88")
        code = int.from_bytes(received[close_at + 2 : close_at + 4]) if close_at >= 0 else None
        return f"closed with {code}"

    return attack


async def unfinished_messages(port: int) -> str:
    """Send all but the last byte of many large messages."""
    data = _frame(Opcode.TEXT, b"x" * (MEGABYTE - 1))[:-1]
    sockets = [await _connect(port, RESPONSES) for _ in range(UNFINISHED)]
    for _, writer in sockets:
        writer.write(data)
    await asyncio.sleep(5)
    reading = [asyncio.create_task(reader.read(1)) for reader, _ in sockets]
    # A closed connection has a close frame.
    closed, _ = await asyncio.wait(reading, timeout=0.5)
    for task, (_, writer) in zip(reading, sockets, strict=True):
        task.cancel()
        writer.transport.abort()
    await asyncio.gather(*reading, return_exceptions=True)
    return f"{len(closed)} of {UNFINISHED} closed"


_PING = _frame(Opcode.PING)
_NOTHING = _frame(Opcode.CONT, last=False)
_BEGUN = _frame(Opcode.TEXT, b"{", last=False)

FRAMES: dict[str, Attack] = {
    "800,000 pings": _flood(RESPONSES, _PING * 800_000),
    "800,000 pings to a page": _flood(UNKNOWN_PAGE, _PING * 800_000),
    "430,000 tiny messages": _flood(RESPONSES, _frame(Opcode.TEXT, b"x") * 430_000),
    "430,000 tiny messages to a page": _flood(UNKNOWN_PAGE, _frame(Opcode.TEXT, b"x") * 430_000),
    "500,000 empty fragments": _flood(RESPONSES, _NOTHING * 500_000, first=_BEGUN),
    "500,000 fragments of a byte": _flood(
        RESPONSES, _frame(Opcode.CONT, b"x", last=False) * 500_000, first=_BEGUN
    ),
    "100 unfinished messages of 1 MB": unfinished_messages,
}
