"""Parses Ollama's requests: chat, generate, embeddings, and those about models."""

from itertools import chain

import msgspec

from scenarios_app.engine.canonical import CanonicalRequest, Message
from scenarios_app.engine.parts import (
    MessagePart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from scenarios_app.wire.base import Call, Endpoint, Params, encode_json, make_resource_request
from scenarios_app.wire.body import Node
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.ollama.fields import (
    decode_context,
    has_thinking,
    is_unload,
    read_format,
    read_images,
    read_logprobs,
    read_model,
    read_settings,
    read_tool,
    require_field,
    text_field,
    to_json_format,
)
from scenarios_app.wire.ollama.upstream import PROVIDER

MAX_INPUTS = 2_048
# No model makes so many calls at once. Each result is compared with all open calls.
_MAX_OPEN_CALLS = 256
_ROLES = "system, user, assistant, tool"


class _MessageReader(msgspec.Struct):
    """Reads the messages of one conversation, in order. Calls without ids get `call_1`, `call_2`, …

    `open` are the calls of the last message that has any, without those that have a result: the
    first _MAX_OPEN_CALLS. `explicit_ids` are the ids that the client sent.
    """

    calls: int = 0
    open: list[ToolCallPart] = []
    explicit_ids: set[str] = set()

    def read_message(self, node: Node) -> Message:
        """Return one message; raise the 400 for an unknown role."""
        named = require_field(node, "role")
        match named.text().lower():
            case "tool":
                return Message("tool", (self._read_result(node),))
            case "assistant":
                return Message("assistant", self._read_assistant(node))
            case "system" | "user" as role:
                return Message(role, (*_read_text(node), *read_images(node)))
            case _:
                message = f"{named.place}: invalid role {named.value!r}, must be one of {_ROLES}"
                raise WireError(400, message)

    def _read_assistant(self, node: Node) -> tuple[MessagePart, ...]:
        """Return the message's parts; its calls become the open ones, which later results
        answer."""
        thinking = text_field(node, "thinking")
        thoughts = (ReasoningPart(thinking),) if thinking else ()
        calls = tuple(map(self._read_call, node.items_at("tool_calls")))
        if calls:
            self.open = list(calls[:_MAX_OPEN_CALLS])
        return (*thoughts, *_read_text(node), *read_images(node), *calls)

    def _read_call(self, node: Node) -> ToolCallPart:
        """Return a tool call; without an id it gets a number."""
        self.calls += 1
        function = require_field(node, "function")
        arguments = encode_json(function.optional("arguments", Node.object) or {}).decode()
        call_id = text_field(node, "id")
        if call_id:
            self.explicit_ids.add(call_id)
        name = require_field(function, "name").text()
        return ToolCallPart(call_id or f"call_{self.calls}", name, arguments)

    def _read_result(self, node: Node) -> ToolResultPart:
        """Return a tool's result and close its call. It gets the call's id, and its name if it has
        none; without an open call it stays as it was sent."""
        call_id, name = text_field(node, "tool_call_id"), text_field(node, "tool_name")
        content = text_field(node, "content")
        call = self._find_call(call_id, name)
        if call is None:
            return ToolResultPart(call_id, name, content)
        self.open.remove(call)
        return ToolResultPart(call.id, name or call.name, content)

    def _find_call(self, call_id: str, name: str) -> ToolCallPart | None:
        """Return the open call that a result is for, or None: that of its id, else the first of its
        tool, or of any if it names none. Clients make up ids for calls without an id: a result with
        an unknown id is only for one of these."""
        ids = self.explicit_ids if call_id else ()
        exact = (call for call in self.open if call.id == call_id)
        named = (call for call in self.open if call.id not in ids and name in ("", call.name))
        return next(chain(exact, named), None)


def _read_text(node: Node) -> tuple[TextPart, ...]:
    text = node.optional("content", Node.text)
    return () if text is None else (TextPart(text),)


class GenerateFields(msgspec.Struct, frozen=True):
    """Fields of a chat or generate request that affect only the response.

    `unloads`: its model is unloaded. `raw`: the prompt is raw, so the response has no context.
    `top_logprobs`: the number of alternatives per token, None for no log probabilities.
    """

    unloads: bool = False
    raw: bool = False
    top_logprobs: int | None = None


class OllamaEmbeddingFields(msgspec.Struct, frozen=True):
    """The requested vector length, the context length in tokens, and whether texts are cut."""

    dimensions: int | None = None
    context_length: int | None = None
    truncate: bool = True


def read_chat(call: Call, endpoint: Endpoint, params: Params, body: Node) -> CanonicalRequest:
    """Return a request to continue a conversation."""
    messages = tuple(map(_MessageReader().read_message, body.items_at("messages")))
    return _generation_request(call, endpoint, body, messages, has_prompt=bool(messages))


def read_generate(call: Call, endpoint: Endpoint, params: Params, body: Node) -> CanonicalRequest:
    """Return a request to answer one prompt, after the conversation in its context; raise the 400
    if a raw prompt has one, or a template or a system prompt."""
    system, prompt = text_field(body, "system"), text_field(body, "prompt")
    template = text_field(body, "template")
    text_field(body, "suffix")
    numbers = list(map(Node.integer, body.items_at("context")))
    if body.optional("raw", Node.flag) and (template or system or numbers):
        raise WireError(400, "raw mode does not support template, system, or context")
    parts: tuple[MessagePart, ...] = (TextPart(prompt), *read_images(body))
    messages = (*decode_context(numbers), Message("user", parts))
    if system:
        messages = (Message("system", (TextPart(system),)), *messages)
    return _generation_request(call, endpoint, body, messages, has_prompt=bool(prompt))


def _generation_request(
    call: Call, endpoint: Endpoint, body: Node, messages: tuple[Message, ...], *, has_prompt: bool
) -> CanonicalRequest:
    """Return a request for a response. Without a prompt it is computed: its model is loaded or
    unloaded."""
    options = read_settings(body)
    form = read_format(body)
    own = GenerateFields(is_unload(body), body.get("raw").value is True, read_logprobs(body))
    return CanonicalRequest(
        provider=PROVIDER,
        path=call.path,
        route=endpoint.pattern,
        model=read_model(body),
        messages=messages if has_prompt else (),
        tools=tuple(map(read_tool, body.items_at("tools"))),
        stream=body.optional("stream", Node.flag) is not False and has_prompt,
        temperature=options.temperature,
        top_p=options.top_p,
        max_tokens=options.max_tokens,
        stop=options.stop,
        reasoning=has_thinking(body),
        response_format=form,
        json=to_json_format(form),
        headers=call.headers,
        own=own,
        computed=not has_prompt,
    )


def read_embed(call: Call, endpoint: Endpoint, params: Params, body: Node) -> CanonicalRequest:
    """Return a request to embed texts, the parts of one user message; raise the 400 for invalid
    ones."""
    is_unload(body)
    truncate = body.optional("truncate", Node.flag) is not False
    dimensions = body.optional("dimensions", Node.integer)
    node = body.get("input")
    match node.value:
        case None | "":
            texts: tuple[TextPart, ...] = ()
        case str(text):
            texts = (TextPart(text),)
        case list(items):
            if len(items) > MAX_INPUTS:
                raise WireError(400, f"{node.place}: at most {MAX_INPUTS} texts are taken")
            texts = tuple(TextPart(item.text()) for item in node.items())
        case _:
            raise node.wrong("a string or an array of strings")
    own = OllamaEmbeddingFields(dimensions, read_settings(body).context_length, truncate)
    return make_resource_request(
        call,
        endpoint,
        own,
        provider=PROVIDER,
        model=read_model(body),
        messages=(Message("user", texts),),
    )


def read_embedding(call: Call, endpoint: Endpoint, params: Params, body: Node) -> CanonicalRequest:
    """Return a request to embed one prompt, as older clients send it."""
    is_unload(body)
    message = Message("user", (TextPart(text_field(body, "prompt")),))
    read_settings(body)
    return make_resource_request(
        call, endpoint, provider=PROVIDER, model=read_model(body), messages=(message,)
    )


def read_show(call: Call, endpoint: Endpoint, params: Params, body: Node) -> CanonicalRequest:
    """Return a request about one model; older clients send `name`. Raise the 400 without a name."""
    body.optional("verbose", Node.flag)
    name = text_field(body, "model") or text_field(body, "name")
    if not name:
        raise WireError(400, "model is required")
    return make_resource_request(call, endpoint, provider=PROVIDER, model=name)


def read_empty(call: Call, endpoint: Endpoint, params: Params, body: Node) -> CanonicalRequest:
    """Return a request whose body is not read."""
    return make_resource_request(call, endpoint, provider=PROVIDER)
