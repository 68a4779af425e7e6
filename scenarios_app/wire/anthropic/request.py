"""Parses Anthropic's request bodies, for messages and token counts.

Also reads schema keywords that Anthropic's SDKs move into descriptions, as models do.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import groupby

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
from scenarios_app.wire.base import Call, Endpoint, encode_json
from scenarios_app.wire.body import Node
from scenarios_app.wire.errors import WireError

PROVIDER = "anthropic"
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
    """Return a request for a message, or one that is only counted."""
    model = need(body, "model").text()
    max_tokens = _max_tokens(body, required=not counted)
    choice, form = _object(body, "tool_choice"), _response_format(body)
    reasoning = _reasoning(body.maybe("thinking"))
    return CanonicalRequest(
        provider=PROVIDER,
        path=call.path,
        route=endpoint.pattern,
        model=model,
        messages=tuple(_messages(body)),
        tools=tuple(_tool(node) for node in _list(body, "tools")),
        tool_choice=choice,
        choice=_tool_choice(choice),
        stream=_flag(body, "stream"),
        temperature=_number(body, "temperature"),
        top_p=_number(body, "top_p"),
        max_tokens=max_tokens,
        stop=tuple(node.text() for node in _list(body, "stop_sequences")),
        reasoning=reasoning,
        response_format=form,
        json=_json_format(form),
        headers=call.headers,
        metadata=_metadata(body.maybe("metadata")),
        own=read_options(call, body, model, thinking=reasoning),
    )


def read_thread_id(body: Node) -> str | None:
    """Return the message id that a beta call continues without sending the earlier messages."""
    thread = body.maybe("thread")
    if thread is None or need(thread, "type").text() != "continue":
        return None
    return need(thread, "previous_message_id").text()


def need(node: Node, key: str) -> Node:
    """Return the node at a required key; raise Anthropic's 400 if it is missing or null."""
    field = node.get(key)
    if field.given:
        return field
    raise WireError(400, f"{field.place}: Field required")


def _messages(body: Node) -> Iterator[Message]:
    names: dict[str, str] = {}
    if system := body.maybe("system"):
        yield Message("system", _parts(system, names))
    turns = tuple(need(body, "messages").items())
    if not turns:
        raise WireError(400, "messages: at least one message is required")
    for turn in turns:
        yield from _message(turn, names)


def _message(node: Node, names: dict[str, str]) -> Iterator[Message]:
    """Yield one message, or several if a user message has tool results beside other content."""
    role_name = need(node, "role").text()
    role = _ROLES.get(role_name)
    if role is None:
        raise WireError(
            400, f"{node.place}.role: Unexpected role '{role_name}', expected 'user' or 'assistant'"
        )
    # Only a system message may lack content: it can consist of settings.
    content = node.maybe("content") if role == "system" else need(node, "content")
    parts = _parts(content, names) if content else ()
    if role != "user" or not parts:
        yield Message(role, parts)
        return
    for results, run in groupby(parts, lambda part: isinstance(part, ToolResultPart)):
        if results:
            yield from (Message("tool", (part,)) for part in run)
        else:
            yield Message("user", tuple(run))


def _parts(content: Node, names: dict[str, str]) -> tuple[MessagePart, ...]:
    match content.value:
        case str(text):
            return (TextPart(text),)
        case list():
            return tuple(_part(block, names) for block in content.items())
        case _:
            raise content.wrong("a string or an array of blocks")


def _part(block: Node, names: dict[str, str]) -> MessagePart:
    """Return one content block. `names` collects the name of each tool call by its id."""
    match kind := need(block, "type").text():
        case "text":
            return TextPart(need(block, "text").text())
        case "thinking":
            signature = block.maybe("signature")
            return ReasoningPart(
                need(block, "thinking").text(),
                signature=(signature.text() or None) if signature else None,
            )
        case "redacted_thinking":
            return ReasoningPart("", redacted=need(block, "data").text())
        case "tool_use":
            call_id, name = need(block, "id").text(), need(block, "name").text()
            names[call_id] = name
            tool_input = _object(block, "input") or {}
            return ToolCallPart(call_id, name, encode_json(tool_input).decode())
        case "tool_result":
            call_id = need(block, "tool_use_id").text()
            return ToolResultPart(
                call_id,
                names.get(call_id, ""),
                _result_text(block.maybe("content"), names),
                is_error=_flag(block, "is_error"),
            )
        case _:
            return OpaquePart(kind)


def _result_text(content: Node | None, names: dict[str, str]) -> str:
    parts = _parts(content, names) if content else ()
    return "\n".join(part.text for part in parts if isinstance(part, TextPart))


def _tool(node: Node) -> Tool:
    """Return a tool under its name, an MCP toolset under its server's, a hosted one under its
    type."""
    kind, named = node.maybe("type"), node.maybe("name")
    if server := node.maybe("mcp_server_name"):
        name = server.text()
    elif kind and kind.text() != "custom" and not named:
        name = kind.text()
    else:
        name = need(node, "name").text()
    described = node.maybe("description")
    hosted = kind is not None and kind.text() != "custom"
    return Tool(
        name,
        description=described.text() if described else "",
        schema=node.object().get("input_schema"),
        kind="hosted" if hosted else "function",
    )


_MODES: Mapping[Json, CallMode] = {"any": "required", "tool": "required", "none": "none"}


def _tool_choice(choice: dict[str, Json] | None) -> ToolChoice:
    fields = choice or {}
    name, kind = fields.get("name"), fields.get("type")
    mode = _MODES.get(kind, "auto") if isinstance(kind, str) else "auto"
    return ToolChoice(mode, (name,) if kind == "tool" and isinstance(name, str) else ())


def _json_format(form: Json) -> JsonFormat | None:
    """Return the JSON format that an output format requires, if any."""
    match form:
        case {"type": "json_schema", "schema": schema}:
            return JsonFormat(with_described_keywords(schema), "output_config.format")
        case {"type": "json_schema"}:
            return JsonFormat(ANY_OBJECT, "output_config.format")
        case _:
            return None


def _max_tokens(body: Node, *, required: bool) -> int | None:
    node = need(body, "max_tokens") if required else body.maybe("max_tokens")
    if node is None:
        return None
    if node.integer() < 0:
        raise WireError(400, "max_tokens: Input should be greater than or equal to 0")
    return node.integer()


def _reasoning(thinking: Node | None) -> bool:
    return thinking is not None and need(thinking, "type").text() != "disabled"


def _response_format(body: Node) -> Json:
    """Return the output format, from its current key or that of older beta clients."""
    config = body.maybe("output_config")
    wanted = _object(config, "format") if config else None
    return _object(body, "output_format") if wanted is None else wanted


def _metadata(node: Node | None) -> Mapping[str, str]:
    if node is None:
        return {}
    if user := node.maybe("user_id"):
        user.text()
    return {key: value for key, value in node.object().items() if isinstance(value, str)}


def _list(body: Node, key: str) -> Iterator[Node]:
    node = body.maybe(key)
    return node.items() if node else iter(())


def _object(parent: Node, key: str) -> dict[str, Json] | None:
    node = parent.maybe(key)
    return node.object() if node else None


def _flag(parent: Node, key: str) -> bool:
    node = parent.maybe(key)
    return node is not None and node.flag()


def _number(parent: Node, key: str) -> float | None:
    node = parent.maybe(key)
    return node.number() if node else None


def with_described_keywords(schema: Json) -> Json:
    """Return a schema with the keywords that its descriptions end with, in braces."""
    match schema:
        case list():
            return [with_described_keywords(each) for each in schema]
        case dict():
            inner = {key: with_described_keywords(value) for key, value in schema.items()}
            description = schema.get("description")
            return (
                {**_described_keywords(description), **inner}
                if isinstance(description, str)
                else inner
            )
        case _:
            return schema


def _described_keywords(description: str) -> Mapping[str, Json]:
    match = _SCHEMA_KEYWORDS.search(description)
    if match is None:
        return {}
    _, *split = _KEY.split(match[1])
    words: dict[str, Json] = {}
    for key, value in zip(split[::2], split[1::2], strict=True):
        if key in _NUMBERS and (number := _decimal(value)) is not None:
            words[key] = number
        elif key in _TEXTS:
            words[key] = value
        elif (key, value) == ("uniqueItems", "True"):
            words[key] = True
    return words


def _decimal(text: str) -> int | float | None:
    if not _DECIMAL.fullmatch(text):
        return None
    return float(text) if "." in text else int(text)
