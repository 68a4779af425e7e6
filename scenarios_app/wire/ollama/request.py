"""Reads Ollama's requests: for an answer in chat or generate, for embeddings, about models."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from scenarios_app.engine.canonical import CanonicalRequest, Message, Role
from scenarios_app.engine.parts import (
    MessagePart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from scenarios_app.wire.base import Call, Route, encode_json
from scenarios_app.wire.body import Node
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.ollama.context import recall
from scenarios_app.wire.ollama.fields import (
    check_logprobs,
    flag_of,
    format_of,
    images_of,
    model_of,
    need,
    options_of,
    others,
    text_of,
    thinks,
    tools_of,
    unloads,
)

_ROLES: Mapping[str, Role] = {
    "system": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}


def read_messages(node: Node) -> tuple[Message, ...]:
    """The conversation. Its calls have the ids `call_1`, `call_2`, … where they bring none."""
    reading = _Reading()
    return tuple(map(reading.message, node.items()))


@dataclass(slots=True)
class _Reading:
    """A conversation as far as it is read. `open` are the calls of the last message that made
    some, those that have no result yet; `given` are the ids that calls have of their own."""

    calls: int = 0
    open: list[ToolCallPart] = field(default_factory=list)
    given: set[str] = field(default_factory=set)

    def message(self, node: Node) -> Message:
        named = need(node, "role")
        role = _ROLES.get(named.text().lower())
        if role is None:
            expected = ", ".join(_ROLES)
            raise WireError(
                400, f"{named.place}: invalid role {named.value!r}, must be one of {expected}"
            )
        match role:
            case "tool":
                return Message(role, (self._result(node),))
            case "assistant":
                return Message(role, self._said(node))
            case _:
                return Message(role, (*_text(node), *images_of(node)))

    def _said(self, node: Node) -> tuple[MessagePart, ...]:
        thinking = text_of(node, "thinking")
        thoughts = (ReasoningPart(thinking),) if thinking else ()
        listed = node.maybe("tool_calls")
        calls = tuple(map(self._call, listed.items())) if listed else ()
        if calls:
            self.open = list(calls)
        return (*thoughts, *_text(node), *images_of(node), *calls)

    def _call(self, node: Node) -> ToolCallPart:
        self.calls += 1
        function = need(node, "function")
        given = function.maybe("arguments")
        arguments = encode_json(given.object() if given else {}).decode()
        call_id = text_of(node, "id")
        if call_id:
            self.given.add(call_id)
        name = need(function, "name").text()
        return ToolCallPart(call_id or f"call_{self.calls}", name, arguments)

    def _result(self, node: Node) -> ToolResultPart:
        call_id, name = text_of(node, "tool_call_id"), text_of(node, "tool_name")
        content = text_of(node, "content")
        call = self._answered(call_id, name)
        if call is None:
            return ToolResultPart(call_id, name, content)
        self.open.remove(call)
        return ToolResultPart(call.id, name or call.name, content)

    def _answered(self, call_id: str, name: str) -> ToolCallPart | None:
        """The open call that a result is of: by its id, else the first with its tool's name, else
        the first. An id that no call has is one that the client made up for a call without any."""
        meant = [call for call in self.open if call.id == call_id]
        meant += [
            call
            for call in self.open
            if not (call_id and call.id in self.given) and name in ("", call.name)
        ]
        return meant[0] if meant else None


def _text(node: Node) -> tuple[TextPart, ...]:
    content = node.maybe("content")
    return (TextPart(content.text()),) if content else ()


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
