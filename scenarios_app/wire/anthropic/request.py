"""Parses Anthropic's request bodies, for messages and token counts.

Also reads schema keywords that Anthropic's SDKs move into descriptions, as models do.
"""

import re
from collections.abc import Iterator, Mapping

from scenarios_app.engine.canonical import (
    ANY_OBJECT,
    CallMode,
    CanonicalRequest,
    Json,
    JsonFormat,
    Message,
    Role,
    Tool,
    ToolChoice,
)
from scenarios_app.engine.parts import (
    MessagePart,
    OpaquePart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from scenarios_app.wire.anthropic.options import read_options
from scenarios_app.wire.anthropic.upstream import PROVIDER
from scenarios_app.wire.base import Call, Endpoint, encode_json, user_messages
from scenarios_app.wire.body import Node
from scenarios_app.wire.errors import WireError

MESSAGES = "/v1/messages"

_ROLES: Mapping[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}
_NUMBERS = (
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
)
_TEXTS = ("pattern", "format")
_SCHEMA_KEYWORDS = re.compile(r"(?:\A|\n)\{(\w+: .*)\}\Z", re.DOTALL)
_DECIMAL = re.compile(r"-?[0-9]{1,18}(?:\.[0-9]{1,18})?")
_KEY = re.compile(r"(?:\A|, )(\w+): ")


def read_request(
    call: Call, endpoint: Endpoint, body: Node, *, counted: bool = False
) -> CanonicalRequest:
    """Return the request for a message, or with `counted` for its number of tokens, which is never
    streamed and may lack `max_tokens`. Raises the 400 for an invalid field."""
    model = need(body, "model").text()
    max_tokens = _max_tokens(body, required=not counted)
    choice, form = body.optional("tool_choice", Node.object), _response_format(body)
    thinking = body.maybe("thinking")
    reasoning = thinking is not None and need(thinking, "type").text() != "disabled"
    return CanonicalRequest(
        provider=PROVIDER,
        path=call.path,
        route=endpoint.pattern,
        model=model,
        messages=tuple(_read_messages(body)),
        tools=tuple(map(_read_tool, body.items_at("tools"))),
        tool_choice=choice,
        choice=_tool_choice(choice),
        stream=bool(body.optional("stream", Node.flag)) and not counted,
        temperature=body.optional("temperature", Node.number),
        top_p=body.optional("top_p", Node.number),
        max_tokens=max_tokens,
        stop=tuple(map(Node.text, body.items_at("stop_sequences"))),
        reasoning=reasoning,
        response_format=form,
        json=_json_format(form),
        headers=call.headers,
        metadata=body.optional("metadata", _read_metadata) or {},
        own=read_options(call, body, model, thinking=reasoning),
    )


def read_thread_id(body: Node) -> str | None:
    """Return the message id that a beta call's `thread` continues, or None."""
    thread = body.maybe("thread")
    if thread is None or need(thread, "type").text() != "continue":
        return None
    return need(thread, "previous_message_id").text()


def need(node: Node, key: str) -> Node:
    """Return the node at a required key; raise Anthropic's 400 if it is missing or null."""
    if field := node.maybe(key):
        return field
    raise WireError(400, f"{node.get(key).place}: Field required")


def _read_messages(body: Node) -> Iterator[Message]:
    """Yield the system prompt, if any, and the messages; raise the 400 if there are no messages."""
    names: dict[str, str] = {}
    if system := body.maybe("system"):
        yield Message("system", _read_parts(system, names))
    turns = tuple(need(body, "messages").items())
    if not turns:
        raise WireError(400, "messages: at least one message is required")
    for turn in turns:
        yield from _read_message(turn, names)


def _read_message(node: Node, names: dict[str, str]) -> Iterator[Message]:
    """Yield one message, or several if a user message has tool results beside other content. Raises
    the 400 for an unknown role."""
    role_name = need(node, "role").text()
    role = _ROLES.get(role_name)
    if role is None:
        raise WireError(
            400, f"{node.place}.role: Unexpected role '{role_name}', expected 'user' or 'assistant'"
        )
    # Only a system message may lack content: it can consist of settings.
    content = node.maybe("content") if role == "system" else need(node, "content")
    parts = _read_parts(content, names) if content else ()
    if role == "user":
        yield from user_messages(parts)
    else:
        yield Message(role, parts)


def _read_parts(content: Node, names: dict[str, str]) -> tuple[MessagePart, ...]:
    """Return the parts of a text or of a list of blocks; raise the 400 for any other content."""
    match content.value:
        case str(text):
            return (TextPart(text),)
        case list():
            return tuple(_read_part(block, names) for block in content.items())
        case _:
            raise content.wrong("a string or an array of blocks")


def _read_part(block: Node, names: dict[str, str]) -> MessagePart:
    """Return the part of a content block; an OpaquePart for an unknown type. `names` has the names
    of tool calls by their ids: calls are added, results get theirs from it."""
    match kind := need(block, "type").text():
        case "text":
            return TextPart(need(block, "text").text())
        case "thinking":
            signature = block.optional("signature", Node.text) or None
            return ReasoningPart(need(block, "thinking").text(), signature=signature)
        case "redacted_thinking":
            return ReasoningPart("", redacted=need(block, "data").text())
        case "tool_use":
            call_id, name = need(block, "id").text(), need(block, "name").text()
            names[call_id] = name
            tool_input = block.optional("input", Node.object) or {}
            return ToolCallPart(call_id, name, encode_json(tool_input).decode())
        case "tool_result":
            call_id = need(block, "tool_use_id").text()
            name, text = names.get(call_id, ""), _result_text(block.maybe("content"), names)
            failed = block.optional("is_error", Node.flag) or False
            return ToolResultPart(call_id, name, text, is_error=failed)
        case _:
            return OpaquePart(kind)


def _result_text(content: Node | None, names: dict[str, str]) -> str:
    """Return the texts in a tool result's content, joined by line breaks."""
    parts = _read_parts(content, names) if content else ()
    return "\n".join(part.text for part in parts if isinstance(part, TextPart))


def _read_tool(node: Node) -> Tool:
    """Return a tool by its name, an MCP toolset by its server's, a hosted tool by its type."""
    kind = node.optional("type", Node.text)
    hosted = kind not in (None, "custom")
    if server := node.maybe("mcp_server_name"):
        name = server.text()
    elif hosted and not node.maybe("name"):
        name = kind or ""
    else:
        name = need(node, "name").text()
    return Tool(
        name,
        description=node.optional("description", Node.text) or "",
        schema=node.object().get("input_schema"),
        kind="hosted" if hosted else "function",
    )


_MODES: Mapping[Json, CallMode] = {"any": "required", "tool": "required", "none": "none"}


def _tool_choice(choice: dict[str, Json] | None) -> ToolChoice:
    """Return the tool choice, `auto` if it is missing or of an unknown type."""
    fields = choice or {}
    name, kind = fields.get("name"), fields.get("type")
    mode = _MODES.get(kind, "auto") if isinstance(kind, str) else "auto"
    return ToolChoice(mode, (name,) if kind == "tool" and isinstance(name, str) else ())


def _json_format(form: Json) -> JsonFormat | None:
    """Return the JSON format that an output format of type `json_schema` requires, else None."""
    match form:
        case {"type": "json_schema", "schema": schema}:
            return JsonFormat(with_described_keywords(schema), "output_config.format")
        case {"type": "json_schema"}:
            return JsonFormat(ANY_OBJECT, "output_config.format")
        case _:
            return None


def _max_tokens(body: Node, *, required: bool) -> int | None:
    """Return the limit, or None; raise the 400 if it is negative, or `required` and missing."""
    node = need(body, "max_tokens") if required else body.maybe("max_tokens")
    if node is None:
        return None
    if node.integer() < 0:
        raise WireError(400, "max_tokens: Input should be greater than or equal to 0")
    return node.integer()


def _response_format(body: Node) -> Json:
    """Return the output format, from its current key or that of older beta clients, or None."""
    config = body.maybe("output_config")
    wanted = config.optional("format", Node.object) if config else None
    return body.optional("output_format", Node.object) if wanted is None else wanted


def _read_metadata(node: Node) -> Mapping[str, str]:
    """Return the metadata that are texts; raise the 400 for a `user_id` of another type."""
    node.optional("user_id", Node.text)
    return {key: value for key, value in node.object().items() if isinstance(value, str)}


def with_described_keywords(schema: Json) -> Json:
    """Return a schema with the keywords that SDKs moved into descriptions, as `{minimum: 1}`."""
    match schema:
        case list():
            return [with_described_keywords(each) for each in schema]
        case dict():
            inner = {key: with_described_keywords(value) for key, value in schema.items()}
            description = schema.get("description")
            words = _described_keywords(description) if isinstance(description, str) else {}
            return {**words, **inner}
        case _:
            return schema


def _described_keywords(description: str) -> Mapping[str, Json]:
    """Return the schema keywords in braces at the end of a description, without unknown ones."""
    # Without its end the search would take a time that grows with the square of the length.
    match = _SCHEMA_KEYWORDS.search(description) if description.endswith("}") else None
    if match is None:
        return {}
    _, *split = _KEY.split(match[1])
    words: dict[str, Json] = {}
    for key, value in zip(split[::2], split[1::2], strict=True):
        if key in _NUMBERS and (number := _parse_decimal(value)) is not None:
            words[key] = number
        elif key in _TEXTS:
            words[key] = value
        elif (key, value) == ("uniqueItems", "True"):
            words[key] = True
    return words


def _parse_decimal(text: str) -> int | float | None:
    """Return the number that a text is in plain decimal digits, or None."""
    if not _DECIMAL.fullmatch(text):
        return None
    return float(text) if "." in text else int(text)
