"""Parses requests for OpenAI's Responses."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain

import msgspec
from msgspec.structs import replace

from scenarios_app.engine.canonical import CanonicalRequest, Json, Message, Tool, ToolKind
from scenarios_app.engine.parts import TextPart
from scenarios_app.wire.base import Call, Endpoint, Params
from scenarios_app.wire.body import Node
from scenarios_app.wire.openai.fields import (
    COMMON,
    DEFAULT_STREAM_OPTIONS,
    read_fields,
    read_pairs,
    read_tool_choice,
    read_tool_definition,
    read_top_logprobs,
    to_json_format,
    to_tool_choice,
)
from scenarios_app.wire.openai.responses.items import kind_of, read_items, unpack_item
from scenarios_app.wire.openai.responses.record import ConversationInfo
from scenarios_app.wire.openai.upstream import PROVIDER

# A request may name its model through a stored prompt, or not at all.
DEFAULT_MODEL = "gpt-4o"

# Fields that a response repeats, except `include`. Many have no effect here: only their type is
# checked, as by the real API.
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
# The fields that a response repeats, and those needed to load the conversation.
_ECHOED_KEYS = frozenset(_TYPES) - {"include"} | {"input", "tools"}


class ResponseFields(msgspec.Struct, frozen=True):
    """The fields of a request for a Response beyond the common ones.

    `echoed` are the body fields that the response repeats, and its input; `conversation` is the id
    of the one to continue; `obfuscated` pads deltas; `top_logprobs` is the number of alternatives
    per token, None for no log probabilities; `items` are those of the input; `included` names
    further outputs. The rest is set when the history is loaded: the items that references name, the
    items `before` the input, the name of the previous response, and the conversation's metadata.
    """

    echoed: Mapping[str, Json] = {}
    conversation: str | None = None
    obfuscated: bool = True
    top_logprobs: int | None = None
    items: tuple[Node, ...] = ()
    included: tuple[Json, ...] = ()
    before: tuple[Node, ...] = ()
    previous: str | None = None
    about: ConversationInfo | None = None


def read_response(call: Call, endpoint: Endpoint, params: Params, body: Node) -> CanonicalRequest:
    """Parse the body of a request for a Response. References to stored items are not resolved
    yet; `with_history` does that."""
    fields = read_fields(body, _FIELDS)
    model = body.maybe("model")
    echoed = {key: value for key, value in body.object().items() if key in _ECHOED_KEYS}
    conversation = body.optional("conversation", _read_conversation)
    items = tuple(read_input(echoed))
    options = fields.get("stream_options", DEFAULT_STREAM_OPTIONS)
    obfuscated = options.obfuscated and not fields.get("background")
    choice, form = fields.get("tool_choice"), body.optional("text", _read_text_format)
    return CanonicalRequest(
        provider=PROVIDER,
        path=call.path,
        route=endpoint.canonical,
        model=model.text() if model else DEFAULT_MODEL,
        messages=build_conversation(echoed, (), items, {}),
        tools=merge_tools(_read_tools(body.maybe("tools")), loaded_tools(items)),
        tool_choice=choice,
        choice=to_tool_choice(choice),
        stream=fields.get("stream", False),
        temperature=fields.get("temperature"),
        top_p=fields.get("top_p"),
        max_tokens=fields.get("max_output_tokens"),
        reasoning=body.optional("reasoning", _read_reasoning) or False,
        response_format=form,
        json=to_json_format(form, "text.format"),
        headers=call.headers,
        metadata=fields.get("metadata", {}),
        own=ResponseFields(
            echoed, conversation, obfuscated, _read_top_logprobs(body), items, _read_include(body)
        ),
    )


def read_input(body: Mapping[str, Json]) -> Iterator[Node]:
    """Yield the items of a request's input: a text is one item, a compaction is unpacked. Raises
    the 400 for another type."""
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
    """Return the instructions of a request's `body` as a system message, the messages `before`, and
    the input items as messages. `called` is as for `read_items`."""
    messages = (*before, *read_items(items, called))
    instructions = body.get("instructions")
    if isinstance(instructions, str):
        return (Message("system", (TextPart(instructions),)), *messages)
    return messages


def _read_top_logprobs(body: Node) -> int | None:
    """Return the number of alternatives per token, 0 if only `include` requests log probabilities,
    or None if nothing does."""
    top = read_top_logprobs(body)
    return top if _LOGPROBS in _read_include(body) or top else None


def _read_include(body: Node) -> tuple[Json, ...]:
    """Return the values of `include`: the further outputs that are requested."""
    return tuple(item.value for item in body.items_at("include"))


def _read_conversation(node: Node) -> str:
    """Return the id of a conversation, which is sent as a text or in an object."""
    return node.need("id").text() if isinstance(node.value, dict) else node.text()


def merge_tools(*groups: Iterable[Tool]) -> tuple[Tool, ...]:
    """Return the tools of all groups; of several with one name and namespace, the first."""
    tools: dict[tuple[str, str], Tool] = {}
    for tool in chain(*groups):
        tools.setdefault((tool.namespace, tool.name), tool)
    return tuple(tools.values())


def _read_tools(node: Node | None, *, loaded: bool = False) -> Iterator[Tool]:
    """Yield tools; an MCP server is named by its label, a hosted tool by its type. A function that
    is `loaded` on demand, or can be, is in a namespace of its name."""
    for tool in node.items() if node else ():
        kind = tool.need("type").text()
        match kind:
            case "function":
                function = read_tool_definition(tool, "parameters")
                if loaded or tool.get("defer_loading").value is True:
                    function = replace(function, namespace=function.name)
                yield function
            case "custom":
                yield read_tool_definition(tool, "format", "custom")
            case "namespace":
                name = tool.need("name").text()
                for member in tool.need("tools").items():
                    schema = member.get("parameters").value or member.get("format").value
                    is_custom = member.get("type").value == "custom"
                    yield _named_tool(member, schema, "custom" if is_custom else "function", name)
            case "mcp":
                yield Tool(tool.need("server_label").text(), kind="hosted")
            case _:
                yield Tool(kind, kind="hosted")


def _named_tool(node: Node, schema: Json, kind: ToolKind, namespace: str) -> Tool:
    """Return a tool with the node's name and description; raise the 400 without a name."""
    description = node.optional("description", Node.text) or ""
    return Tool(node.need("name").text(), description, schema, kind, namespace)


def loaded_tools(items: Iterable[Node]) -> Iterator[Tool]:
    """Yield the tools that input items offer: additional ones, results of a tool search, and the
    list of an MCP server, whose label is their namespace."""
    for item in items:
        match kind_of(item):
            case "additional_tools":
                yield from _read_tools(item.need("tools"), loaded=True)
            case "tool_search_output":
                yield from _read_tools(item.maybe("tools"), loaded=True)
            case "mcp_list_tools" if tools := item.maybe("tools"):
                label = item.need("server_label").text()
                for node in tools.items():
                    yield _named_tool(node, node.get("input_schema").value, "hosted", label)


def _read_reasoning(node: Node) -> bool:
    """Return whether reasoning or a summary of it is requested, and the effort is not `none`."""
    keys = ("effort", "summary", "generate_summary")
    settings = {key: value.text() for key in keys if (value := node.maybe(key))}
    return bool(settings) and settings.get("effort") != "none"


def _read_text_format(text: Node) -> Json:
    """Return the format as it was sent, or None; only its type is checked."""
    if form := text.maybe("format"):
        form.need("type").text()
    return form.value if form else None
