"""Gemini request bodies read into canonical requests: what is to be answered, what is counted."""

from collections.abc import Callable, Iterator, Mapping

from scenarios_app.engine.canonical import CanonicalRequest, Json, Message, Tool
from scenarios_app.wire.base import Call, Endpoint, Params
from scenarios_app.wire.body import Node
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.gemini.contents import read_contents, read_system
from scenarios_app.wire.gemini.fields import (
    flag_of,
    integer_of,
    listed,
    maybe,
    need,
    number_of,
    object_of,
    snake,
    text_of,
)

PROVIDER = "gemini"
TUNED = "tunedModels/"

_MOST_CANDIDATES = 8
_FORMATS = ("responseMimeType", "responseSchema", "responseJsonSchema")
# Settings that nothing here depends on, but whose wrong type the real API refuses as well.
_TYPES: Mapping[str, Callable[[Node], object]] = {
    "frequencyPenalty": Node.number,
    "logprobs": Node.integer,
    "presencePenalty": Node.number,
    "responseLogprobs": Node.flag,
    "responseMimeType": Node.text,
    "responseModalities": Node.items,
    "responseSchema": Node.object,
    "seed": Node.integer,
    "topK": Node.number,
}


def model_of(endpoint: Endpoint, params: Params) -> str:
    """The model that a path names; a tuned one keeps its kind, as its resource name does."""
    name = params.get("model", "")
    return f"{TUNED}{name}" if f"/{TUNED}" in endpoint.pattern else name


def read_generate(
    call: Call, endpoint: Endpoint, params: Params, body: Node, *, stream: bool = False
) -> CanonicalRequest:
    """A request for an answer; what is to be counted is one too."""
    config = maybe(body, "generationConfig") or Node({}, "generationConfig")
    for key, check in _TYPES.items():
        if setting := maybe(config, key):
            check(setting)
    request = CanonicalRequest(
        provider=PROVIDER,
        path=call.path,
        route=endpoint.canonical,
        model=model_of(endpoint, params),
        messages=tuple(_messages(body)),
        tools=tuple(_tools(body)),
        tool_choice=object_of(body, "toolConfig"),
        stream=stream,
        temperature=number_of(config, "temperature"),
        top_p=number_of(config, "topP"),
        max_tokens=integer_of(config, "maxOutputTokens"),
        stop=tuple(node.text() for node in listed(config, "stopSequences")),
        reasoning=_reasoning(maybe(config, "thinkingConfig")),
        response_format=_format(config),
        n=_candidates(config),
        headers=call.headers,
        metadata=_labels(body),
    )
    for setting in listed(body, "safetySettings"):
        setting.object()
    text_of(body, "cachedContent")
    return request


def read_streamed(call: Call, endpoint: Endpoint, params: Params, body: Node) -> CanonicalRequest:
    """A request for an answer as a stream, which its path asks for."""
    return read_generate(call, endpoint, params, body, stream=True)


def read_counted(call: Call, endpoint: Endpoint, params: Params, body: Node) -> CanonicalRequest:
    """What is to be counted: a whole request, or contents alone."""
    return read_generate(call, endpoint, params, maybe(body, "generateContentRequest") or body)


def _messages(body: Node) -> Iterator[Message]:
    if system := maybe(body, "systemInstruction"):
        yield read_system(system)
    contents = tuple(listed(body, "contents"))
    if not contents:
        raise WireError(
            400, "GenerateContentRequest.contents: contents is not specified", param="contents"
        )
    yield from read_contents(iter(contents))


def _tools(body: Node) -> Iterator[Tool]:
    """The functions that are declared; a tool of Google's own goes by its name."""
    for tool in listed(body, "tools"):
        for key in tool.object():
            if snake(key) == "function_declarations":
                yield from map(_function, listed(tool, key))
            elif tool.maybe(key):
                yield Tool(snake(key))


def _function(node: Node) -> Tool:
    schema = object_of(node, "parameters") or object_of(node, "parametersJsonSchema")
    return Tool(need(node, "name").text(), text_of(node, "description") or "", schema)


def _reasoning(thinking: Node | None) -> bool:
    """Whether thinking was asked for: by a budget or a level, or by wanting to see it."""
    if thinking is None:
        return False
    budget, level = integer_of(thinking, "thinkingBudget"), text_of(thinking, "thinkingLevel")
    shown = flag_of(thinking, "includeThoughts")
    if budget is not None:
        return budget != 0
    return bool(level or shown)


def _format(config: Node) -> Json:
    wanted = {key: node.value for key in _FORMATS if (node := maybe(config, key))}
    return wanted or None


def _candidates(config: Node) -> int:
    wanted = integer_of(config, "candidateCount")
    if wanted is None:
        return 1
    if 1 <= wanted <= _MOST_CANDIDATES:
        return wanted
    place = "generationConfig.candidateCount"
    raise WireError(
        400, f"{place}: expected 1 to {_MOST_CANDIDATES}, but got {wanted}.", param=place
    )


def _labels(body: Node) -> Mapping[str, str]:
    labels = maybe(body, "labels")
    return {key: labels.get(key).text() for key in labels.object()} if labels else {}
