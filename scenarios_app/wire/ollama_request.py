"""Reads Ollama's requests: for an answer in chat or generate, for embeddings, about models."""

from scenarios_app.engine.canonical import CanonicalRequest, Message
from scenarios_app.engine.parts import MessagePart, TextPart
from scenarios_app.wire.base import Call, Route
from scenarios_app.wire.body import Node
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.ollama_fields import (
    check_logprobs,
    flag_of,
    format_of,
    images_of,
    model_of,
    options_of,
    others,
    text_of,
    thinks,
    tools_of,
    unloads,
)
from scenarios_app.wire.ollama_memory import recall
from scenarios_app.wire.ollama_messages import read_messages

PROVIDER = "ollama"
MOST_INPUTS = 2_048


def read_request(call: Call, route: Route, body: Node) -> CanonicalRequest:
    match route.operation:
        case "chat":
            return _chat(call, route, body)
        case "generate":
            return _generate(call, route, body)
        case "embed":
            return _embed(call, route, body)
        case "embeddings":
            unloads(body)
            return _embedding(call, route, body, (TextPart(text_of(body, "prompt")),))
        case "show":
            return _show(call, route, body)
        case _:
            return _plain(call, route)


def _chat(call: Call, route: Route, body: Node) -> CanonicalRequest:
    check_logprobs(body)
    messages = read_messages(node) if (node := body.maybe("messages")) else ()
    return _asked(call, route, body, messages, asks=bool(messages))


def _generate(call: Call, route: Route, body: Node) -> CanonicalRequest:
    check_logprobs(body)
    system, prompt = text_of(body, "system"), text_of(body, "prompt")
    template = text_of(body, "template")
    text_of(body, "suffix")
    context = body.maybe("context")
    numbers = [node.integer() for node in context.items()] if context else []
    if flag_of(body, "raw") and (template or system or numbers):
        raise WireError(400, "raw mode does not support template, system, or context")
    said: tuple[MessagePart, ...] = (TextPart(prompt), *images_of(body))
    messages = (*recall(numbers), Message("user", said))
    if system:
        messages = (Message("system", (TextPart(system),)), *messages)
    return _asked(call, route, body, messages, asks=bool(prompt))


def _asked(
    call: Call, route: Route, body: Node, messages: tuple[Message, ...], *, asks: bool
) -> CanonicalRequest:
    """A request for an answer. One that says nothing only loads its model, or puts it away."""
    options = options_of(body)
    unloads(body)
    return CanonicalRequest(
        provider=PROVIDER,
        path=call.path,
        route=route.pattern,
        model=model_of(body),
        messages=messages if asks else (),
        tools=tools_of(body),
        stream=flag_of(body, "stream", default=True) and asks,
        temperature=options.temperature,
        top_p=options.top_p,
        max_tokens=options.max_tokens,
        stop=options.stop,
        reasoning=thinks(body),
        response_format=format_of(body),
        headers=call.headers,
        extra=others(body),
        computed=not asks,
    )


def _embed(call: Call, route: Route, body: Node) -> CanonicalRequest:
    unloads(body)
    flag_of(body, "truncate")
    if dimensions := body.maybe("dimensions"):
        dimensions.integer()
    node = body.get("input")
    match node.value:
        case None | "":
            texts: tuple[TextPart, ...] = ()
        case str(text):
            texts = (TextPart(text),)
        case list(items):
            if len(items) > MOST_INPUTS:
                raise WireError(400, f"{node.place}: at most {MOST_INPUTS} texts are taken")
            texts = tuple(TextPart(item.text()) for item in node.items())
        case _:
            raise node.wrong("a string or an array of strings")
    return _embedding(call, route, body, texts)


def _embedding(
    call: Call, route: Route, body: Node, texts: tuple[TextPart, ...]
) -> CanonicalRequest:
    """What is to be embedded is what the user says, a part for each text."""
    options_of(body)
    return CanonicalRequest(
        provider=PROVIDER,
        path=call.path,
        route=route.pattern,
        model=model_of(body),
        messages=(Message("user", texts),),
        headers=call.headers,
        extra=others(body),
    )


def _show(call: Call, route: Route, body: Node) -> CanonicalRequest:
    """Older clients ask for a model by `name`."""
    flag_of(body, "verbose")
    name = text_of(body, "model") or text_of(body, "name")
    if not name:
        raise WireError(400, "model is required")
    return CanonicalRequest(
        provider=PROVIDER, path=call.path, route=route.pattern, model=name, headers=call.headers
    )


def _plain(call: Call, route: Route) -> CanonicalRequest:
    return CanonicalRequest(
        provider=PROVIDER, path=call.path, route=route.pattern, model="", headers=call.headers
    )
