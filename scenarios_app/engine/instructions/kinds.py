"""The kinds of message in an instruction block, with a reader for each.

Besides those of requirement 000, R9, these are the kinds that its project's test clients send.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from scenarios_app.engine.canonical import Json, compact_json, text_or_json
from scenarios_app.engine.conditions.texts import shorten
from scenarios_app.engine.instructions.json_reader import InstructionError, JsonCursor
from scenarios_app.engine.parts import (
    Citation,
    ServerToolResultPart,
    ServerToolUsePart,
    ToolCallPart,
)

MAX_WORDS = 100_000

ProbeKind: TypeAlias = Literal[
    "system_prompt_echo",
    "tools_list",
    "tools_echo",
    "tool_schema",
    "request_url_echo",
    "request_headers_echo",
    "request_params_echo",
]


@dataclass(frozen=True, slots=True)
class Lorem:
    """Filler text of `words` words; `has_reasoning` puts the block's reasoning before it."""

    words: int
    citations: tuple[Citation, ...] = ()
    has_reasoning: bool = False


@dataclass(frozen=True, slots=True)
class Verbatim:
    text: str
    citations: tuple[Citation, ...] = ()


@dataclass(frozen=True, slots=True)
class Calls:
    """Calls of the client's tools, or calls and results of the provider's tools."""

    parts: tuple[ToolCallPart | ServerToolUsePart | ServerToolResultPart, ...]


@dataclass(frozen=True, slots=True)
class Probe:
    """A question about the request. Empty `fields` means all fields."""

    kind: ProbeKind
    tool: str = ""
    fields: tuple[str, ...] = ()


Content: TypeAlias = Lorem | Verbatim | Calls | Probe


def _read_text_message(item: JsonCursor) -> Content:
    return Lorem(item.require("length").whole_number(MAX_WORDS), has_reasoning=True)


def _read_text(item: JsonCursor) -> Content:
    return Verbatim(item.text())


def _read_text_with_citations(item: JsonCursor) -> Content:
    citations = tuple(map(_read_citation, item.items_at("citations")))
    if text := item.get("text"):
        return Verbatim(text.text(), citations)
    length = item.get("length")
    if length is None:
        raise item.at("text").error("missing, and so is length")
    return Lorem(length.whole_number(MAX_WORDS), citations)


def _read_citation(item: JsonCursor) -> Citation:
    url, title, cited = (item.get(key) for key in ("url", "title", "cited_text"))
    return Citation(
        url=url.text() if url else "",
        title=title.text() if title else None,
        cited_text=cited.text() if cited else "",
    )


def _read_tool_calls(item: JsonCursor) -> Content:
    return Calls(tuple(map(_read_call, item.items())))


def _read_call(item: JsonCursor) -> ToolCallPart:
    args = item.get("args")
    arguments = {} if args is None else args.value
    # A string is sent unchanged, so that invalid arguments can be scripted.
    return ToolCallPart("", item.require("name").name(), text_or_json(arguments))


def _read_server_tool_use(item: JsonCursor) -> Content:
    name, tool_input = item.require("name").name(), item.get("input")
    part = ServerToolUsePart(
        _read_id(item), name, compact_json(tool_input.object() if tool_input else {})
    )
    return Calls((part,))


def _read_server_tool_result(item: JsonCursor) -> Content:
    name, error = item.require("name").name(), item.get("error_code")
    result = item.get("result") or item.get("content")
    part = ServerToolResultPart(
        tool_use_id=_read_id(item),
        name=name,
        content=compact_json(result.value if result else None),
        error_code=error.name() if error else None,
    )
    return Calls((part,))


def _read_id(item: JsonCursor) -> str:
    """Return the id that links a server tool use to its result, under either name."""
    id_item = item.get("tool_use_id") or item.get("id")
    return id_item.text() if id_item else ""


def _probe_reader(kind: ProbeKind) -> Callable[[JsonCursor], Content]:
    def read(item: JsonCursor) -> Content:
        item.object()
        return Probe(kind)

    return read


def _read_tool_schema(item: JsonCursor) -> Content:
    return Probe("tool_schema", tool=item.require("name").name())


def _read_request_params(item: JsonCursor) -> Content:
    names = tuple(name.name() for name in item.items_at("fields"))
    return Probe("request_params_echo", fields=names)


MESSAGE_KINDS: Mapping[str, Callable[[JsonCursor], Content]] = {
    "text_message": _read_text_message,
    "text": _read_text,
    "tool_call": _read_tool_calls,
    "server_tool_use": _read_server_tool_use,
    "server_tool_result": _read_server_tool_result,
    "text_with_citations": _read_text_with_citations,
    "system_prompt_echo": _probe_reader("system_prompt_echo"),
    "tools_list": _probe_reader("tools_list"),
    "tools_echo": _probe_reader("tools_echo"),
    "tool_schema": _read_tool_schema,
    "request_url_echo": _probe_reader("request_url_echo"),
    "request_headers_echo": _probe_reader("request_headers_echo"),
    "request_params_echo": _read_request_params,
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

    place: str
    label: str
    wrap: str
    reasoning: int | None
    messages: tuple[BlockMessage, ...]
    cancel_after_chunks: int | None


def read_chain(root: JsonCursor) -> tuple[Block, ...]:
    """Return the blocks of a chain, or a plain block as a chain of one. Raises InstructionError."""
    _check_depth(root.value)
    if root.get("instruction_chain") is None:
        return (_read_block(root, 1),)
    # An empty chain is complete from the start.
    items = root.items_at("instruction_chain")
    return tuple(_read_block(item, number) for number, item in enumerate(items, 1))


def _check_depth(value: Json) -> None:
    level: list[Json] = [value]
    for _ in range(_MAX_DEPTH + 1):
        inner = [item for item in level if isinstance(item, dict | list)]
        level = [v for i in inner for v in (i.values() if isinstance(i, dict) else i)]
        if not level:
            return
    raise InstructionError("", f"nested deeper than {_MAX_DEPTH} levels")


def _read_block(item: JsonCursor, number: int) -> Block:
    label, wrap = item.get("id"), item.get("id_message")
    reasoning, cancel = item.get("reasoning"), item.get("cancel_after_chunks")
    length = reasoning.get("length") if reasoning else None
    return Block(
        place=item.place,
        label=_label_or_number(label.text() if label else "", number),
        wrap=wrap.text() if wrap else "",
        reasoning=length.whole_number(MAX_WORDS) if length else None,
        messages=_read_messages(item, required=length is None),
        cancel_after_chunks=cancel.whole_number(_MAX_INT) if cancel else None,
    )


def _label_or_number(label: str, number: int) -> str:
    """Return the block's id, or its number from 1 if the id cannot be sent in a header."""
    return (
        label if label and len(label) <= _MAX_LABEL_CHARS and label.isprintable() else str(number)
    )


def _read_messages(block: JsonCursor, *, required: bool) -> tuple[BlockMessage, ...]:
    """Return the messages of a block, which may have none if it has reasoning."""
    items = block.require("messages") if required else block.get("messages")
    if items is None or (items.value == [] and not required):
        return ()
    messages = tuple(map(_read_message, items.items()))
    parts = sum(len(t.content.parts) if isinstance(t.content, Calls) else 1 for t in messages)
    if parts > MAX_PARTS:
        raise items.error(f"expected at most {MAX_PARTS} messages and calls, got {parts}")
    return messages


def _read_message(message: JsonCursor) -> BlockMessage:
    keys = message.object()
    kinds = [key for key in keys if key in MESSAGE_KINDS]
    match [key for key in kinds if keys[key] is not None] or kinds:
        case [kind]:
            item = message.at(kind, keys[kind])
            content = MESSAGE_KINDS[kind](item)
            sized = item.at("length") if isinstance(content, Lorem) else item
            return BlockMessage(sized.place, content)
        case [first, second, *_]:
            raise message.at(second).error(f"cannot stand beside {first}")
        case _:
            place = message.at(shorten(next(iter(keys)), _MAX_KEY_CHARS)) if keys else message
            raise place.error(
                f"unknown kind of message, expected one of {', '.join(MESSAGE_KINDS)}"
            )
