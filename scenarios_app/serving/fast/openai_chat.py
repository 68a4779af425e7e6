"""Reads the usual chat requests of OpenAI's API from typed values, as `read_chat` does.

A field of type `None` must be null or missing: with a value, the request is not a usual one.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

from scenarios_app.engine.canonical import CanonicalRequest, Json, Message, Tool, ToolChoice
from scenarios_app.engine.parts import (
    MessagePart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from scenarios_app.serving.fast.typed import TypedBody, Unsure, body_decoder, require
from scenarios_app.wire.base import Call, Endpoint, Params
from scenarios_app.wire.body import Limits
from scenarios_app.wire.openai.chat_request import OTHER_PROVIDERS, ChatFields, dialect_of_model
from scenarios_app.wire.openai.dialects.dialect import Dialect
from scenarios_app.wire.openai.dialects.rows import OPENAI
from scenarios_app.wire.openai.fields import MAX_CHOICES, to_json_format, to_tool_choice
from scenarios_app.wire.openai.shared import DEPLOYMENT

_ANY_CHOICE = ToolChoice()


class _ContentPart(TypedBody):
    type: str
    text: str | None = None
    refusal: str | None = None


class _FunctionCall(TypedBody):
    name: str
    arguments: str


class _CustomCall(TypedBody):
    name: str
    input: str


class _ToolCall(TypedBody):
    id: str
    type: str
    function: _FunctionCall | None = None
    custom: _CustomCall | None = None
    index: int | None = None


class _Message(TypedBody):
    role: str
    content: str | list[_ContentPart] | None = None
    name: str | None = None
    refusal: str | None = None
    tool_calls: list[_ToolCall] | None = None
    tool_call_id: str | None = None
    annotations: list[Any] | None = None
    audio: None = None
    function_call: None = None
    reasoning: None = None
    reasoning_content: None = None
    reasoning_details: None = None


class _ToolDefinition(TypedBody):
    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None
    format: dict[str, Any] | None = None
    strict: bool | None = None


class _Tool(TypedBody):
    type: str
    function: _ToolDefinition | None = None
    custom: _ToolDefinition | None = None


class _StreamOptions(TypedBody):
    include_usage: bool | None = None
    include_obfuscation: bool | None = None


_DEFAULT_OPTIONS = _StreamOptions()


class _ChatBody(TypedBody):
    messages: list[_Message]
    model: str | None = None
    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    n: int | None = None
    stop: str | list[str] | None = None
    tools: list[_Tool] | None = None
    tool_choice: str | dict[str, Any] | None = None
    response_format: dict[str, Any] | None = None
    metadata: dict[str, str] | None = None
    reasoning_effort: str | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    logit_bias: dict[str, float] | None = None
    modalities: list[str] | None = None
    parallel_tool_calls: bool | None = None
    prediction: dict[str, Any] | None = None
    prompt_cache_key: str | None = None
    prompt_cache_options: dict[str, Any] | None = None
    prompt_cache_retention: str | None = None
    safety_identifier: str | None = None
    seed: int | None = None
    service_tier: str | None = None
    store: bool | None = None
    user: str | None = None
    verbosity: str | None = None
    web_search_options: dict[str, Any] | None = None
    audio: None = None
    function_call: None = None
    functions: None = None
    logprobs: None = None
    moderation: None = None
    reasoning: None = None
    top_logprobs: None = None


def _untyped_values(body: _ChatBody) -> Iterator[Json]:
    """Yield the values of a body that may be nested to any depth."""
    yield from (body.tool_choice, body.response_format, body.prediction)
    yield from (body.prompt_cache_options, body.web_search_options)
    for message in body.messages:
        yield message.annotations
    for tool in body.tools or ():
        for offered in (tool.function, tool.custom):
            if offered is not None:
                yield from (offered.parameters, offered.format)


_decode = body_decoder(_ChatBody, _untyped_values)


def read_typed_chat(
    call: Call, endpoint: Endpoint, params: Params, limits: Limits, dialect: Dialect = OPENAI
) -> CanonicalRequest:
    """Return a request in the dialect of the path; raise Unsure for unusual bodies and for models
    whose prefix is that of another dialect."""
    body = _decode(call.body, limits)
    model = body.model or (params.get(DEPLOYMENT) if body.model is None else None)
    if not model or not 0 < len(body.messages) <= limits.messages:
        raise Unsure
    if dialect is OPENAI and "/" in model and dialect_of_model(model) is not OPENAI:
        raise Unsure
    n = 1 if body.n is None else body.n
    form = body.response_format
    if not 1 <= n <= MAX_CHOICES or (form is not None and not isinstance(form.get("type"), str)):
        raise Unsure
    limit = body.max_completion_tokens
    stop = body.stop
    options = body.stream_options or _DEFAULT_OPTIONS
    called: dict[str, str] = {}
    return CanonicalRequest(
        provider=dialect.provider,
        also=OTHER_PROVIDERS[dialect.name],
        path=call.path,
        route=endpoint.canonical,
        model=model,
        messages=tuple([_to_message(message, called) for message in body.messages]),
        tools=tuple([_to_tool(tool) for tool in body.tools]) if body.tools else (),
        tool_choice=body.tool_choice,
        choice=_ANY_CHOICE if body.tool_choice is None else to_tool_choice(body.tool_choice),
        stream=body.stream or False,
        temperature=body.temperature,
        top_p=body.top_p,
        max_tokens=body.max_tokens if limit is None else limit,
        stop=(stop,) if isinstance(stop, str) else tuple(stop or ()),
        reasoning=body.reasoning_effort is not None and body.reasoning_effort != "none",
        response_format=form,
        json=None if form is None else to_json_format(form, "response_format"),
        n=n,
        headers=call.headers,
        metadata=body.metadata or {},
        own=_chat_fields(
            dialect, options.include_usage or False, options.include_obfuscation is not False
        ),
    )


def _to_message(message: _Message, called: dict[str, str]) -> Message:
    """Return a message as `chat_request` reads it; raise Unsure for a role, part or call that this
    module does not read."""
    match message.role:
        case "user":
            return Message("user", _to_parts(message.content))
        case "system" | "developer":
            return Message("system", _to_parts(message.content))
        case "assistant":
            return Message("assistant", _assistant_parts(message, called))
        case "tool":
            call_id = require(message.tool_call_id)
            parts = _to_parts(message.content)
            text = "\n".join([part.text for part in parts if isinstance(part, TextPart)])
            return Message("tool", (ToolResultPart(call_id, called.get(call_id, ""), text),))
        case _:
            raise Unsure


def _to_parts(content: str | list[_ContentPart] | None) -> tuple[MessagePart, ...]:
    """Return the parts of a content; raise Unsure if it is missing."""
    if isinstance(content, str):
        return (TextPart(content),)
    return tuple([_to_part(part) for part in require(content)])


def _to_part(part: _ContentPart) -> MessagePart:
    """Return a text or a refusal; raise Unsure for other parts."""
    match part.type:
        case "text":
            return TextPart(require(part.text))
        case "refusal":
            return RefusalPart(require(part.refusal))
        case _:
            raise Unsure


def _assistant_parts(message: _Message, called: dict[str, str]) -> tuple[MessagePart, ...]:
    """Return the content, refusal and calls of a message; its calls are added to `called`."""
    parts = () if message.content is None else _to_parts(message.content)
    if message.refusal is not None:
        parts += (RefusalPart(message.refusal),)
    if message.tool_calls:
        parts += tuple([_tool_call(call, called) for call in message.tool_calls])
    return parts


def _tool_call(call: _ToolCall, called: dict[str, str]) -> ToolCallPart:
    """Return a call of the assistant, and add its tool to `called` by its id. Raises Unsure for an
    unknown type."""
    match call.type:
        case "function":
            function = require(call.function)
            name, text = function.name, function.arguments
        case "custom":
            custom = require(call.custom)
            name, text = custom.name, custom.input
        case _:
            raise Unsure
    called[call.id] = name
    return ToolCallPart(call.id, name, text, custom=call.type == "custom")


def _to_tool(tool: _Tool) -> Tool:
    """Return an offered tool; raise Unsure for an unknown type."""
    match tool.type:
        case "function":
            offered = require(tool.function)
            return Tool(offered.name, offered.description or "", offered.parameters)
        case "custom":
            offered = require(tool.custom)
            return Tool(offered.name, offered.description or "", offered.format, "custom")
        case _:
            raise Unsure


@cache
def _chat_fields(dialect: Dialect, include_usage: bool, obfuscated: bool) -> ChatFields:
    """Return the fields of a usual request, the same object for equal arguments."""
    return ChatFields(include_usage=include_usage, obfuscated=obfuscated, dialect=dialect)
