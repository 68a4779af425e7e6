"""Calls tools of this process through the Django view, as single JSON-RPC messages."""

import json
from functools import cache
from typing import Any

from django.http import HttpResponse
from django.test import Client
from jsonschema import Draft202012Validator, FormatChecker

from scenarios_app.control.mcp.server import to_mcp
from scenarios_app.control.mcp.tools import TOOLS

PATH = "/control/mcp"
VERSION = "2025-11-25"


class ToolCaller:
    """Calls tools; each result is checked against the tool's output schema."""

    def __init__(self, **headers: str) -> None:
        self._client = Client(headers={"host": "localhost:5099", **headers})

    def call(self, tool: str, **arguments: Any) -> Any:
        """Return the structured content of a call that succeeds."""
        result = self.result(tool, arguments)
        assert not result.get("isError"), result["content"]
        data = result["structuredContent"]
        assert json.loads(result["content"][1]["text"]) == data
        schema = listed_tools()[tool]["outputSchema"]
        Draft202012Validator(schema, format_checker=FormatChecker()).validate(data)
        return data

    def error(self, tool: str, **arguments: Any) -> str:
        """Return the message of a call that fails."""
        result = self.result(tool, arguments)
        assert result["isError"] and "structuredContent" not in result
        (content,) = result["content"]
        return str(content["text"])

    def result(self, tool: str, arguments: Any) -> Any:
        answer = self.send("tools/call", {"name": tool, "arguments": arguments}).json()
        assert "error" not in answer, answer
        return answer["result"]

    def send(self, method: str, params: Any = None) -> Any:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
        return self.post(json.dumps(message).encode())

    def post(self, body: bytes, **headers: str) -> HttpResponse:
        accepted = {"accept": "application/json, text/event-stream"}
        sent = {**accepted, "mcp-protocol-version": VERSION, **headers}
        response: Any = self._client.generic("POST", PATH, body, "application/json", headers=sent)
        return response

    def get(self) -> Any:
        return self._client.get(PATH)


@cache
def listed_tools() -> dict[str, Any]:
    """Return the tools as clients see them, by name."""
    tools = (to_mcp(spec) for spec in TOOLS.values())
    return {tool.name: tool.model_dump(by_alias=True, exclude_none=True) for tool in tools}
