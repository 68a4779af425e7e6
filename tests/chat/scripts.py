"""Scripted answers of the mock that several tests use."""

from typing import Any

# An answer that lasts until it is stopped.
ENDLESS: dict[str, Any] = {"text": "word " * 2_000, "pacing": {"words_per_second": 20}}
TOOL_CALL: dict[str, Any] = {
    "tool_calls": [{"name": "add", "arguments": {"a": 1, "b": 2}, "id": "call_1"}]
}


def call_tool(name: str, **arguments: Any) -> dict[str, Any]:
    """Return an answer that calls one tool."""
    return {"tool_calls": [{"name": name, "arguments": arguments, "id": f"call_{name}"}]}
