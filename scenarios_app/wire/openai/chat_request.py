"""Reads OpenAI chat requests."""

from collections.abc import Callable, Iterator, Mapping

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
from scenarios_app.wire.openai.dialects.rows import DIALECTS, OPENAI, PROVIDERS
from scenarios_app.wire.openai.dialects.untyped import with_types
from scenarios_app.wire.openai.fields import (
    check_types,
    choice_of,
    json_of,
    model_of,
    read_choices,
    read_definition,
    read_metadata,
    read_number,
    read_stop,
    read_stream,
    read_tool_choice,
    unsupported,
    wants_obfuscation,
    wants_usage,
)
from scenarios_app.wire.openai.logprobs import read_top
from scenarios_app.wire.openai.shared import DEPLOYMENT, PROVIDER

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
        case "thinking":
            return ReasoningPart("\n".join(p.need("text").text() for p in node.need(kind).items()))
        case _:
            if kind in _PAYLOADS:
                node.need(kind)
            return OpaquePart(kind)


def _assistant_parts(node: Node, called: dict[str, str]) -> tuple[MessagePart, ...]:
    parts: list[MessagePart] = []
    parts.extend(_thoughts(node))
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


def _thoughts(node: Node) -> Iterator[ReasoningPart]:
    """What was thought, by whichever name it comes back: the same text may come under several."""
    if details := node.maybe("reasoning_details"):
        for detail in details.items():
            signature = detail.maybe("signature")
            yield ReasoningPart(
                _some_text(detail, "text", "summary"),
                signature.text() if signature else None,
                _some_text(detail, "data") or None,
            )
        return
    for key in ("reasoning", "reasoning_content"):
        if reasoning := node.maybe(key):
            yield ReasoningPart(reasoning.text())
            return


def _some_text(node: Node, *keys: str) -> str:
    return next((found.text() for key in keys if (found := node.maybe(key))), "")


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


_MAX_TOKENS = ("max_completion_tokens", "max_tokens")


class ChatFields(msgspec.Struct, frozen=True):
    """What a chat request says that decides the form of its answer alone: the names of its custom
    tools, whether it offers legacy `functions` and nothing else, whether a stream tells usage and
    its deltas hide how long they are, the dialect, and how many likely tokens are told at the place
    of each; None if none is told."""

    custom_tools: frozenset[str] = frozenset()
    legacy_functions: bool = False
    include_usage: bool = False
    obfuscated: bool = True
    dialect: Dialect = OPENAI
    top_logprobs: int | None = None


# What steps may call a request in a dialect, beside by the provider whose API it is.
_NAMES: Mapping[str, tuple[str, ...]] = {
    name: (name,) if name in PROVIDERS or name == "azure" else () for name in DIALECTS
}

# Fields that nothing here depends on, but whose wrong type the real API refuses as well.
_TYPES: Mapping[str, Callable[[Node], object]] = {
    "audio": Node.object,
    "frequency_penalty": Node.number,
    "logit_bias": Node.object,
    "logprobs": Node.flag,
    "modalities": Node.items,
    "moderation": Node.object,
    "parallel_tool_calls": Node.flag,
    "prediction": Node.object,
    "presence_penalty": Node.number,
    "prompt_cache_key": Node.text,
    "prompt_cache_options": Node.object,
    "prompt_cache_retention": Node.text,
    "safety_identifier": Node.text,
    "seed": Node.integer,
    "service_tier": Node.text,
    "store": Node.flag,
    "top_logprobs": Node.integer,
    "user": Node.text,
    "verbosity": Node.text,
    "web_search_options": Node.object,
}


def read_chat(
    call: Call,
    endpoint: Endpoint,
    params: Params,
    body: Node,
    dialect: Dialect = OPENAI,
) -> CanonicalRequest:
    """A request for a chat completion, in the dialect of the path, else in that which its model
    begins with."""
    model = model_of(body, params.get(DEPLOYMENT))
    also = PROVIDERS if dialect is OPENAI else _NAMES[dialect.name]
    if dialect is OPENAI and "/" in model:
        named = DIALECTS.get(model.partition("/")[0])
        if named is not None and named is not OPENAI:
            dialect, also = named, _NAMES[named.name]
    if dialect.own_tools:
        body = with_types(body)
    messages = read_messages(body.need("messages"))
    check_types(body, _TYPES)
    choice, form = read_tool_choice(body, "tool_choice", "function_call"), _response_format(body)
    return CanonicalRequest(
        provider=PROVIDER,
        also=also,
        path=call.path,
        route=endpoint.canonical,
        model=model,
        messages=messages,
        tools=_tools(body),
        tool_choice=choice,
        choice=choice_of(choice),
        stream=read_stream(body),
        temperature=read_number(body, "temperature"),
        top_p=read_number(body, "top_p"),
        max_tokens=_max_tokens(body),
        stop=read_stop(body),
        reasoning=_reasoning(body),
        response_format=form,
        json=json_of(form, "response_format"),
        n=read_choices(body),
        headers=call.headers,
        metadata=read_metadata(body),
        own=_own(body, dialect),
    )


def _own(body: Node, dialect: Dialect) -> ChatFields:
    tools = body.maybe("tools")
    return ChatFields(
        custom_tools=frozenset(_custom(tools)) if tools else frozenset(),
        legacy_functions=bool(body.get("functions").value) and not (tools and tools.value),
        include_usage=wants_usage(body),
        obfuscated=wants_obfuscation(body),
        dialect=dialect,
        top_logprobs=_top_logprobs(body),
    )


def _top_logprobs(body: Node) -> int | None:
    if body.get("logprobs").value is True:
        return read_top(body)
    if body.maybe("top_logprobs") is None:
        return None
    raise WireError(
        400,
        "'top_logprobs' is only allowed with 'logprobs': true.",
        param="top_logprobs",
        code="invalid_value",
    )


def _custom(tools: Node) -> Iterator[str]:
    for tool in tools.items():
        if tool.get("type").value == "custom":
            yield tool.get("custom").get("name").text()


def _tools(body: Node) -> tuple[Tool, ...]:
    tools: list[Tool] = []
    if node := body.maybe("tools"):
        tools.extend(_tool(item) for item in node.items())
    if legacy := body.maybe("functions"):
        tools.extend(read_definition(item, "parameters") for item in legacy.items())
    return tuple(tools)


def _tool(node: Node) -> Tool:
    kind = node.need("type")
    match kind.text():
        case "function":
            return read_definition(node.need("function"), "parameters")
        case "custom":
            return read_definition(node.need("custom"), "format", "custom")
        case _:
            raise unsupported(kind, "'function' and 'custom'")


def _max_tokens(body: Node) -> int | None:
    """The newer name wins where both are given."""
    given = [node for key in _MAX_TOKENS if (node := body.maybe(key))]
    limits = [node.integer() for node in given]
    return limits[0] if limits else None


def _reasoning(body: Node) -> bool:
    """Whether thinking was asked for: by `reasoning_effort`, or by other servers' `reasoning`."""
    effort = body.maybe("reasoning_effort")
    if effort and effort.text() != "none":
        return True
    node = body.get("reasoning")
    match node.value:
        case None | "none":
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


def _response_format(body: Node) -> Json:
    node = body.maybe("response_format")
    if node is None:
        return None
    node.need("type").text()
    return node.value
