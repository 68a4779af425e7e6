"""A provider that writes raw bytes to a socket, for responses that no well-behaved server sends."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"


@dataclass
class RawProvider:
    """State of the provider: `heads` are the received request heads.

    `request_received` is set at the first request, `client_closed` when a client closed a held
    connection."""

    port: int = 0
    heads: list[str] = field(default_factory=list)
    connections: int = 0
    request_received: asyncio.Event = field(default_factory=asyncio.Event)
    client_closed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def headers(self, number: int = 0) -> dict[str, str]:
        lines = self.heads[number].split("\r\n")[1:]
        return {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}


@asynccontextmanager
async def raw_provider(
    *pieces: bytes, hold: bool = False, tls: ssl.SSLContext | None = None
) -> AsyncIterator[RawProvider]:
    """Run a provider that answers every request with the pieces, then closes the connection.

    With `hold`, it keeps the connection open for more requests until the client closes it."""
    provider = RawProvider()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").rstrip("\r\n")
        provider.heads.append(head)
        await reader.readexactly(int(provider.headers(-1).get("content-length", "0")))
        provider.request_received.set()
        for piece in pieces:
            writer.write(piece)
            await writer.drain()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        provider.connections += 1
        try:
            await answer(reader, writer)
            while hold:
                await answer(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            provider.client_closed.set()
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    async with server:
        provider.port = server.sockets[0].getsockname()[1]
        yield provider
