"""Connections to MCP servers through the SDK. This module takes a second to import and needs the
extra `chat`, so it is imported when the first server is opened."""

import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
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

from chat_app.tools import ToolOutcome, failed_outcome, to_outcome
from chat_app.tools.servers import CommandServer, Server
from chat_app.tools.session import SessionEnded, SessionForgotten
from chat_app.values.model_call import Tool
from mockllm_site import __version__

log = logging.getLogger(__name__)

CONNECT_SECONDS: Final = 10.0
# A list of tools has at most this many pages.
MAX_PAGES: Final = 100
# The longest result twice (as text and as structured content), with its escapes.
MAX_EVENT_BYTES: Final = 64 * 1024 * 1024
SESSION_HEADER: Final = "mcp-session-id"
FORGOTTEN: Final = "the server has forgotten the session"

OnEnded: TypeAlias = Callable[[str], None]


@asynccontextmanager
async def open_streams(
    server: Server, *, ended: OnEnded, forgotten: Callable[[], None]
) -> AsyncIterator[tuple[Any, Any]]:
    """Open the streams of messages from and to a server.

    `ended` is called with the reason as soon as no more messages can come; `forgotten` if the
    server does not know this client's session any more.
    """
    async with AsyncExitStack() as stack:
        if isinstance(server, CommandServer):
            # The SDK passes on PATH, HOME and a few more variables of this process.
            program, *arguments = server.arguments
            parameters = StdioServerParameters(
                command=program, args=arguments, env=dict(server.environment)
            )
            # Not `sys.stderr`, which may be no file.
            streams = stdio_client(parameters, errlog=cast(TextIO, sys.__stderr__))
        else:
            # In a thread, because it reads certificates for a tenth of a second.
            client = await asyncio.to_thread(_http_client, forgotten)
            await stack.enter_async_context(client)
            streams = streamable_http_client(
                server.url, http_client=client, max_sse_event_size=MAX_EVENT_BYTES
            )
        incoming, outgoing = await stack.enter_async_context(streams)
        yield EndNotifyingStream(incoming, ended), outgoing


def _http_client(forgotten: Callable[[], None]) -> httpx2.AsyncClient:
    """Return a client without the environment's proxies; a session's 404 calls `forgotten`."""

    async def notice_lost_session(response: httpx2.Response) -> None:
        if response.status_code == 404 and SESSION_HEADER in response.request.headers:
            forgotten()

    return httpx2.AsyncClient(
        # Callers limit the time of calls.
        timeout=httpx2.Timeout(CONNECT_SECONDS, read=None),
        trust_env=False,
        event_hooks={"response": [notice_lost_session]},
    )


class EndNotifyingStream:
    """A stream of received messages; while they are iterated over, their end calls `ended`."""

    def __init__(self, incoming: Any, ended: OnEnded) -> None:
        self._incoming = incoming
        self._ended = ended

    async def receive(self) -> Any:
        return await self._incoming.receive()

    async def aclose(self) -> None:
        await self._incoming.aclose()

    def __aiter__(self) -> "EndNotifyingStream":
        return self

    async def __anext__(self) -> Any:
        try:
            return await anext(self._incoming)
        except (StopAsyncIteration, anyio.ClosedResourceError):
            self._ended("the server ended the connection")
            raise

    async def __aenter__(self) -> "EndNotifyingStream":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class McpConnection:
    """An open connection, used in the task that opened it or in a child of that task."""

    def __init__(self, client: Client, *, changed: Callable[[], None]) -> None:
        self.forgotten = False
        self._client = client
        self._changed = changed

    async def tools(self) -> tuple[Tool, ...]:
        """Return all tools in the server's order; raises SessionEnded beyond MAX_PAGES."""
        if self._client.server_capabilities.tools is None:
            return ()
        tools: list[Tool] = []
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            page = await self._client.list_tools(cursor=cursor)
            tools += (Tool(t.name, t.description or "", t.input_schema) for t in page.tools)
            cursor = page.next_cursor
            if cursor is None:
                return tuple(tools)
        raise SessionEnded(f"its list of tools has more than {MAX_PAGES} pages")

    async def watch(self) -> None:
        """Call `changed` when the list of tools changes; return once that is no longer reported."""
        capability = self._client.server_capabilities.tools
        asked_for = self._client.protocol_version in MODERN_PROTOCOL_VERSIONS
        if capability is None or not capability.list_changed or not asked_for:
            # The list never changes, or changes are reported without a subscription.
            await anyio.sleep_forever()
        try:
            async with self._client.listen(tools_list_changed=True) as changes:
                async for _ in changes:
                    self._changed()
        except (MCPError, SubscriptionLost) as error:
            log.debug("changes of the tools are no longer reported: %s", error)

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolOutcome:
        """Call a tool; an error that the server answers is a failed outcome. Raises SessionEnded,
        or SessionForgotten after a 404 for the session."""
        try:
            result = await self._client.call_tool(name, dict(arguments))
        except MCPError as error:
            if self.forgotten:
                raise SessionForgotten(FORGOTTEN) from error
            if error.code == CONNECTION_CLOSED:
                raise SessionEnded(error.message) from error
            return failed_outcome(error.message)
        return to_outcome(result)


@asynccontextmanager
async def open_connection(
    server: Server, *, ended: OnEnded, changed: Callable[[], None]
) -> AsyncIterator[McpConnection]:
    """Open a server and close it at the end. `ended` is called with the reason once no more calls
    are possible; `changed` when the list of tools has changed."""

    async def handle_message(message: IncomingMessage) -> None:
        """Report a change of the server's list of tools."""
        if isinstance(message, ToolListChangedNotification):
            changed()

    def end_forgotten() -> None:
        """End the connection; failing calls then raise SessionForgotten."""
        connection.forgotten = True
        ended(FORGOTTEN)

    client = Client(
        open_streams(server, ended=ended, forgotten=end_forgotten),
        message_handler=handle_message,
        client_info=Implementation(name="mockllm", version=__version__),
        # A session caches the list itself.
        cache=None,
    )
    connection = McpConnection(client, changed=changed)
    async with client:
        yield connection
