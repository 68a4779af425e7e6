"""Fills in the fields that requests in a dialect may leave out, so that they read as OpenAI's."""

from scenarios_app.engine.canonical import Json
from scenarios_app.wire.body import Node

_OPENAI_TYPES = ("function", "custom")


def add_default_types(body: Node) -> Node:
    """Return the body with a type on every tool and call; a hosted tool becomes a function named by
    its type."""
    fields = dict(body.object())
    if isinstance(tools := fields.get("tools"), list):
        fields["tools"] = [_add_tool_type(tool) for tool in tools]
    if isinstance(messages := fields.get("messages"), list):
        fields["messages"] = [_add_call_types(message) for message in messages]
    return Node(fields, body.place)


def _add_tool_type(tool: Json) -> Json:
    if not isinstance(tool, dict):
        return tool
    kind = tool.get("type", "function")
    if isinstance(kind, str) and kind not in _OPENAI_TYPES:
        return {"type": "function", "function": {"name": kind}}
    return {"type": "function", **tool}


def _add_call_types(message: Json) -> Json:
    if not isinstance(message, dict):
        return message
    calls = message.get("tool_calls")
    if not isinstance(calls, list):
        return message
    typed: Json = [{"type": "function", **c} if isinstance(c, dict) else c for c in calls]
    return {**message, "tool_calls": typed}
