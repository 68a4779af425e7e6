"""Reads the `messages` of an OpenAI chat request, today's forms and the legacy function forms."""

from scenarios_app.engine.canonical import Message
from scenarios_app.engine.parts import (
    MessagePart,
    OpaquePart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from scenarios_app.wire.body import Node
from scenarios_app.wire.errors import WireError

_ROLES = "'system', 'developer', 'user', 'assistant', 'tool' and 'function'"
_PAYLOADS = frozenset({"image_url", "input_audio", "file"})


def read_messages(node: Node) -> tuple[Message, ...]:
    """The conversation, which must hold something; tool results get the name of their call."""
    called: dict[str, str] = {}
    messages = tuple(_message(item, called) for item in node.items())
    if messages:
        return messages
    raise WireError(
        400,
        f"Invalid '{node.place}': at least one message is needed.",
        param=node.place,
        code="empty_array",
    )


def unsupported(node: Node, supported: str) -> WireError:
    """The error for a string that is none of those supported."""
    return WireError(
        400,
        f"Invalid value for '{node.place}': {node.value!r}. Supported values are {supported}.",
        param=node.place,
        code="invalid_value",
    )


def _message(node: Node, called: dict[str, str]) -> Message:
    role = node.need("role")
    match role.text():
        case "system" | "developer":
            return Message("system", _content(node.need("content")))
        case "user":
            return Message("user", _content(node.need("content")))
        case "assistant":
            return Message("assistant", _assistant_parts(node, called))
        case "tool":
            return Message("tool", (_tool_result(node, called),))
        case "function":
            return Message("tool", (_function_result(node),))
        case _:
            raise unsupported(role, _ROLES)


def _content(node: Node) -> tuple[MessagePart, ...]:
    match node.value:
        case str(text):
            return (TextPart(text),)
        case list():
            return tuple(_part(item) for item in node.items())
        case _:
            raise node.wrong("a string or an array")


def _part(node: Node) -> MessagePart:
    kind = node.need("type").text()
    match kind:
        case "text":
            return TextPart(node.need("text").text())
        case "refusal":
            return RefusalPart(node.need("refusal").text())
        case _:
            if kind in _PAYLOADS:
                node.need(kind)
            return OpaquePart(kind)


def _assistant_parts(node: Node, called: dict[str, str]) -> tuple[MessagePart, ...]:
    parts: list[MessagePart] = []
    # The same text may come back under both names: the first that is there is read.
    for key in ("reasoning", "reasoning_content"):
        if reasoning := node.maybe(key):
            parts.append(ReasoningPart(reasoning.text()))
            break
    if content := node.maybe("content"):
        parts.extend(_content(content))
    if refusal := node.maybe("refusal"):
        parts.append(RefusalPart(refusal.text()))
    if node.maybe("audio"):
        parts.append(OpaquePart("audio"))
    if calls := node.maybe("tool_calls"):
        parts.extend(_tool_call(item, called) for item in calls.items())
    if function_call := node.maybe("function_call"):
        name = function_call.need("name").text()
        parts.append(ToolCallPart(name, name, function_call.need("arguments").text()))
    return tuple(parts)


def _tool_call(node: Node, called: dict[str, str]) -> ToolCallPart:
    call_id = node.need("id").text()
    kind = node.need("type")
    match kind.text():
        case "function":
            function = node.need("function")
            name, text = function.need("name").text(), function.need("arguments").text()
        case "custom":
            custom = node.need("custom")
            name, text = custom.need("name").text(), custom.need("input").text()
        case _:
            raise unsupported(kind, "'function' and 'custom'")
    called[call_id] = name
    return ToolCallPart(call_id, name, text)


def _tool_result(node: Node, called: dict[str, str]) -> ToolResultPart:
    call_id = node.need("tool_call_id").text()
    return ToolResultPart(call_id, called.get(call_id, ""), _text(node.need("content")))


def _function_result(node: Node) -> ToolResultPart:
    """A legacy result knows its call by name alone, so the name stands in for the id as well."""
    name = node.need("name").text()
    content = node.maybe("content")
    return ToolResultPart(name, name, _text(content) if content else "")


def _text(node: Node) -> str:
    return "\n".join(part.text for part in _content(node) if isinstance(part, TextPart))
