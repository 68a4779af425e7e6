"""An MCP server of recorded tools, over pipes or HTTP. Requires the extra `mcp`."""

import socket
from collections import Counter
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import anyio
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp.types import (
    CONNECTION_CLOSED,
    CallToolRequestParams,
    CallToolResult,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
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
# For the answers that are missing when the input ends; with `--pace` a call can take minutes.
MAX_DRAIN_SECONDS: Final = 60.0

ToolServer: TypeAlias = Server[Any]


def build_server(
    tools: RecordedTools, *, pace: bool = False, leave_open: Callable[[Any], None] = lambda _: None
) -> ToolServer:
    """Build the server of these tools; with `pace` each call takes its recorded time. `leave_open`
    is called with the id of a request that is never answered."""

    async def list_tools(context: Any, params: Any) -> ListToolsResult:
        return ListToolsResult(tools=[_to_mcp_tool(tool) for tool in tools.offered])

    async def call_tool(context: Any, params: CallToolRequestParams) -> CallToolResult:
        """Return the recorded result, or an error result if none was recorded. A recorded timeout
        never returns; a recorded disconnect raises MCPError."""
        try:
            result = tools.result(params.name, params.arguments or {})
        except NotRecorded as error:
            return _text_result(str(error), is_error=True)
        if result.fault == "timeout":
            # The client's timeout ends the call.
            leave_open(context.request_id)
            await anyio.sleep_forever()
        if pace:
            await anyio.sleep(result.ms / 1000)
        if result.fault == "disconnect":
            raise MCPError(CONNECTION_CLOSED, _DISCONNECT_MESSAGE)
        text = result.text.removeprefix(_ERROR_PREFIX) if result.is_error else result.text
        return _text_result(text, is_error=result.is_error)

    return Server("mockllm", version=__version__, on_list_tools=list_tools, on_call_tool=call_tool)


class OpenRequests:
    """The requests that were read and not answered yet, by id."""

    def __init__(self) -> None:
        self._ids: Counter[str] = Counter()
        self._closed = anyio.Event()

    def close(self, id: Any) -> None:
        """Count a request as answered, or as one that never will be."""
        self._ids[str(id)] -= 1
        if self._ids[str(id)] <= 0:
            del self._ids[str(id)]
        self._closed.set()

    def track(self, message: SessionMessage | Exception) -> None:
        """Count a request as open; close it by its response or its cancellation."""
        match getattr(message, "message", None):
            case JSONRPCRequest(id=id):
                self._ids[str(id)] += 1
            case JSONRPCResponse(id=id) | JSONRPCError(id=id):
                self.close(id)
            case JSONRPCNotification(method="notifications/cancelled", params={"requestId": id}):
                self.close(id)

    async def wait_until_closed(self) -> None:
        """Wait until no request is open."""
        while self._ids:
            self._closed = anyio.Event()
            await self._closed.wait()


def serve_pipes(tools: RecordedTools, *, pace: bool = False) -> None:
    """Serve on standard input and output until the input has ended and its requests are answered,
    at most MAX_DRAIN_SECONDS later, or until the client reads no more. The SDK ends calls under way
    when the server's input ends, so that end is delayed."""

    async def serve() -> None:
        requests = OpenRequests()
        server = build_server(tools, pace=pace, leave_open=requests.close)
        to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception]()
        to_client, from_server = anyio.create_memory_object_stream[SessionMessage]()

        async def forward_input() -> None:
            async with to_server:
                async for message in incoming:
                    requests.track(message)
                    await to_server.send(message)
                with anyio.move_on_after(MAX_DRAIN_SECONDS):
                    await requests.wait_until_closed()

        async def forward_output() -> None:
            async with outgoing:
                async for message in from_server:
                    await outgoing.send(message)
                    requests.track(message)

        async with stdio_server() as (incoming, outgoing), anyio.create_task_group() as group:
            group.start_soon(forward_input)
            group.start_soon(forward_output)
            await server.run(from_client, to_client, server.create_initialization_options())

    try:
        anyio.run(serve)
    except* (BrokenPipeError, anyio.BrokenResourceError):
        # The client has closed its end.
        pass


def serve_http(server: ToolServer, port: int) -> None:
    """Serve on 127.0.0.1 until a signal arrives; raises OSError if the port cannot be bound. Port 0
    picks a free one; the ready line names it."""
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
