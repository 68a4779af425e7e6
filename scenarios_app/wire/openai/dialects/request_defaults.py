"""Requests in a dialect as OpenAI would have them: what others leave out, or have of their own."""

from scenarios_app.engine.canonical import Json
from scenarios_app.wire.body import Node

_OPENAI_TYPES = ("function", "custom")


def add_default_types(body: Node) -> Node:
    """The body with the type of every tool and call. A tool of the provider's own is offered under
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
