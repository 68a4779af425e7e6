"""The bundled MCP server with additional tools for tests."""

import os
import signal
import sys
from itertools import count
from typing import Literal

import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.types import (
    AudioContent,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from chat_app.tools.demo_server import demo_server, main


def tool_server() -> MCPServer[None]:
    server = demo_server()
    hang_events = {"started": anyio.Event(), "cancelled": anyio.Event()}

    @server.tool()
    async def hang() -> str:
        """Never returns; records its start and its cancellation."""
        hang_events["started"].set()
        try:
            await anyio.sleep_forever()
        except BaseException:
            hang_events["cancelled"].set()
            raise
        return "never"

    @server.tool()
    async def wait_for_hang(state: Literal["started", "cancelled"]) -> str:
        """Waits until `hang` was started or cancelled, then resets that state."""
        await hang_events[state].wait()
        hang_events[state] = anyio.Event()
        return state

    numbers = count(1)

    @server.tool()
    def next_number() -> int:
        """Returns 1, 2, 3 and so on."""
        return next(numbers)

    @server.tool()
    def explode() -> str:
        """Raises an unexpected exception."""
        raise ValueError("a detail that stays at the server")

    @server.tool()
    def variables() -> list[str]:
        """Returns the names of the environment variables."""
        return sorted(os.environ)

    @server.tool()
    def pieces() -> CallToolResult:
        """Returns one block of each content type."""
        return CallToolResult(
            content=[
                TextContent(type="text", text="first"),
                ImageContent(type="image", data="aGVsbG8=", mime_type="image/png"),
                AudioContent(type="audio", data="aGVsbG8=", mime_type="audio/wav"),
                ResourceLink(type="resource_link", name="notes", uri="file:///notes.txt"),
                EmbeddedResource(
                    type="resource",
                    resource=TextResourceContents(
                        uri="file:///a.txt", mime_type="text/plain", text="inside"
                    ),
                ),
                TextContent(type="text", text="last"),
            ]
        )

    @server.tool()
    def structured() -> CallToolResult:
        """Returns structured content without text."""
        return CallToolResult(content=[], structured_content={"city": "Zürich", "degrees": [1, 2]})

    @server.tool()
    async def grow(name: str, context: Context) -> str:
        """Adds a tool and notifies clients."""
        server.add_tool(lambda: "grown", name=name, description="A new one.")
        await context.notify_tools_changed()
        return name

    return server


def ignore_termination() -> None:
    """Ignore SIGTERM and never end, after standard input has ended."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        signal.pause()


if __name__ == "__main__":
    stubborn = "--stubborn" in sys.argv
    if stubborn:
        sys.argv.remove("--stubborn")
    main(tool_server())
    if stubborn:
        ignore_termination()
