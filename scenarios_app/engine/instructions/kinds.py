"""The kinds of message in an instruction block, with a reader for each. Besides those of
requirement 000, R9, these are the kinds that its project's test clients send."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from scenarios_app.engine.canonical import compact_json, depth_of, text_or_json
from scenarios_app.engine.conditions.texts import shorten
from scenarios_app.engine.instructions.json_reader import InstructionError, JsonCursor
from scenarios_app.engine.parts import (
    Citation,
    ServerToolResultPart,
    ServerToolUsePart,
    ToolCallPart,
)

MAX_WORDS = 100_000


@dataclass(frozen=True, slots=True)
class Lorem:
    """Filler text of `words` words; `has_reasoning` puts the block's reasoning before it."""

    words: int
    citations: tuple[Citation, ...] = ()
    has_reasoning: bool = False


@dataclass(frozen=True, slots=True)
class Verbatim:
    """A text that is sent as it is, without templates, with its citations."""

    text: str
    citations: tuple[Citation, ...] = ()


@dataclass(frozen=True, slots=True)
class Calls:
    """Calls of the client's tools, or calls and results of the provider's tools."""

    parts: tuple[ToolCallPart | ServerToolUsePart | ServerToolResultPart, ...]


@dataclass(frozen=True, slots=True)
class Probe:
    """A question about the request. Empty `fields` means all fields."""

    kind: str
    tool: str = ""
    fields: tuple[str, ...] = ()


Content: TypeAlias = Lorem | Verbatim | Calls | Probe


def _read_text_with_citations(item: JsonCursor) -> Content:
    """Return the given text, or generated words, with citations; raise InstructionError."""
    citations = tuple(map(_read_citation, item.items_at("citations")))
    if text := item.get("text"):
        return Verbatim(text.text(), citations)
    words = item.number_at("length", MAX_WORDS)
    if words is None:
        raise item.at("text").error("missing, and so is length")
    return Lorem(words, citations)


def _read_citation(item: JsonCursor) -> Citation:
    title = item.get("title")
    return Citation(
        url=item.text_at("url"),
        title=title.text() if title else None,
        cited_text=item.text_at("cited_text"),
    )


def _read_call(item: JsonCursor) -> ToolCallPart:
    """Return a tool call; arguments that are a string are sent unchanged, even if invalid."""
    args = item.get("args")
    arguments = text_or_json(args.value if args else {})
    return ToolCallPart("", item.require("name").name(), arguments)


def _read_server_tool_use(item: JsonCursor) -> Content:
    name, use_id, tool_input = item.require("name").name(), _read_id(item), item.get("input")
    arguments = compact_json(tool_input.object() if tool_input else {})
    return Calls((ServerToolUsePart(use_id, name, arguments),))


def _read_server_tool_result(item: JsonCursor) -> Content:
    name, use_id, error = item.require("name").name(), _read_id(item), item.get("error_code")
    result = item.get("result") or item.get("content")
    content = compact_json(result.value if result else None)
    return Calls((ServerToolResultPart(use_id, name, content, error.name() if error else None),))


def _read_id(item: JsonCursor) -> str:
    """Return the id that links a server tool use to its result: `tool_use_id`, else `id`."""
    return item.text_at("tool_use_id" if item.get("tool_use_id") else "id")


def _make_probe_reader(kind: str) -> Callable[[JsonCursor], Content]:
    """Return the reader of a probe instruction: its value must be an object, whose keys are
    ignored."""

    def read(item: JsonCursor) -> Content:
        """Return the probe; raise InstructionError if its value is no object."""
        item.object()
        return Probe(kind)

    return read


MESSAGE_KINDS: Mapping[str, Callable[[JsonCursor], Content]] = {
    "text_message": lambda item: Lorem(
        item.require("length").whole_number(MAX_WORDS), has_reasoning=True
    ),
    "text": lambda item: Verbatim(item.text()),
    "tool_call": lambda item: Calls(tuple(map(_read_call, item.items()))),
    "server_tool_use": _read_server_tool_use,
    "server_tool_result": _read_server_tool_result,
    "text_with_citations": _read_text_with_citations,
    "system_prompt_echo": _make_probe_reader("system_prompt_echo"),
    "tools_list": _make_probe_reader("tools_list"),
    "tools_echo": _make_probe_reader("tools_echo"),
    "tool_schema": lambda item: Probe("tool_schema", tool=item.require("name").name()),
    "request_url_echo": _make_probe_reader("request_url_echo"),
    "request_headers_echo": _make_probe_reader("request_headers_echo"),
    "request_params_echo": lambda item: Probe(
        "request_params_echo", fields=tuple(name.name() for name in item.items_at("fields"))
    ),
}


MAX_PARTS = 1_000
_MAX_INT = 2_147_483_647
_MAX_DEPTH = 64
_MAX_KEY_CHARS = 80
_MAX_LABEL_CHARS = 200


@dataclass(frozen=True, slots=True)
class BlockMessage:
    """One message of a block. `place` is the location to report if its text is too long."""

    place: str
    content: Content


@dataclass(frozen=True, slots=True)
class Block:
    """One answer. `reasoning` is a number of words; `wrap` is put around every text."""

    label: str
    messages: tuple[BlockMessage, ...]
    place: str = ""
    wrap: str = ""
    reasoning: int | None = None
    cancel_after_chunks: int | None = None


def read_chain(root: JsonCursor) -> tuple[Block, ...]:
    """Return the blocks of a chain, or a plain block as a chain of one. Raises InstructionError."""
    if depth_of(root.value) > _MAX_DEPTH + 1:
        raise InstructionError("", f"nested deeper than {_MAX_DEPTH} levels")
    if root.get("instruction_chain") is None:
        return (_read_block(root, 1),)
    # An empty chain is complete from the start.
    items = root.items_at("instruction_chain")
    return tuple(_read_block(item, number) for number, item in enumerate(items, 1))


def _read_block(item: JsonCursor, number: int) -> Block:
    """Return a block; `number` is its label if it has no usable id."""
    reasoning = item.get("reasoning")
    length = reasoning.get("length") if reasoning else None
    return Block(
        place=item.place,
        label=_label_or_number(item.text_at("id"), number),
        wrap=item.text_at("id_message"),
        reasoning=length.whole_number(MAX_WORDS) if length else None,
        messages=_read_messages(item, required=length is None),
        cancel_after_chunks=item.number_at("cancel_after_chunks", _MAX_INT),
    )


def _label_or_number(label: str, number: int) -> str:
    """Return the block's id, or its number from 1 if the id cannot be sent in a header."""
    is_sendable = 0 < len(label) <= _MAX_LABEL_CHARS and label.isprintable()
    return label if is_sendable else str(number)


def _read_messages(block: JsonCursor, *, required: bool) -> tuple[BlockMessage, ...]:
    """Return the messages of a block, which may have none if it has reasoning. Raises
    InstructionError, also for too many."""
    items = block.require("messages") if required else block.get("messages")
    if items is None or (items.value == [] and not required):
        return ()
    messages = tuple(map(_read_message, items.items()))
    parts = sum(len(t.content.parts) if isinstance(t.content, Calls) else 1 for t in messages)
    if parts > MAX_PARTS:
        raise items.error(f"expected at most {MAX_PARTS} messages and calls, got {parts}")
    return messages


def _read_message(message: JsonCursor) -> BlockMessage:
    """Return a message of an instruction block; raise InstructionError unless it has exactly one
    kind. Kinds whose value is null count only if all are null."""
    keys = message.object()
    kinds = [key for key in keys if key in MESSAGE_KINDS]
    match [key for key in kinds if keys[key] is not None] or kinds:
        case [kind]:
            item = message.at(kind, keys[kind])
            content = MESSAGE_KINDS[kind](item)
            sized = item.at("length") if isinstance(content, Lorem) else item
            return BlockMessage(sized.place, content)
        case [first, second, *_]:
            raise message.at(second).error(f"cannot be combined with {first}")
        case _:
            place = message.at(shorten(next(iter(keys)), _MAX_KEY_CHARS)) if keys else message
            kinds_text = ", ".join(MESSAGE_KINDS)
            raise place.error(f"unknown kind of message, expected one of {kinds_text}")
