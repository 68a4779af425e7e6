"""Reads a request for one of OpenAI's Responses."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from scenarios_app.engine.canonical import CanonicalRequest, Json, Message, Tool, ToolKind
from scenarios_app.engine.parts import TextPart
from scenarios_app.wire.base import Call, Endpoint, Params
from scenarios_app.wire.body import Node
from scenarios_app.wire.openai.fields import (
    COMMON,
    DEFAULT_STREAM_OPTIONS,
    read_definition,
    read_fields,
    read_pairs,
    read_tool_choice,
    to_json_format,
    to_tool_choice,
)
from scenarios_app.wire.openai.logprobs import read_top_logprobs
from scenarios_app.wire.openai.responses.items import kind_of, read_items, unpack_item
from scenarios_app.wire.openai.responses.record import ConversationInfo
from scenarios_app.wire.openai.shared import PROVIDER

# Who names none has a prompt that does, or does not mind.
DEFAULT_MODEL = "gpt-4o"

# Fields that an answer says again, but for what it includes. Of those that nothing here depends on
# the real API refuses a wrong type as well.
_TYPES: Mapping[str, Callable[[Node], object]] = {
    "background": Node.flag,
    "context_management": Node.items,
    "frequency_penalty": Node.number,
    "include": Node.items,
    "instructions": Node.text,
    "max_output_tokens": Node.integer,
    "max_tool_calls": Node.integer,
    "moderation": Node.object,
    "parallel_tool_calls": Node.flag,
    "presence_penalty": Node.number,
    "previous_response_id": Node.text,
    "prompt": Node.object,
    "prompt_cache_key": Node.text,
    "prompt_cache_options": Node.object,
    "prompt_cache_retention": Node.text,
    "reasoning": Node.object,
    "safety_identifier": Node.text,
    "service_tier": Node.text,
    "store": Node.flag,
    "text": Node.object,
    "top_logprobs": Node.integer,
    "truncation": Node.text,
    "user": Node.text,
}
_FIELDS: Mapping[str, Callable[[Node], object]] = {
    **COMMON,
    **_TYPES,
    "metadata": read_pairs,
    "tool_choice": read_tool_choice,
}
_LOGPROBS = "message.output_text.logprobs"
# What an answer says again, and what finding the conversation takes.
_ECHOED_KEYS = frozenset(_TYPES) - {"include"} | {"input", "tools"}


class ResponseFields(msgspec.Struct, frozen=True):
    """What a request for a Response says beside what every request does.

    `echoed` are the fields of its body that an answer says again, and its input; `conversation` is
    the id of the one that it goes on with; `obfuscated` says that deltas hide how long they are,
    `top_logprobs` how many likely tokens are told at the place of each, None if none is told.
    The rest is known once what it names is found: the items `before` it and its own, the name of
    the latest answer before it, and what is known of the conversation.
    """

    echoed: Mapping[str, Json] = {}
    conversation: str | None = None
    obfuscated: bool = True
    top_logprobs: int | None = None
    before: tuple[Node, ...] = ()
    items: tuple[Node, ...] = ()
    previous: str | None = None
    about: ConversationInfo | None = None


def read_response(call: Call, endpoint: Endpoint, params: Params, body: Node) -> CanonicalRequest:
    """A request, as far as it can be understood alone: what it names is not in it yet."""
    fields = read_fields(body, _FIELDS)
    model, conversation = body.maybe("model"), body.maybe("conversation")
    echoed = {key: value for key, value in body.object().items() if key in _ECHOED_KEYS}
    named = _conversation(conversation) if conversation else None
    items = tuple(read_input(echoed))
    choice, form = fields.get("tool_choice"), _format(body.maybe("text"))
    return CanonicalRequest(
        provider=PROVIDER,
        path=call.path,
        route=endpoint.canonical,
        model=model.text() if model else DEFAULT_MODEL,
        messages=build_conversation(echoed, (), items, {}),
        tools=(*_tools(body.maybe("tools")), *_added_tools(items)),
        tool_choice=choice,
        choice=to_tool_choice(choice),
        stream=fields.get("stream", False),
        temperature=fields.get("temperature"),
        top_p=fields.get("top_p"),
        max_tokens=fields.get("max_output_tokens"),
        reasoning=_reasoning(body.maybe("reasoning")),
        response_format=form,
        json=to_json_format(form, "text.format"),
        headers=call.headers,
        metadata=fields.get("metadata", {}),
        own=ResponseFields(echoed, named, _obfuscated(fields), _top_logprobs(body)),
    )


def read_input(body: Mapping[str, Json]) -> Iterator[Node]:
    """The items of a request's input, of which a text is one; a compaction's are those in it."""
    node = Node(body.get("input"), "input")
    match node.value:
        case None:
            return
        case str(text):
            yield Node({"role": "user", "content": text}, node.place)
        case list():
            for item in node.items():
                yield from unpack_item(item)
        case _:
            raise node.wrong("a string or an array")


def build_conversation(
    body: Mapping[str, Json],
    before: tuple[Message, ...],
    items: Iterable[Node],
    called: dict[str, str],
) -> tuple[Message, ...]:
    """The instructions, what was said `before`, and the input. Instructions are never taken over
    from before."""
    messages = (*before, *read_items(items, called))
    instructions = body.get("instructions")
    if isinstance(instructions, str):
        return (Message("system", (TextPart(instructions),)), *messages)
    return messages


def _top_logprobs(body: Node) -> int | None:
    """Tokens are told where that is asked for by name, or by how many."""
    top, include = read_top_logprobs(body), body.maybe("include")
    is_included = include is not None and _LOGPROBS in [item.value for item in include.items()]
    return top if is_included or top else None


def _obfuscated(fields: Mapping[str, Any]) -> bool:
    obfuscated: bool = fields.get("stream_options", DEFAULT_STREAM_OPTIONS).obfuscated
    return obfuscated and not fields.get("background")


def _conversation(node: Node) -> str:
    """A conversation is named by its id, or by an object that holds it."""
    return node.need("id").text() if isinstance(node.value, dict) else node.text()


def _tools(node: Node | None) -> Iterator[Tool]:
    """Tools under their own names, an MCP server's under the server's, hosted ones under their
    type."""
    for tool in node.items() if node else ():
        kind = tool.need("type").text()
        match kind:
            case "function":
                yield read_definition(tool, "parameters")
            case "custom":
                yield read_definition(tool, "format", "custom")
            case "namespace":
                yield from map(_namespace_tool, tool.need("tools").items())
            case "mcp":
                yield Tool(tool.need("server_label").text(), kind="hosted")
            case _:
                yield Tool(kind, kind="hosted")


def _namespace_tool(node: Node) -> Tool:
    """A tool in a namespace, whose form may be anything."""
    described = node.maybe("description")
    schema = node.get("parameters").value or node.get("format").value
    kind: ToolKind = "custom" if node.get("type").value == "custom" else "function"
    return Tool(node.need("name").text(), described.text() if described else "", schema, kind)


def _added_tools(items: Iterable[Node]) -> Iterator[Tool]:
    """The tools that items of the input bring along."""
    for item in items:
        if kind_of(item) == "additional_tools":
            yield from _tools(item.need("tools"))


def _reasoning(node: Node | None) -> bool:
    """Whether thinking, or a summary of it, was asked for."""
    if node is None:
        return False
    keys = ("effort", "summary", "generate_summary")
    settings = {key: value.text() for key in keys if (value := node.maybe(key))}
    return bool(settings) and settings.get("effort") != "none"


def _format(node: Node | None) -> Json:
    form = node.maybe("format") if node else None
    if form is None:
        return None
    form.need("type").text()
    return form.value
