"""A coding agent's MCP client, connected to the control MCP server over HTTP or through pipes."""

import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Literal

import httpx2
import openai
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult


class Agent:
    """Calls tools; each result is checked against the tool's output schema by the client."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def call(self, tool: str, **arguments: Any) -> Any:
        """Return the structured content of a call that succeeds."""
        result = await self.result(tool, **arguments)
        assert not result.is_error, text_of(result)
        return result.structured_content

    async def error(self, tool: str, **arguments: Any) -> str:
        """Return the message of a call that fails."""
        result = await self.result(tool, **arguments)
        assert result.is_error, result.structured_content
        assert result.structured_content is None
        return text_of(result)

    async def result(self, tool: str, **arguments: Any) -> CallToolResult:
        return await self.client.call_tool(tool, arguments)


def text_of(result: CallToolResult) -> str:
    """Return the first text of a result."""
    return str(result.content[0].text)


@asynccontextmanager
async def http_agent(
    base_url: str, *, mode: Literal["auto", "legacy"] = "auto", token: str = "", **headers: str
) -> AsyncIterator[Agent]:
    if token:
        headers["authorization"] = f"Bearer {token}"
    async with (
        httpx2.AsyncClient(headers=headers, trust_env=False, timeout=60) as http,
        Client(
            streamable_http_client(f"{base_url}/control/mcp", http_client=http), mode=mode
        ) as client,
    ):
        yield Agent(client)


@asynccontextmanager
async def pipe_agent(
    *arguments: str, mode: Literal["auto", "legacy"] = "auto", env: Mapping[str, str] | None = None
) -> AsyncIterator[Agent]:
    command = ["-m", "mockllm_site", "control-mcp", *arguments]
    parameters = StdioServerParameters(command=sys.executable, args=command, env=dict(env or {}))
    async with Client(parameters, mode=mode) as client:
        yield Agent(client)


def ask(base_url: str, text: str, *, key: str = "sk-agent") -> str:
    """Send a chat request with the OpenAI SDK and return the text of the reply."""
    with openai.OpenAI(base_url=f"{base_url}/v1", api_key=key, max_retries=0) as client:
        reply = client.chat.completions.create(
            model="gpt-4o", messages=[{"role": "user", "content": text}]
        )
    return str(reply.choices[0].message.content)
