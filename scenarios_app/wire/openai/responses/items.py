"""Parses the input and output items of OpenAI's Responses, and packs many into a compaction."""

import base64
from collections.abc import Iterable, Iterator, Mapping

from scenarios_app.engine.canonical import Json, Message, Role
from scenarios_app.engine.parts import (
    MessagePart,
    OpaquePart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from scenarios_app.wire.base import encode_json
from scenarios_app.wire.body import Limits, Node, read_body
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.openai.fields import unsupported

REFERENCE = "item_reference"

_ROLES: Mapping[str, Role] = {
    "user": "user",
    "system": "system",
    "developer": "system",
    "assistant": "assistant",
}
_TEXTS = frozenset({"input_text", "output_text", "text", "summary_text", "reasoning_text"})
# Output items beside those whose type ends in `_call`.
_ANSWER_KINDS = frozenset({"reasoning", "program", "mcp_list_tools", "mcp_approval_request"})
_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}


def kind_of(item: Node) -> str:
    """Return the type of an item; messages and references may omit it."""
    if kind := item.maybe("type"):
        return kind.text()
    return "message" if item.maybe("role") else REFERENCE


def read_items(items: Iterable[Node], called: dict[str, str]) -> tuple[Message, ...]:
    """Return items as messages: consecutive items of a response are one assistant message.

    `called` collects the name of each call by its id. References and items that only control the
    API are skipped. Raises the 400 for an invalid item.
    """
    messages: list[Message] = []
    answer: list[MessagePart] | None = None
    for item in items:
        kind = kind_of(item)
        role = _role_of(item, kind)
        if role == "assistant":
            answer = [*(answer or ()), *_read_answer_parts(item, kind, called)]
            continue
        if role is None:
            continue
        if answer is not None:
            messages.append(Message("assistant", tuple(answer)))
            answer = None
        messages.append(Message(role, _read_input_parts(item, kind, called)))
    if answer is not None:
        messages.append(Message("assistant", tuple(answer)))
    return tuple(messages)


def _role_of(item: Node, kind: str) -> Role | None:
    """Return the role of an item's message; None for an item that only controls the API. Raises the
    400 for an unknown role."""
    if kind == "message":
        role = item.need("role")
        if role.text() not in _ROLES:
            raise unsupported(role, "'user', 'assistant', 'system' and 'developer'")
        return _ROLES[role.text()]
    if kind in _ANSWER_KINDS or kind.endswith("_call"):
        return "assistant"
    if kind.endswith("_output") or kind == "mcp_approval_response":
        return "tool"
    return None


def _read_answer_parts(item: Node, kind: str, called: dict[str, str]) -> tuple[MessagePart, ...]:
    """Return the parts of an assistant's item, an opaque one for kinds without text or call; add
    the name of a call to `called` by id."""
    if kind == "message":
        return _read_content(item.need("content"))
    if kind == "reasoning":
        return (_read_reasoning(item),)
    if kind in _CALLS:
        call_id, name = item.need("call_id").text(), item.need("name").text()
        called[call_id] = name
        namespace = item.optional("namespace", Node.text) or ""
        text, custom = item.need(_CALLS[kind]).text(), kind == "custom_tool_call"
        return (ToolCallPart(call_id, name, text, custom, namespace),)
    return (OpaquePart(kind),)


def _read_input_parts(item: Node, kind: str, called: dict[str, str]) -> tuple[MessagePart, ...]:
    """Return the parts of a user's or system message, or of the output of a tool: opaque if it is
    no function or custom tool."""
    if kind == "message":
        return _read_content(item.need("content"))
    if kind.removesuffix("_output") not in _CALLS:
        return (OpaquePart(kind),)
    output = _read_content(item.need("output"))
    text = "\n".join(part.text for part in output if isinstance(part, TextPart))
    call_id = item.optional("call_id", Node.text) or ""
    return (ToolResultPart(call_id, called.get(call_id, ""), text),)


def _read_reasoning(item: Node) -> ReasoningPart:
    """Return the summary of a reasoning item, else its text; the encrypted content is its
    signature."""
    texts: list[str] = []
    for key in ("summary", "content"):
        if not texts and (node := item.maybe(key)):
            texts = [p.text for p in _read_content(node) if isinstance(p, TextPart)]
    signature = item.optional("encrypted_content", Node.text)
    return ReasoningPart("\n".join(texts), signature=signature)


def _read_content(node: Node) -> tuple[MessagePart, ...]:
    """Return the parts of a message's content; raise the 400 unless it is a string or an array."""
    match node.value:
        case str(text):
            return (TextPart(text),)
        case list():
            return tuple(map(_read_part, node.items()))
        case _:
            raise node.wrong("a string or an array")


def _read_part(node: Node) -> MessagePart:
    """Return a text or a refusal; any other part keeps only its type."""
    kind = node.need("type").text()
    if kind in _TEXTS:
        return TextPart(node.need("text").text())
    if kind == "refusal":
        return RefusalPart(node.need("refusal").text())
    return OpaquePart(kind)


_COMPACTION = "compaction"
_COMPACTION_PREFIX = "mockllm."


def pack_items(items: Iterable[Json], *, item_id: str) -> Json:
    """Return one compaction item that contains these items, encoded in base64."""
    content = base64.b64encode(encode_json({"items": list(items)})).decode()
    return {"type": _COMPACTION, "id": item_id, "encrypted_content": _COMPACTION_PREFIX + content}


def unpack_item(item: Node) -> Iterator[Node]:
    """Yield the items in a compaction of this server, and any other item unchanged."""
    if item.maybe("type") and item.get("type").value == _COMPACTION:
        content = item.need("encrypted_content")
        if content.text().startswith(_COMPACTION_PREFIX):
            yield from (Node(held, item.place) for held in _decode_compaction(content))
            return
    yield item


def _decode_compaction(content: Node) -> list[Json]:
    """Return the packed items; raise the 400 if the client changed them."""
    try:
        data = base64.b64decode(content.text().removeprefix(_COMPACTION_PREFIX), validate=True)
        items = read_body(data, Limits()).need("items").items()
        return [item.object() for item in items]
    except (ValueError, WireError):
        raise content.wrong("what a compaction of this server holds") from None
