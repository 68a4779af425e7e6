"""What is asked of an MCP server, in the SDK's words.

This module takes a second to import and wants the extra `chat`: it is loaded when the first server
is opened.
"""

import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Final, TextIO, TypeAlias, cast

import anyio
import httpx2
import jsonschema.validators  # noqa: F401
from mcp import Client, MCPError, StdioServerParameters
from mcp.client import IncomingMessage
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import SubscriptionLost
from mcp.types import CONNECTION_CLOSED, Implementation, ToolListChangedNotification
from mcp.types.version import MODERN_PROTOCOL_VERSIONS

from chat_app.tools import Outcome, failed, outcome_of
from chat_app.tools.servers import Address, Command, Server
from chat_app.tools.session import SessionEnded, SessionForgotten
from chat_app.values.model_call import Tool
from mockllm_site import __version__

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


log = logging.getLogger(__name__)

MOST_PAGES: Final = 100
FORGOTTEN: Final = "the server has forgotten the session"


class McpConnection:
    """An open connection, used inside the task that opened it or a child of that task."""

    def __init__(self, client: Client, *, changed: Callable[[], None]) -> None:
        self.forgotten = False
        self._client = client
        self._changed = changed

    async def tools(self) -> tuple[Tool, ...]:
        """All tools, in the server's order."""
        if self._client.server_capabilities.tools is None:
            return ()
        found: list[Tool] = []
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            page = await self._client.list_tools(cursor=cursor)
            found += (Tool(t.name, t.description or "", t.input_schema) for t in page.tools)
            cursor = page.next_cursor
            if cursor is None:
                return tuple(found)
        raise SessionEnded(f"its list of tools has more than {MOST_PAGES} pages")

    async def watch(self) -> None:
        """Tell of changes of the list. Returns only if it may change without being told."""
        capability = self._client.server_capabilities.tools
        asked_for = self._client.protocol_version in MODERN_PROTOCOL_VERSIONS
        if capability is None or not capability.list_changed or not asked_for:
            # It does not change, or it is told of unasked.
            await anyio.sleep_forever()
        try:
            async with self._client.listen(tools_list_changed=True) as changes:
                async for _ in changes:
                    self._changed()
        except (MCPError, SubscriptionLost) as error:
            log.debug("no more changes will be told: %s", error)

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Outcome:
        try:
            result = await self._client.call_tool(name, dict(arguments))
        except MCPError as error:
            if self.forgotten:
                raise SessionForgotten(FORGOTTEN) from error
            if error.code == CONNECTION_CLOSED:
                raise SessionEnded(error.message) from error
            return failed(error.message)
        return outcome_of(result)


@asynccontextmanager
async def connected(
    server: Server, *, ended: Ended, changed: Callable[[], None]
) -> AsyncIterator[McpConnection]:
    """Open a server and close it at the end. `ended` is told why, once no call can be made any
    more; `changed` is called when the list of tools is another."""

    async def handle(message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            changed()

    def forgotten() -> None:
        connection.forgotten = True
        ended(FORGOTTEN)

    client = Client(
        streams(server, ended=ended, forgotten=forgotten),
        message_handler=handle,
        client_info=Implementation(name="mockllm", version=__version__),
        # A session keeps the list itself.
        cache=None,
    )
    connection = McpConnection(client, changed=changed)
    async with client:
        yield connection
