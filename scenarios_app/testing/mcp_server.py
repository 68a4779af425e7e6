"""An MCP server of recorded tools, over pipes or HTTP. Requires the extra `chat`."""

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

# Clients add this prefix to errors, so recorded results contain it already.
_ERROR_PREFIX: Final = "Error: "
_DISCONNECT_MESSAGE: Final = "the connection ended here when this was recorded"

ToolServer: TypeAlias = Server[Any]


def build_server(tools: RecordedTools, *, pace: bool = False) -> ToolServer:
    """Build the server of these tools; with `pace` each call takes its recorded time."""

    async def list_tools(context: Any, params: Any) -> ListToolsResult:
        return ListToolsResult(tools=[_to_mcp_tool(tool) for tool in tools.offered])

    async def call_tool(context: Any, params: CallToolRequestParams) -> CallToolResult:
        try:
            result = tools.result(params.name, params.arguments or {})
        except NotRecorded as error:
            return _text_result(str(error), is_error=True)
        if result.fault == "timeout":
            # The client's timeout ends the call.
            await anyio.sleep_forever()
        if pace:
            await anyio.sleep(result.ms / 1000)
        if result.fault == "disconnect":
            raise MCPError(CONNECTION_CLOSED, _DISCONNECT_MESSAGE)
        text = result.text.removeprefix(_ERROR_PREFIX) if result.is_error else result.text
        return _text_result(text, is_error=result.is_error)

    return Server("mockllm", version=__version__, on_list_tools=list_tools, on_call_tool=call_tool)


def serve_pipes(server: ToolServer) -> None:
    """Serve on standard input and output until the input ends."""

    async def run() -> None:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    anyio.run(run)


def serve_http(server: ToolServer, port: int) -> None:
    """Serve on 127.0.0.1 until a signal arrives; raises OSError if the port cannot be bound.

    Port 0 picks a free one; the ready line names it.
    """
    # Listen before the ready line is printed.
    with socket.create_server(("127.0.0.1", port)) as listener:
        print(f"mockllm mcp ready on http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
        config = uvicorn.Config(
            server.streamable_http_app(), log_level="error", timeout_graceful_shutdown=1
        )
        uvicorn.Server(config).run(sockets=[listener])


def _to_mcp_tool(tool: canonical.Tool) -> Tool:
    schema = tool.schema if isinstance(tool.schema, dict) else {"type": "object"}
    return Tool(name=tool.name, description=tool.description or None, input_schema=schema)


def _text_result(text: str, *, is_error: bool) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=is_error)
