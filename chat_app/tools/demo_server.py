"""The bundled MCP server `demo`: a tool for each outcome of a call, and the tools of the demo's
scenarios. It runs on its standard streams, or with `--http` on a local port."""

import argparse
import os
import socket
import sys
from typing import Annotated

import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

DIGITS = "0123456789"
MAX_LONG_CHARS = 4_000_000

Seconds = Annotated[float, Field(ge=0, le=3600, description="how long to take")]
Length = Annotated[int, Field(ge=0, le=MAX_LONG_CHARS, description="in characters")]


def demo_server() -> MCPServer[None]:
    """Return the server with its tools, which keep no state."""
    server: MCPServer[None] = MCPServer("demo", log_level="ERROR")

    @server.tool()
    def add(a: int, b: int) -> int:
        """Adds two whole numbers."""
        return a + b

    @server.tool()
    def echo(text: str) -> str:
        """Gives back the text."""
        return text

    @server.tool()
    async def slow(seconds: Seconds = 1.0) -> str:
        """Takes its time."""
        await anyio.sleep(seconds)
        return f"That took {seconds:g} s."

    @server.tool()
    def fail(message: str = "It does not work.") -> str:
        """Fails with the message."""
        raise ToolError(message)

    @server.tool()
    def long(length: Length = 100_000) -> str:
        """Gives back a long text: the digits, again and again."""
        return (DIGITS * (length // len(DIGITS) + 1))[:length]

    @server.tool()
    def crash() -> str:
        """Ends the server in the middle of the call."""
        os._exit(1)

    # Called by the demo's scenarios.

    @server.tool()
    def get_weather(city: str, unit: str = "celsius") -> str:
        """Tells the weather, which is the same everywhere."""
        return f"{city}: 18 degrees {unit}, sunny"

    @server.tool()
    def find_hotels(city: str, nights: int = 1, near: dict[str, bool] | None = None) -> str:
        """Finds hotels, which are always three."""
        places = " and the ".join(place for place, wanted in (near or {}).items() if wanted)
        return f"{city}: 3 hotels{places and f' near the {places}'} with rooms for {nights} nights"

    return server


def serve_http(server: MCPServer[None], port: int) -> None:
    """Serve on 127.0.0.1 until a signal; the ready line names the port, 0 picks a free one."""
    import uvicorn

    # Listen before the ready line is printed.
    with socket.create_server(("127.0.0.1", port)) as bound:
        print(f"{server.name} ready on http://127.0.0.1:{bound.getsockname()[1]}/mcp", flush=True)
        config = uvicorn.Config(
            server.streamable_http_app(), log_level="error", timeout_graceful_shutdown=1
        )
        uvicorn.Server(config).run(sockets=[bound])


def serve_pipes(server: MCPServer[None]) -> None:
    """Serve on standard input and output until the client closes them."""
    try:
        server.run("stdio")
    except* BrokenPipeError:
        # Or Python would try to flush the rest again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main(server: MCPServer[None]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--http", action="store_true", help="speak HTTP, not through the pipes")
    parser.add_argument("--port", type=int, default=0, help="with --http; 0 picks a free one")
    options = parser.parse_args()
    if options.http:
        serve_http(server, options.port)
    else:
        serve_pipes(server)


if __name__ == "__main__":
    main(demo_server())
