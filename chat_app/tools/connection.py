"""What is asked of an MCP server, in the SDK's words.

This module takes a second to import and wants the extra `chat`: it is loaded when the first server
is opened.
"""

import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio

# Not used here: the SDK would import it on the event loop, at the first result.
import jsonschema.validators  # noqa: F401
from mcp import Client, MCPError
from mcp.client import IncomingMessage
from mcp.client.subscriptions import SubscriptionLost
from mcp.types import CONNECTION_CLOSED, Implementation, ToolListChangedNotification
from mcp.types.version import MODERN_PROTOCOL_VERSIONS

from chat_app.request import Tool
from chat_app.tools.base import Outcome
from chat_app.tools.results import failed, outcome_of
from chat_app.tools.servers import Server
from chat_app.tools.session import SessionEnded, SessionForgotten
from chat_app.tools.transports import Ended, streams
from mockllm_site import __version__

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
