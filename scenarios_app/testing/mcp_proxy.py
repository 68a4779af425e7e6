"""An MCP server that forwards tools and resources to another one, reached over HTTP."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.types import (
    CONNECTION_CLOSED,
    CallToolRequestParams,
    CallToolResult,
    ListResourcesResult,
    ListToolsResult,
    ReadResourceRequestParams,
    ReadResourceResult,
    TextContent,
)

from mockllm_site import __version__
from scenarios_app.testing.control import TIMEOUT_SECONDS

_NO_SERVER: Final = "The mockllm server at {url} does not answer: {reason}"


@asynccontextmanager
async def open_proxy(url: str, *, token: str = "") -> AsyncIterator[Server[Any]]:
    """Connect to the MCP server at a URL, with a bearer token if there is one, and yield a proxy.

    Its clients negotiate the protocol's version with the proxy, which has negotiated another one
    if the other server is older or newer.
    """
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with (
        httpx2.AsyncClient(headers=headers, trust_env=False, timeout=TIMEOUT_SECONDS) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        yield _build(client, url)


def _build(client: Client, url: str) -> "Server[Any]":
    async def list_tools(context: Any, params: Any) -> ListToolsResult:
        return await client.list_tools()

    async def call_tool(context: Any, params: CallToolRequestParams) -> CallToolResult:
        try:
            return await client.call_tool(params.name, params.arguments)
        except MCPError as error:
            if error.error.code != CONNECTION_CLOSED:
                raise
            text = _NO_SERVER.format(url=url, reason=error.error.message)
            return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)

    async def list_resources(context: Any, params: Any) -> ListResourcesResult:
        return await client.list_resources()

    async def read_resource(context: Any, params: ReadResourceRequestParams) -> ReadResourceResult:
        return await client.read_resource(str(params.uri))

    return Server(
        "mockllm-control",
        version=__version__,
        instructions=client.instructions,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
    )
