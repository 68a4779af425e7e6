"""What differs between two requests that are compared, told as people would: what is new, what is
gone and what changed, with its place and both values."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import islice
from typing import Final, Literal, TypeAlias

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.recorded.requests import ComparedRequest, digest_of
from scenarios_app.engine.shapes import Loc, place_of

Kind: TypeAlias = Literal["new", "removed", "changed"]
MOST: Final = 20
# Longer lists are compared place by place where they are not the same.
_ALIGNED: Final = 400
_TEXT: Final = {"type": "text"}
_ID: Final = re.compile(r"<id \d+>")


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference. `place` reads `messages[1].content`; `recorded` and `asked` are the two
    values, None where there is none."""

    kind: Kind
    place: str
    recorded: Json
    asked: Json


def differences(
    recorded: ComparedRequest, asked: ComparedRequest, *, most: int = MOST
) -> tuple[Difference, ...]:
    """What `asked` has that `recorded` has not, and the other way round, at most so many; nothing
    where they are the same conversation. Both are compared by the same rules."""
    if recorded.digest == asked.digest:
        return ()
    one, other = recorded.form, asked.form
    # A call that was put in moves the numbers of all ids after it, which is one difference.
    found = tuple(islice(_of(_unnumbered(one), _unnumbered(other), ()), most))
    return found or tuple(islice(_of(one, other, ()), most))


def _of(one: Json, other: Json, loc: Loc) -> Iterator[Difference]:
    match one, other:
        case dict(), dict():
            for key in dict.fromkeys((*one, *other)):
                inner = loc if not loc and key == "body" else (*loc, key)
                if key not in one:
                    yield Difference("new", place_of(inner), None, other[key])
                elif key not in other:
                    yield Difference("removed", place_of(inner), one[key], None)
                else:
                    yield from _of(one[key], other[key], inner)
        case [{"text": str(text), **kind}], [{"text": str(more), **other_kind}] if (
            kind == other_kind == _TEXT
        ):
            # As a text is compared that stands alone.
            if text != more:
                yield Difference("changed", place_of(loc), text, more)
        case list(), list():
            yield from _of_lists(one, other, loc)
        case _:
            if digest_of(one) != digest_of(other):
                yield Difference("changed", place_of(loc) or "body", one, other)


def _of_lists(one: list[Json], other: list[Json], loc: Loc) -> Iterator[Difference]:
    """Items are paired where they are the same; between those, one by one."""
    ones, others = [digest_of(item) for item in one], [digest_of(item) for item in other]
    for tag, start, end, other_start, other_end in _aligned(ones, others):
        if tag == "equal":
            continue
        both = min(end - start, other_end - other_start)
        for step in range(both):
            at = (*loc, other_start + step)
            yield from _of(one[start + step], other[other_start + step], at)
        for place in range(start + both, end):
            yield Difference("removed", place_of((*loc, place)), one[place], None)
        for place in range(other_start + both, other_end):
            yield Difference("new", place_of((*loc, place)), None, other[place])


def _aligned(ones: list[str], others: list[str]) -> list[tuple[str, int, int, int, int]]:
    if max(len(ones), len(others)) > _ALIGNED:
        both = min(len(ones), len(others))
        same = next((n for n in range(both) if ones[n] != others[n]), both)
        return [("replace", same, len(ones), same, len(others))]
    return list(SequenceMatcher(None, ones, others, autojunk=False).get_opcodes())


def _unnumbered(value: Json) -> Json:
    match value:
        case dict():
            return {key: _unnumbered(item) for key, item in value.items()}
        case list():
            return [_unnumbered(item) for item in value]
        case str() if _ID.fullmatch(value):
            return "<id>"
        case _:
            return value
