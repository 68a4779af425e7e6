"""Reads OpenAI requests: the whole of a chat request, and what there is of the others."""

from collections.abc import Callable, Mapping

from scenarios_app.engine.canonical import CanonicalRequest, Json, Tool
from scenarios_app.wire.base import Call, Route
from scenarios_app.wire.body import Node
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.openai_messages import read_messages, unsupported

_MOST_CHOICES = 128
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


def read_chat(call: Call, route: Route, body: Node) -> CanonicalRequest:
    """A request for a chat completion."""
    model = body.need("model").text()
    if not model:
        raise WireError(400, "The model must be named.", param="model", code="invalid_value")
    messages = read_messages(body.need("messages"))
    fields = body.object()
    for key in fields.keys() & _TYPES.keys():
        if node := body.maybe(key):
            _TYPES[key](node)
    return CanonicalRequest(
        provider="openai",
        path=call.path,
        route=route.pattern,
        model=model,
        messages=messages,
        tools=_tools(body),
        tool_choice=_tool_choice(body),
        stream=_stream(body),
        temperature=node.number() if (node := body.maybe("temperature")) else None,
        top_p=node.number() if (node := body.maybe("top_p")) else None,
        max_tokens=_max_tokens(body),
        stop=_stop(body),
        reasoning=_reasoning(body),
        response_format=_response_format(body),
        n=_choices(body),
        headers=call.headers,
        metadata=_metadata(body),
        extra={key: value for key, value in fields.items() if key not in _CARRIED},
    )


def read_plain(call: Call, route: Route, params: Mapping[str, str], body: Node) -> CanonicalRequest:
    """A request about models or stored completions, which has metadata at the most."""
    return CanonicalRequest(
        provider="openai",
        path=call.path,
        route=route.pattern,
        model=params.get("model", ""),
        headers=call.headers,
        metadata=_metadata(body) if call.method == "POST" else {},
    )


def _metadata(body: Node) -> dict[str, str]:
    node = body.maybe("metadata")
    return {key: node.get(key).text() for key in node.object()} if node else {}


def _tools(body: Node) -> tuple[Tool, ...]:
    tools: list[Tool] = []
    if node := body.maybe("tools"):
        tools.extend(_tool(item) for item in node.items())
    if legacy := body.maybe("functions"):
        tools.extend(_definition(item, "parameters") for item in legacy.items())
    return tuple(tools)


def _tool(node: Node) -> Tool:
    kind = node.need("type")
    match kind.text():
        case "function":
            return _definition(node.need("function"), "parameters")
        case "custom":
            return _definition(node.need("custom"), "format")
        case _:
            raise unsupported(kind, "'function' and 'custom'")


def _definition(node: Node, schema: str) -> Tool:
    description, form = node.maybe("description"), node.maybe(schema)
    return Tool(
        name=node.need("name").text(),
        description=description.text() if description else "",
        schema=dict(form.object()) if form else None,
    )


def _tool_choice(body: Node) -> Json:
    choice = body.maybe("tool_choice") or body.maybe("function_call")
    if choice is None:
        return None
    if isinstance(choice.value, str | dict):
        return choice.value
    raise choice.wrong("a string or an object")


def _stream(body: Node) -> bool:
    if options := body.maybe("stream_options"):
        for key in ("include_usage", "include_obfuscation"):
            if option := options.maybe(key):
                option.flag()
    stream = body.maybe("stream")
    return stream.flag() if stream else False


def _max_tokens(body: Node) -> int | None:
    """The newer name wins where both are given."""
    given = [node for key in _MAX_TOKENS if (node := body.maybe(key))]
    limits = [node.integer() for node in given]
    return limits[0] if limits else None


def _stop(body: Node) -> tuple[str, ...]:
    node = body.get("stop")
    match node.value:
        case None:
            return ()
        case str(text):
            return (text,)
        case list():
            return tuple(item.text() for item in node.items())
        case _:
            raise node.wrong("a string or an array")


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


def _choices(body: Node) -> int:
    node = body.maybe("n")
    if node is None:
        return 1
    n = node.integer()
    if 1 <= n <= _MOST_CHOICES:
        return n
    raise WireError(
        400,
        f"Invalid '{node.place}': expected 1 to {_MOST_CHOICES} choices, but got {n}.",
        param=node.place,
        code="integer_below_min_value" if n < 1 else "integer_above_max_value",
    )
