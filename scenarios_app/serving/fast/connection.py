"""The interface of an HTTP connection that answers are sent on directly."""

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any, NamedTuple, Protocol


class ParsedHead(NamedTuple):
    """A request's head as the HTTP parser gives it. `expects`: the client waits for a 100, or
    offers another protocol."""

    method: bytes
    url: bytes
    version: str
    headers: Sequence[tuple[bytes, bytes]]
    keep_alive: bool
    expects: bool


class Server(Protocol):
    """The server of a connection: its open connections, and the headers of all its responses."""

    connections: set[Any]
    default_headers: list[tuple[bytes, bytes]]


class DirectConnection(Protocol):
    """An HTTP connection after its request was read."""

    @property
    def transport(self) -> asyncio.Transport: ...

    @property
    def server_state(self) -> Server: ...

    @property
    def is_writable(self) -> bool:
        """Return whether the client reads fast enough for more to be sent."""

    async def wait_until_writable(self) -> None:
        """Wait until the client has read enough for more to be sent."""

    def server_headers(self, *, is_last: bool) -> Iterable[tuple[bytes, bytes]]:
        """Return the server's own headers of a response; without `is_last` they say how long the
        connection stays open."""

    def end_answer(self) -> None:
        """Go on with the next request after a complete response."""

    def start_task(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run a coroutine in a task that the server waits for when it ends."""

    def hand_over(self) -> bytes:
        """Leave the transport to another protocol; return the bytes after the request."""
