"""Reads OpenAI chat requests."""

from collections.abc import Callable, Mapping

from scenarios_app.engine.canonical import CanonicalRequest, Json, Tool
from scenarios_app.wire.base import Call, Route
from scenarios_app.wire.body import Node
from scenarios_app.wire.openai_dialect import DEPLOYMENT, PROVIDER
from scenarios_app.wire.openai_fields import (
    check_types,
    model_of,
    read_choices,
    read_definition,
    read_metadata,
    read_number,
    read_stop,
    read_stream,
    read_tool_choice,
)
from scenarios_app.wire.openai_messages import read_messages, unsupported

_MAX_TOKENS = ("max_completion_tokens", "max_tokens")

# What a CanonicalRequest holds as it came; every other field stays readable in `extra`.
_CARRIED = frozenset(
    {
        "messages",
        "metadata",
        "model",
        "n",
        "response_format",
        "stream",
        "temperature",
        "tool_choice",
        "top_p",
    }
)

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


def read_chat(call: Call, route: Route, params: Mapping[str, str], body: Node) -> CanonicalRequest:
    """A request for a chat completion."""
    model = model_of(body, params.get(DEPLOYMENT))
    messages = read_messages(body.need("messages"))
    check_types(body, _TYPES)
    return CanonicalRequest(
        provider=PROVIDER,
        path=call.path,
        route=route.canonical,
        model=model,
        messages=messages,
        tools=_tools(body),
        tool_choice=read_tool_choice(body, "tool_choice", "function_call"),
        stream=read_stream(body),
        temperature=read_number(body, "temperature"),
        top_p=read_number(body, "top_p"),
        max_tokens=_max_tokens(body),
        stop=read_stop(body),
        reasoning=_reasoning(body),
        response_format=_response_format(body),
        n=read_choices(body),
        headers=call.headers,
        metadata=read_metadata(body),
        extra={key: value for key, value in body.object().items() if key not in _CARRIED},
    )


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
            return read_definition(node.need("custom"), "format")
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
