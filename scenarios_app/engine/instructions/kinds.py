"""The kinds of message that an instruction block can hold, and how each is read.

Beside requirement 000's own, R9, these are the ones that test clients of its project send.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.conditions.texts import shorten
from scenarios_app.engine.instructions.json_reader import InstructionError, Item, compact
from scenarios_app.engine.parts import (
    Citation,
    ServerToolResultPart,
    ServerToolUsePart,
    ToolCallPart,
)

MOST_WORDS = 100_000

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
    """So many words. With `thinks` the block's reasoning goes before it."""

    words: int
    citations: tuple[Citation, ...] = ()
    thinks: bool = False


@dataclass(frozen=True, slots=True)
class Verbatim:
    text: str
    citations: tuple[Citation, ...] = ()


@dataclass(frozen=True, slots=True)
class Calls:
    """Tool calls, by the client's tools or by the provider's own; or what the latter gave back."""

    parts: tuple[ToolCallPart | ServerToolUsePart | ServerToolResultPart, ...]


@dataclass(frozen=True, slots=True)
class Probe:
    """Something about the request that is to be said. No `fields` are all of them."""

    kind: ProbeKind
    tool: str = ""
    fields: tuple[str, ...] = ()


Content: TypeAlias = Lorem | Verbatim | Calls | Probe


def _text_message(item: Item) -> Content:
    return Lorem(item.need("length").whole(MOST_WORDS), thinks=True)


def _text(item: Item) -> Content:
    return Verbatim(item.text())


def _text_with_citations(item: Item) -> Content:
    listed = item.maybe("citations")
    citations = tuple(map(_citation, listed.items())) if listed and listed.value != [] else ()
    if text := item.maybe("text"):
        return Verbatim(text.text(), citations)
    length = item.maybe("length")
    if length is None:
        raise item.at("text").wrong("missing, and so is length")
    return Lorem(length.whole(MOST_WORDS), citations)


def _citation(item: Item) -> Citation:
    url, title, cited = (item.maybe(key) for key in ("url", "title", "cited_text"))
    return Citation(
        url=url.text() if url else "",
        title=title.text() if title else None,
        cited_text=cited.text() if cited else "",
    )


def _tool_call(item: Item) -> Content:
    return Calls(tuple(map(_call, item.items())))


def _call(item: Item) -> ToolCallPart:
    args = item.maybe("args")
    given = {} if args is None else args.value
    # As in scenario documents a string is sent as it stands, so that arguments can be broken.
    return ToolCallPart(
        "", item.need("name").name(), given if isinstance(given, str) else compact(given)
    )


def _server_tool_use(item: Item) -> Content:
    name, given = item.need("name").name(), item.maybe("input")
    return Calls((ServerToolUsePart(_id(item), name, compact(given.object() if given else {})),))


def _server_tool_result(item: Item) -> Content:
    name, error = item.need("name").name(), item.maybe("error_code")
    result = item.maybe("result") or item.maybe("content")
    return Calls(
        (
            ServerToolResultPart(
                tool_use_id=_id(item),
                name=name,
                content=compact(result.value if result else None),
                error_code=error.name() if error else None,
            ),
        )
    )


def _id(item: Item) -> str:
    """The id that joins a use of a tool and its result, by either name."""
    found = item.maybe("tool_use_id") or item.maybe("id")
    return found.text() if found else ""


def _probe(kind: ProbeKind) -> Callable[[Item], Content]:
    def read(item: Item) -> Content:
        item.object()
        return Probe(kind)

    return read


def _tool_schema(item: Item) -> Content:
    return Probe("tool_schema", tool=item.need("name").name())


def _request_params(item: Item) -> Content:
    listed = item.maybe("fields")
    names = tuple(name.name() for name in listed.items()) if listed and listed.value != [] else ()
    return Probe("request_params_echo", fields=names)


KINDS: Mapping[str, Callable[[Item], Content]] = {
    "text_message": _text_message,
    "text": _text,
    "tool_call": _tool_call,
    "server_tool_use": _server_tool_use,
    "server_tool_result": _server_tool_result,
    "text_with_citations": _text_with_citations,
    "system_prompt_echo": _probe("system_prompt_echo"),
    "tools_list": _probe("tools_list"),
    "tools_echo": _probe("tools_echo"),
    "tool_schema": _tool_schema,
    "request_url_echo": _probe("request_url_echo"),
    "request_headers_echo": _probe("request_headers_echo"),
    "request_params_echo": _request_params,
}


MOST_PARTS = 1_000
_LARGEST = 2_147_483_647
_DEEPEST = 64
_LONGEST_KEY = 80
_LONGEST_LABEL = 200


@dataclass(frozen=True, slots=True)
class Told:
    """One message of a block. `place` is where in the block a text that is too long stands."""

    place: str
    content: Content


@dataclass(frozen=True, slots=True)
class Block:
    """One answer. `reasoning` counts words; `wrap` stands at both ends of every text."""

    place: str
    label: str
    wrap: str
    reasoning: int | None
    messages: tuple[Told, ...]
    cancel_after_chunks: int | None


def read_chain(root: Item) -> tuple[Block, ...]:
    """The blocks of a chain; a plain block is a chain of one. Raises InstructionError."""
    _check_depth(root.value)
    chain = root.maybe("instruction_chain")
    if chain is None:
        return (_block(root, 1),)
    # A chain of nothing is over before it begins.
    items = () if chain.value == [] else chain.items()
    return tuple(_block(item, number) for number, item in enumerate(items, 1))


def _check_depth(value: Json) -> None:
    level: list[Json] = [value]
    for _ in range(_DEEPEST + 1):
        inner = [item for item in level if isinstance(item, dict | list)]
        level = [v for i in inner for v in (i.values() if isinstance(i, dict) else i)]
        if not level:
            return
    raise InstructionError("", f"nested deeper than {_DEEPEST} levels")


def _block(item: Item, number: int) -> Block:
    label, wrap = item.maybe("id"), item.maybe("id_message")
    reasoning, cancel = item.maybe("reasoning"), item.maybe("cancel_after_chunks")
    length = reasoning.maybe("length") if reasoning else None
    return Block(
        place=item.place,
        label=_label(label.text() if label else "", number),
        wrap=wrap.text() if wrap else "",
        reasoning=length.whole(MOST_WORDS) if length else None,
        messages=_messages(item, required=length is None),
        cancel_after_chunks=cancel.whole(_LARGEST) if cancel else None,
    )


def _label(given: str, number: int) -> str:
    """The block's id, or its number from 1 where that is no name to show in a header."""
    return given if given and len(given) <= _LONGEST_LABEL and given.isprintable() else str(number)


def _messages(block: Item, *, required: bool) -> tuple[Told, ...]:
    """What a block says. One that has reasoning need not say more."""
    given = block.need("messages") if required else block.maybe("messages")
    if given is None or (given.value == [] and not required):
        return ()
    told = tuple(map(_told, given.items()))
    parts = sum(len(t.content.parts) if isinstance(t.content, Calls) else 1 for t in told)
    if parts > MOST_PARTS:
        raise given.wrong(f"expected at most {MOST_PARTS} messages and calls, got {parts}")
    return told


def _told(message: Item) -> Told:
    keys = message.object()
    known = [key for key in keys if key in KINDS]
    match [key for key in known if keys[key] is not None] or known:
        case [kind]:
            item = message.at(kind, keys[kind])
            content = KINDS[kind](item)
            sized = item.at("length") if isinstance(content, Lorem) else item
            return Told(sized.place, content)
        case [first, second, *_]:
            raise message.at(second).wrong(f"cannot stand beside {first}")
        case _:
            place = message.at(shorten(next(iter(keys)), _LONGEST_KEY)) if keys else message
            raise place.wrong(f"unknown kind of message, expected one of {', '.join(KINDS)}")
