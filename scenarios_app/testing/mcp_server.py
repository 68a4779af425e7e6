"""An MCP server of recorded tools: what it offers, how it answers a call, and two ways to reach it.
Wants the extra `chat`."""

import socket
from typing import Any, Final, TypeAlias

import anyio
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp.types import (
    CONNECTION_CLOSED,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    TextContent,
    Tool,
)

from mockllm_site import __version__
from scenarios_app.engine import canonical
from scenarios_app.recording.tools import NotRecorded, RecordedTools

# What clients put before the text of a failure; a recorded result has it, as models read it.
_MARK: Final = "Error: "
_CLOSED: Final = "the connection ended here when this was recorded"

ToolServer: TypeAlias = Server[Any]


def of(tools: RecordedTools, *, pace: bool = False) -> ToolServer:
    """The server of these tools; with `pace` each call takes as long as it took."""

    async def listed(context: Any, params: Any) -> ListToolsResult:
        return ListToolsResult(tools=[_offered(tool) for tool in tools.offered])

    async def called(context: Any, params: CallToolRequestParams) -> CallToolResult:
        try:
            result = tools.result(params.name, params.arguments or {})
        except NotRecorded as error:
            return _said(str(error), is_error=True)
        if result.fault == "timeout":
            # Until the client has had enough.
            await anyio.sleep_forever()
        if pace:
            await anyio.sleep(result.ms / 1000)
        if result.fault == "disconnect":
            raise MCPError(CONNECTION_CLOSED, _CLOSED)
        text = result.text.removeprefix(_MARK) if result.is_error else result.text
        return _said(text, is_error=result.is_error)

    return Server("mockllm", version=__version__, on_list_tools=listed, on_call_tool=called)


def serve_pipes(server: ToolServer) -> None:
    """Answer on standard input and output until the input ends."""

    async def run() -> None:
        async with stdio_server() as (received, sent):
            await server.run(received, sent, server.create_initialization_options())

    anyio.run(run)


def serve_http(server: ToolServer, port: int) -> None:
    """Answer on 127.0.0.1 until a signal ends it; raises OSError where the port cannot be had. The
    ready line names the port: 0 picks one."""
    # Bound and listening before the line says so.
    with socket.create_server(("127.0.0.1", port)) as bound:
        print(f"mockllm mcp ready on http://127.0.0.1:{bound.getsockname()[1]}/mcp", flush=True)
        config = uvicorn.Config(
            server.streamable_http_app(), log_level="error", timeout_graceful_shutdown=1
        )
        uvicorn.Server(config).run(sockets=[bound])


def _offered(tool: canonical.Tool) -> Tool:
    schema = tool.schema if isinstance(tool.schema, dict) else {"type": "object"}
    return Tool(name=tool.name, description=tool.description or None, input_schema=schema)


def _said(text: str, *, is_error: bool) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=is_error)
