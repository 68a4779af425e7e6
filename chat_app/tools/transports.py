"""The ways to an MCP server, a process's pipes and streamable HTTP, with their ends made known."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Final, TextIO, TypeAlias, cast

import anyio
import httpx2
from mcp import StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from chat_app.tools.servers import Address, Command, Server

CONNECT_SECONDS: Final = 10.0
# In bytes: the longest result twice (as text and as structured content), with its escapes.
LONGEST_EVENT: Final = 64 * 1024 * 1024
SESSION_HEADER: Final = "mcp-session-id"

Ended: TypeAlias = Callable[[str], None]


@asynccontextmanager
async def streams(
    server: Server, *, ended: Ended, forgotten: Callable[[], None]
) -> AsyncIterator[tuple[Any, Any]]:
    """The streams of messages from and to a server. `ended` is told why, as soon as no more can
    come; `forgotten` is called when a server knows this client's session no more."""
    match server:
        case Command():
            async with stdio_client(_process(server), errlog=_errors()) as (received, sent):
                yield Watched(received, ended), sent
        case Address():
            async with (
                # It reads certificates for a tenth of a second.
                await asyncio.to_thread(_http, forgotten) as client,
                streamable_http_client(
                    server.url, http_client=client, max_sse_event_size=LONGEST_EVENT
                ) as (received, sent),
            ):
                yield Watched(received, ended), sent


def _process(server: Command) -> StdioServerParameters:
    # Of this process's variables the SDK passes on PATH, HOME and the like, and no other.
    program, *arguments = server.arguments
    return StdioServerParameters(command=program, args=arguments, env=dict(server.environment))


def _errors() -> TextIO:
    """The standard error of this process: what a server says there is for the operator. Not
    `sys.stderr`, which may be no file; None is the same to a process."""
    return cast(TextIO, sys.__stderr__)


def _http(forgotten: Callable[[], None]) -> httpx2.AsyncClient:
    """A client that speaks to the named address alone: through no proxy and without credentials
    from files (and the SDK follows no redirect to anywhere else)."""

    async def notice_lost_session(response: httpx2.Response) -> None:
        if response.status_code == 404 and SESSION_HEADER in response.request.headers:
            forgotten()

    return httpx2.AsyncClient(
        # How long a call may take is the caller's matter.
        timeout=httpx2.Timeout(CONNECT_SECONDS, read=None),
        trust_env=False,
        event_hooks={"response": [notice_lost_session]},
    )


class Watched:
    """A stream of received messages whose end is told when it comes, and not by the next call."""

    def __init__(self, received: Any, ended: Ended) -> None:
        self._received = received
        self._ended = ended

    async def receive(self) -> Any:
        return await self._received.receive()

    async def aclose(self) -> None:
        await self._received.aclose()

    def __aiter__(self) -> "Watched":
        return self

    async def __anext__(self) -> Any:
        try:
            return await anext(self._received)
        except (StopAsyncIteration, anyio.ClosedResourceError):
            self._ended("the server ended the connection")
            raise

    async def __aenter__(self) -> "Watched":
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()
