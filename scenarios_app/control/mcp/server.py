"""The control MCP server, which answers message by message."""

import json
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any, Final

import anyio
from asgiref.sync import sync_to_async
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    TextContent,
    Tool,
    ToolAnnotations,
)

from mockllm_site import __version__
from scenarios_app.control.mcp.registry import ToolFailed, ToolSpec, call_tool
from scenarios_app.control.mcp.schemas import input_schema, output_schema
from scenarios_app.control.mcp.tools import TOOLS

INSTRUCTIONS: Final = """\
mockllm is a mock LLM server at {base_url}: scenarios say how it answers. Tests reach it through \
OPENAI_BASE_URL={base_url}/v1 or ANTHROPIC_BASE_URL={base_url}.
From a red test to a green one: verdict says what failed; unmatched lists the requests that no \
step answered; make_step answers one of them, or change_scenario corrects a step; check finds \
mistakes in scenarios; then reset, run the test again, and ask for the verdict.
Steps and scenarios are stored on the server. If a file of the project holds them, edit the file \
as well. Their format: {base_url}/docs/scenarios/ and {base_url}/control/schema/scenario.json."""


@dataclass(slots=True)
class SentResponse:
    """An HTTP response."""

    status: int = 500
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    async def receive(self, message: Mapping[str, Any]) -> None:
        """Add what an ASGI application sends."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        else:
            self.body += message.get("body", b"")


async def answer(headers: Mapping[str, str], body: bytes, *, base_url: str) -> SentResponse:
    """Return the response to a POST. Access is already checked, the Host and Origin header too.
    Tools run in the thread that waits for this coroutine, if there is one."""
    messages: list[MutableMapping[str, Any]] = [{"type": "http.request", "body": body}]

    async def receive() -> MutableMapping[str, Any]:
        """Return the request once; then wait, as if the client stayed connected."""
        if not messages:
            # The response is sent as a whole, so a client that leaves changes nothing.
            await anyio.sleep_forever()
        return messages.pop()

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/control/mcp",
        "query_string": b"",
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in headers.items()],
    }
    sent = SentResponse()
    server = build_server(base_url)
    manager = StreamableHTTPSessionManager(server, stateless=True, json_response=True)
    async with manager.run():
        await manager.handle_request(scope, receive, sent.receive)
    return sent


def build_server(base_url: str) -> "Server[Any]":
    """Build the server; `base_url` is its address for its client."""

    async def list_tools(context: Any, params: Any) -> ListToolsResult:
        return ListToolsResult(tools=[to_mcp(spec) for spec in TOOLS.values()])

    async def run_tool(context: Any, params: CallToolRequestParams) -> CallToolResult:
        """Return the result of a tool, or its error as a result. Raises MCPError for an unknown
        tool."""
        spec = TOOLS.get(params.name)
        if spec is None:
            raise MCPError(INVALID_PARAMS, f"There is no tool {params.name!r}.")
        try:
            result = await sync_to_async(call_tool)(spec, params.arguments or {})
        except ToolFailed as error:
            return CallToolResult(content=[_text_content(str(error))], is_error=True)
        # Some clients show their model only the text.
        texts = (result.text, json.dumps(result.data, ensure_ascii=False))
        return CallToolResult(content=[*map(_text_content, texts)], structured_content=result.data)

    return Server(
        "mockllm-control",
        version=__version__,
        instructions=INSTRUCTIONS.format(base_url=base_url),
        on_list_tools=list_tools,
        on_call_tool=run_tool,
    )


def to_mcp(spec: ToolSpec) -> Tool:
    """Return a tool as clients see it."""
    return Tool(
        name=spec.name,
        description=spec.description,
        input_schema=input_schema(spec.arguments()),
        output_schema=output_schema(spec.result()),
        annotations=ToolAnnotations.model_validate(spec.hints),
    )


def _text_content(text: str) -> TextContent:
    return TextContent(type="text", text=text)
