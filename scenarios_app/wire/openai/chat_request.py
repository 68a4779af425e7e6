"""Parses OpenAI's chat requests. Each reader raises OpenAI's 400 for a wrong type or value."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from scenarios_app.engine.canonical import CanonicalRequest, Json, Message, Tool
from scenarios_app.engine.parts import (
    MessagePart,
    OpaquePart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from scenarios_app.wire.base import Call, Endpoint, Params
from scenarios_app.wire.body import Node
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.openai.dialects.dialect import Dialect
from scenarios_app.wire.openai.dialects.rows import AZURE_OPENAI, DIALECTS, OPENAI, PROVIDERS
from scenarios_app.wire.openai.fields import (
    COMMON,
    DEFAULT_STREAM_OPTIONS,
    read_choice_count,
    read_fields,
    read_model,
    read_pairs,
    read_stop,
    read_tool_choice,
    read_tool_definition,
    read_top_logprobs,
    to_json_format,
    to_tool_choice,
    unsupported,
)
from scenarios_app.wire.openai.shared import DEPLOYMENT
from scenarios_app.wire.openai.upstream import PROVIDER

_ROLES = "'system', 'developer', 'user', 'assistant', 'tool' and 'function'"
_PAYLOADS = frozenset({"image_url", "input_audio", "file"})


def read_messages(node: Node) -> tuple[Message, ...]:
    """Return the messages of a conversation, each tool result with the name of its call. Raises the
    400 if there are none."""
    called: dict[str, str] = {}
    messages = tuple(_read_message(item, called) for item in node.items())
    if messages:
        return messages
    raise WireError(
        400,
        f"Invalid '{node.place}': at least one message is needed.",
        param=node.place,
        code="empty_array",
    )


def _read_message(node: Node, called: dict[str, str]) -> Message:
    """Return a message, or raise the 400. `called` maps the ids of earlier calls to their tools; an
    assistant message adds its calls."""
    role = node.need("role")
    match role.text():
        case "system" | "developer":
            return Message("system", _read_content(node.need("content")))
        case "user":
            return Message("user", _read_content(node.need("content")))
        case "assistant":
            return Message("assistant", _assistant_parts(node, called))
        case "tool":
            return Message("tool", (_tool_result(node, called),))
        case "function":
            return Message("tool", (_function_result(node),))
        case _:
            raise unsupported(role, _ROLES)


def _read_content(node: Node) -> tuple[MessagePart, ...]:
    """Return the parts of a content; raise the 400 unless it is a string or an array."""
    match node.value:
        case str(text):
            return (TextPart(text),)
        case list():
            return tuple(_read_part(item) for item in node.items())
        case _:
            raise node.wrong("a string or an array")


def _read_part(node: Node) -> MessagePart:
    """Return a part of a content. Of images, audio, files and unknown types only the type is kept.
    Raises the 400 if its value is missing."""
    kind = node.need("type").text()
    match kind:
        case "text":
            return TextPart(node.need("text").text())
        case "refusal":
            return RefusalPart(node.need("refusal").text())
        case "thinking":
            return ReasoningPart("\n".join(p.need("text").text() for p in node.need(kind).items()))
        case _:
            if kind in _PAYLOADS:
                node.need(kind)
            return OpaquePart(kind)


def _assistant_parts(node: Node, called: dict[str, str]) -> tuple[MessagePart, ...]:
    """Return the parts of an assistant message: reasoning, content, refusal, audio and calls. Those
    in `tool_calls` are added to `called`."""
    parts: list[MessagePart] = [*_reasoning_parts(node)]
    parts += node.optional("content", _read_content) or ()
    if refusal := node.maybe("refusal"):
        parts.append(RefusalPart(refusal.text()))
    if node.maybe("audio"):
        parts.append(OpaquePart("audio"))
    parts += [_tool_call(item, called) for item in node.items_at("tool_calls")]
    if function_call := node.maybe("function_call"):
        name = function_call.need("name").text()
        parts.append(ToolCallPart(name, name, function_call.need("arguments").text()))
    return tuple(parts)


def _reasoning_parts(node: Node) -> Iterator[ReasoningPart]:
    """Yield the reasoning of a message, from the first field that has it: clients may send the same
    text in several. Yields nothing if none has."""
    if details := node.maybe("reasoning_details"):
        for detail in details.items():
            text = detail.maybe("text") or detail.maybe("summary")
            yield ReasoningPart(
                text.text() if text else "",
                detail.optional("signature", Node.text),
                detail.optional("data", Node.text) or None,
            )
        return
    for key in ("reasoning", "reasoning_content"):
        if reasoning := node.maybe(key):
            yield ReasoningPart(reasoning.text())
            return


def _tool_call(node: Node, called: dict[str, str]) -> ToolCallPart:
    """Return a call of the assistant, and add its tool to `called` by its id. Raises the 400 for
    an unknown type."""
    call_id = node.need("id").text()
    kind = node.need("type")
    if kind.text() not in ("function", "custom"):
        raise unsupported(kind, "'function' and 'custom'")
    is_custom = kind.value == "custom"
    call = node.need(kind.text())
    called[call_id] = name = call.need("name").text()
    text = call.need("input" if is_custom else "arguments").text()
    return ToolCallPart(call_id, name, text, custom=is_custom)


def _tool_result(node: Node, called: dict[str, str]) -> ToolResultPart:
    """Return a tool's result; its name is that in `called`, or "" for an unknown call."""
    call_id = node.need("tool_call_id").text()
    return ToolResultPart(call_id, called.get(call_id, ""), _joined_text(node.need("content")))


def _function_result(node: Node) -> ToolResultPart:
    """Return the result of a legacy function call, with the function's name as the call's id."""
    name = node.need("name").text()
    return ToolResultPart(name, name, node.optional("content", _joined_text) or "")


def _joined_text(node: Node) -> str:
    """Return the text parts of a content, joined by line breaks, without its other parts."""
    return "\n".join(part.text for part in _read_content(node) if isinstance(part, TextPart))


class ChatFields(msgspec.Struct, frozen=True):
    """Fields of a chat request that affect only the form of its response.

    `legacy_functions` is true if only legacy `functions` are offered; `include_usage` adds a usage
    chunk to a stream, `obfuscated` pads its deltas. `top_logprobs` is the number of alternatives
    per token, None for no log probabilities.
    """

    legacy_functions: bool = False
    include_usage: bool = False
    obfuscated: bool = True
    dialect: Dialect = OPENAI
    top_logprobs: int | None = None


def _other_providers(dialect: Dialect) -> tuple[str, ...]:
    """Return the names that `match.provider` of a step may have for the dialect, beside its
    provider."""
    if dialect is OPENAI:
        return PROVIDERS
    if dialect.provider != PROVIDER:
        return (PROVIDER,)
    return (dialect.name,) if dialect is AZURE_OPENAI else ()


# The names beside its provider by which steps match requests on a dialect's paths.
OTHER_PROVIDERS: Mapping[str, tuple[str, ...]] = {
    name: _other_providers(dialect) for name, dialect in DIALECTS.items()
}


def dialect_of_model(model: str) -> Dialect:
    """Return the dialect that a model names before its first slash, as in `groq/llama-3`, or
    OpenAI's if that is no dialect."""
    return DIALECTS.get(model.partition("/")[0], OPENAI)


def read_chat(
    call: Call,
    endpoint: Endpoint,
    params: Params,
    body: Node,
    dialect: Dialect = OPENAI,
) -> CanonicalRequest:
    """Return a request for a chat completion, in the dialect of the path, or if that is OpenAI's,
    in the one that the model names."""
    model = read_model(body, params.get(DEPLOYMENT))
    provider, also = dialect.provider, OTHER_PROVIDERS[dialect.name]
    if dialect is OPENAI and "/" in model:
        dialect = dialect_of_model(model)
        is_named = dialect.provider != PROVIDER
        also = (dialect.provider,) if is_named else OTHER_PROVIDERS[dialect.name]
    if dialect.provider_tools:
        body = _add_default_types(body)
    messages = read_messages(body.need("messages"))
    fields = read_fields(body, _FIELDS)
    offered, functions = fields.get("tools", ()), fields.get("functions", ())
    options = fields.get("stream_options", DEFAULT_STREAM_OPTIONS)
    choice = fields.get("tool_choice", fields.get("function_call"))
    form = fields.get("response_format")
    return CanonicalRequest(
        provider=provider,
        also=also,
        path=call.path,
        route=endpoint.canonical,
        model=model,
        messages=messages,
        tools=(*offered, *functions),
        tool_choice=choice,
        choice=to_tool_choice(choice),
        # The newer name wins.
        max_tokens=fields.get("max_completion_tokens", fields.get("max_tokens")),
        reasoning=fields.get("reasoning_effort", False) or fields.get("reasoning", False),
        response_format=form,
        json=to_json_format(form, "response_format"),
        headers=call.headers,
        own=ChatFields(
            legacy_functions=bool(functions) and not offered,
            include_usage=options.include_usage,
            obfuscated=options.obfuscated,
            dialect=dialect,
            top_logprobs=_read_top_logprobs(body, fields),
        ),
        **{key: value for key, value in fields.items() if key in _SAME_NAMES},
    )


def _read_top_logprobs(body: Node, fields: Mapping[str, Any]) -> int | None:
    """Return the number of alternatives per token, or None if no log probabilities are requested;
    raise the 400 for `top_logprobs` without `logprobs`."""
    if fields.get("logprobs"):
        return read_top_logprobs(body)
    if "top_logprobs" not in fields:
        return None
    raise WireError(
        400,
        "'top_logprobs' is only allowed with 'logprobs': true.",
        param="top_logprobs",
        code="invalid_value",
    )


def _add_default_types(body: Node) -> Node:
    """Return a copy of the body in which every tool and call has a type, and every hosted tool is a
    function."""
    fields = dict(body.object())
    if isinstance(tools := fields.get("tools"), list):
        fields["tools"] = [_add_tool_type(tool) for tool in tools]
    if isinstance(messages := fields.get("messages"), list):
        fields["messages"] = [_add_call_types(message) for message in messages]
    return Node(fields, body.place)


def _add_tool_type(tool: Json) -> Json:
    """Return a tool with its type, which some dialects leave out; a hosted tool becomes a function
    named by its type. Returns any other value unchanged."""
    if not isinstance(tool, dict):
        return tool
    kind = tool.get("type", "function")
    if isinstance(kind, str) and kind not in ("function", "custom"):
        return {"type": "function", "function": {"name": kind}}
    return {"type": "function", **tool}


def _add_call_types(message: Json) -> Json:
    """Return a message whose tool calls have their type, which some dialects leave out. Returns any
    other value unchanged."""
    if isinstance(message, dict) and isinstance(calls := message.get("tool_calls"), list):
        typed: Json = [{"type": "function", **c} if isinstance(c, dict) else c for c in calls]
        return {**message, "tool_calls": typed}
    return message


def _read_tool(node: Node) -> Tool:
    """Return a tool that the request offers; raise the 400 for an unknown type."""
    kind = node.need("type")
    match kind.text():
        case "function":
            return read_tool_definition(node.need("function"), "parameters")
        case "custom":
            return read_tool_definition(node.need("custom"), "format", "custom")
        case _:
            raise unsupported(kind, "'function' and 'custom'")


def _read_reasoning(node: Node) -> bool:
    """Return whether the field `reasoning`, which only other servers have, requests reasoning.
    Raises the 400 for another type than string, boolean or object."""
    match node.value:
        case "none":
            return False
        case str():
            return True
        case bool(enabled):
            return enabled
        case {"enabled": False} | {"effort": "none"}:
            return False
        case dict():
            return True
        case _:
            raise node.wrong("an object")


def _read_response_format(node: Node) -> Json:
    """Return the format as it was sent; raise the 400 unless it is an object with a `type`."""
    node.need("type").text()
    return node.value


# Fields that have the same name in a canonical request.
_SAME_NAMES = frozenset({"metadata", "n", "stop", "stream", "temperature", "top_p"})
# Fields without effect here: only their type is checked, as by the real API.
_FIELDS: Mapping[str, Callable[[Node], object]] = {
    **COMMON,
    "audio": Node.object,
    "function_call": read_tool_choice,
    "functions": lambda node: [read_tool_definition(item, "parameters") for item in node.items()],
    "logit_bias": Node.object,
    "logprobs": Node.flag,
    "max_completion_tokens": Node.integer,
    "max_tokens": Node.integer,
    "metadata": read_pairs,
    "modalities": Node.items,
    "moderation": Node.object,
    "n": read_choice_count,
    "parallel_tool_calls": Node.flag,
    "prediction": Node.object,
    "prompt_cache_key": Node.text,
    "prompt_cache_options": Node.object,
    "prompt_cache_retention": Node.text,
    "reasoning": _read_reasoning,
    "reasoning_effort": lambda node: node.text() != "none",
    "response_format": _read_response_format,
    "safety_identifier": Node.text,
    "seed": Node.integer,
    "service_tier": Node.text,
    "stop": read_stop,
    "store": Node.flag,
    "tool_choice": read_tool_choice,
    "tools": lambda node: [_read_tool(item) for item in node.items()],
    "top_logprobs": Node.integer,
    "verbosity": Node.text,
    "web_search_options": Node.object,
}
