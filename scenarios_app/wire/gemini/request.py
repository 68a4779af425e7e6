"""Parses Gemini's request bodies, and converts Google's schemas to JSON Schema."""

import re
from collections.abc import Callable, Iterator, Mapping

from msgspec.structs import replace

from scenarios_app.engine.canonical import (
    ANY_OBJECT,
    CallMode,
    CanonicalRequest,
    Json,
    JsonFormat,
    Message,
    Tool,
    ToolChoice,
)
from scenarios_app.wire.base import Call, Endpoint, Params
from scenarios_app.wire.body import Node
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.gemini.contents import read_contents, read_system
from scenarios_app.wire.gemini.fields import (
    find_field,
    integer_field,
    list_field,
    read_field,
    read_integer,
    read_number,
    require_field,
    text_field,
    to_snake_case,
)
from scenarios_app.wire.gemini.style import GeminiStyle, style_of, thinks
from scenarios_app.wire.gemini.upstream import PROVIDER
from scenarios_app.wire.gemini.usage import read_top_logprobs

TUNED = "tunedModels/"
# The tokens of unscripted reasoning, and of a cache of unknown size (the API's minimum).
_THOUGHT_TOKENS = 64
_CACHED_TOKENS = 1_024

_MAX_CANDIDATES = 8
_FORMATS = ("responseMimeType", "responseSchema", "responseJsonSchema")
# Settings without effect here: only their type is checked, as by the real API.
_TYPES: Mapping[str, Callable[[Node], object]] = {
    "frequencyPenalty": read_number,
    "logprobs": read_integer,
    "presencePenalty": read_number,
    "responseLogprobs": Node.flag,
    "responseMimeType": Node.text,
    "responseModalities": Node.items,
    "responseSchema": Node.object,
    "seed": read_integer,
    "topK": read_number,
}
_SNAKE_LETTER = re.compile("_([a-z])")
# Sizes are 64-bit numbers, which protobuf writes as strings.
_SIZES = frozenset(
    f"{end}{of}" for end in ("min", "max") for of in ("Items", "Length", "Properties")
)


def model_of(endpoint: Endpoint, params: Params) -> str:
    """Return the model that a path names; a tuned one keeps its prefix."""
    name = params.get("model", "")
    return f"{TUNED}{name}" if f"/{TUNED}" in endpoint.pattern else name


def read_generate(
    call: Call, endpoint: Endpoint, params: Params, body: Node, *, stream: bool = False
) -> CanonicalRequest:
    """Return a request for a response, streamed or not; raise the 400 for an invalid field."""
    config = find_field(body, "generationConfig") or Node({}, "generationConfig")
    for key, check in _TYPES.items() if config.value else ():
        read_field(config, key, check)
    model = model_of(endpoint, params)
    for setting in list_field(body, "safetySettings"):
        setting.object()
    thinking = find_field(config, "thinkingConfig")
    budget = integer_field(thinking, "thinkingBudget") if thinking else None
    thinking_on = thinks(model, budget)
    return CanonicalRequest(
        provider=PROVIDER,
        path=call.path,
        route=endpoint.canonical,
        model=model,
        messages=tuple(_read_messages(body)),
        tools=tuple(_read_tools(body)),
        tool_choice=read_field(body, "toolConfig", Node.object),
        choice=read_field(body, "toolConfig", _tool_choice) or ToolChoice(),
        stream=stream,
        temperature=read_field(config, "temperature", read_number),
        top_p=read_field(config, "topP", read_number),
        max_tokens=integer_field(config, "maxOutputTokens"),
        stop=tuple(map(Node.text, list_field(config, "stopSequences"))),
        reasoning=thinking is not None and _asks_for_reasoning(thinking, budget),
        response_format=_response_format(config),
        json=_json_format(config),
        n=_read_candidate_count(config),
        headers=call.headers,
        metadata=read_field(body, "labels", _read_labels) or {},
        own=_answer_style(model, config, body, thinks=thinking_on),
        thought_tokens=_thought_tokens(budget) if thinking_on else 0,
        cached_tokens=_CACHED_TOKENS if text_field(body, "cachedContent") else 0,
    )


def _answer_style(model: str, config: Node, body: Node, *, thinks: bool) -> GeminiStyle:
    """Return the style of the response, with the requested log probabilities."""
    tools = list_field(body, "tools")
    functions = any(find_field(tool, "functionDeclarations") for tool in tools)
    style = style_of(model, thinks=thinks, functions=functions)
    top = read_top_logprobs(config)
    return style if top is None else replace(style, top_logprobs=top)


def read_count_tokens(
    call: Call, endpoint: Endpoint, params: Params, body: Node
) -> CanonicalRequest:
    """Return the request to be counted: a whole one, or contents only."""
    return read_generate(call, endpoint, params, find_field(body, "generateContentRequest") or body)


def _read_messages(body: Node) -> Iterator[Message]:
    """Yield the system instruction, if any, and the messages; raise the 400 without contents."""
    if system := find_field(body, "systemInstruction"):
        yield read_system(system)
    contents = tuple(list_field(body, "contents"))
    if not contents:
        raise WireError(
            400, "GenerateContentRequest.contents: contents is not specified", param="contents"
        )
    yield from read_contents(iter(contents))


def _read_tools(body: Node) -> Iterator[Tool]:
    """Yield the declared functions and the hosted tools, named in snake_case."""
    for tool in list_field(body, "tools"):
        for key in tool.object():
            if to_snake_case(key) == "function_declarations":
                yield from map(_read_function, list_field(tool, key))
            elif tool.maybe(key):
                yield Tool(to_snake_case(key), kind="hosted")


def _thought_tokens(budget: int | None) -> int:
    """Return the tokens of unscripted reasoning, within the budget (-1: no budget)."""
    return _THOUGHT_TOKENS if budget is None or budget < 0 else min(budget, _THOUGHT_TOKENS)


def _read_function(node: Node) -> Tool:
    """Return a declared function; its schema is in Google's form or in JSON Schema."""
    schema: Json
    if own := read_field(node, "parameters", Node.object):
        schema = json_schema(own)
    else:
        # Not only objects: `true` is a schema too.
        schema = read_field(node, "parametersJsonSchema", lambda field: field.value)
    return Tool(require_field(node, "name").text(), text_field(node, "description") or "", schema)


def _asks_for_reasoning(thinking: Node, budget: int | None) -> bool:
    """Return whether thinking was requested by a budget, a level or `includeThoughts`."""
    level = text_field(thinking, "thinkingLevel")
    includes_thoughts = read_field(thinking, "includeThoughts", Node.flag)
    return bool(level or includes_thoughts) if budget is None else budget != 0


def _response_format(config: Node) -> Json:
    """Return the fields of the config that set a response's format, as they were sent, or None."""
    return {key: node.value for key in _FORMATS if (node := find_field(config, key))} or None


_MODES: Mapping[str, CallMode] = {"ANY": "required", "NONE": "none"}


def _tool_choice(config: Node) -> ToolChoice:
    """Return the tool choice of a `toolConfig`: its mode, `auto` if unknown, and the names of the
    functions allowed."""
    calling = find_field(config, "functionCallingConfig")
    if calling is None:
        return ToolChoice()
    mode = _MODES.get((text_field(calling, "mode") or "").upper(), "auto")
    return ToolChoice(mode, tuple(map(Node.text, list_field(calling, "allowedFunctionNames"))))


def _json_format(config: Node) -> JsonFormat | None:
    """Return the JSON format that a response must have, if any. It is a bare word for an enum."""
    kind = text_field(config, "responseMimeType")
    # Gemini CLI writes Google's type names in the second one, too.
    for key in ("responseSchema", "responseJsonSchema"):
        if schema := find_field(config, key):
            bare = kind == "text/x.enum"
            return JsonFormat(json_schema(schema.value), f"{config.place}.{key}", bare)
    if kind == "application/json":
        return JsonFormat(ANY_OBJECT, f"{config.place}.responseMimeType")
    return None


def _read_candidate_count(config: Node) -> int:
    """Return the number of candidates, 1 by default; raise the 400 for one out of range."""
    wanted = integer_field(config, "candidateCount")
    if wanted is None:
        return 1
    if 1 <= wanted <= _MAX_CANDIDATES:
        return wanted
    place = "generationConfig.candidateCount"
    raise WireError(
        400, f"{place}: expected 1 to {_MAX_CANDIDATES}, but got {wanted}.", param=place
    )


def _read_labels(labels: Node) -> Mapping[str, str]:
    """Return the labels of a request; raise a 400 for values that are no text."""
    return {key: labels.get(key).text() for key in labels.object()}


def json_schema(schema: Json) -> Json:
    """Return the JSON Schema for one of Google's schemas. Unknown keywords stay unchanged."""
    if not isinstance(schema, dict):
        return schema
    return dict(map(_to_json_schema_keyword, schema.items()))


def _to_json_schema_keyword(item: tuple[str, Json]) -> tuple[str, Json]:
    """Return a keyword of Google's schema with the name and value that JSON Schema gives it."""
    key = _SNAKE_LETTER.sub(lambda match: match[1].upper(), item[0])
    match key, item[1]:
        case "type", str(name):
            return key, name.lower()
        case "items" | "additionalProperties" | "not", dict(inner):
            return key, json_schema(inner)
        case "anyOf" | "allOf" | "oneOf" | "prefixItems", list(several):
            return key, [json_schema(each) for each in several]
        case "properties" | "defs" | "$defs", dict(named):
            return key, {name: json_schema(each) for name, each in named.items()}
        case _, str(digits) if key in _SIZES and digits.isdecimal() and len(digits) < 20:
            return key, int(digits)
        case _:
            return key, item[1]
