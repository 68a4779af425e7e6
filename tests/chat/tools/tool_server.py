"""The bundled MCP server with more tools, of the kinds that only a test has a use for."""

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
    seen = {"started": anyio.Event(), "cancelled": anyio.Event()}

    @server.tool()
    async def hang() -> str:
        """Is never through, and notices when it is cancelled."""
        seen["started"].set()
        try:
            await anyio.sleep_forever()
        except BaseException:
            seen["cancelled"].set()
            raise
        return "never"

    @server.tool()
    async def until(what: Literal["started", "cancelled"]) -> str:
        """Waits until `hang` was, and forgets it."""
        await seen[what].wait()
        seen[what] = anyio.Event()
        return what

    numbers = count(1)

    @server.tool()
    def next_number() -> int:
        """Gives another one each time."""
        return next(numbers)

    @server.tool()
    def explode() -> str:
        """Fails as a tool does that was not written well."""
        raise ValueError("a detail that stays at the server")

    @server.tool()
    def variables() -> list[str]:
        """The names of its environment's variables."""
        return sorted(os.environ)

    @server.tool()
    def pieces() -> CallToolResult:
        """One of each kind of content."""
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
        """No text at all."""
        return CallToolResult(content=[], structured_content={"city": "Zürich", "degrees": [1, 2]})

    @server.tool()
    async def grow(name: str, context: Context) -> str:
        """Has one more tool from now on, and says so."""
        server.add_tool(lambda: "grown", name=name, description="A new one.")
        await context.notify_tools_changed()
        return name

    return server


def stay() -> None:
    """Ignore what should end the server: its standard input has ended by now."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        signal.pause()


if __name__ == "__main__":
    stubborn = "--stubborn" in sys.argv
    if stubborn:
        sys.argv.remove("--stubborn")
    main(tool_server())
    if stubborn:
        stay()
