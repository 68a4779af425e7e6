"""Instruction blocks as values: what a user message asks its answer to consist of."""

from dataclasses import dataclass

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.conditions.texts import shorten
from scenarios_app.engine.instructions.json_reader import InstructionError, Item
from scenarios_app.engine.instructions.kinds import KINDS, MOST_WORDS, Calls, Content, Lorem

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
