"""What is wrong with a scenario document and where, in the words its author uses."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

Loc: TypeAlias = tuple[str | int, ...]
"""The keys and indexes that lead to a value, from the outside in."""

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_LONGEST_KEY = 80


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake. `place` reads `steps[2].produce.pacing.jitter`; `source` is the file's path."""

    place: str
    message: str
    source: str = ""

    def __str__(self) -> str:
        return ": ".join(part for part in (self.source, self.place, self.message) if part)


class DocumentError(Exception):
    """A document that cannot be used.

    `problems` holds everything that is wrong with it; `place` and `message` are the first one's.
    As text it is one line per problem.
    """

    def __init__(self, place: str, message: str, *, problems: Iterable[Problem] = ()) -> None:
        self.problems = tuple(problems) or (Problem(place, message),)
        self.place = place
        self.message = message
        super().__init__(place, message)

    @classmethod
    def of(cls, problems: Iterable[Problem]) -> "DocumentError":
        """The error that carries these problems, of which there is at least one."""
        found = tuple(problems)
        return cls(found[0].place, found[0].message, problems=found)

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))


def place_of(loc: Loc) -> str:
    """A location as people write it: `steps[2].match.headers.x-team`, `variables["a b"]`."""
    place = ""
    for item in loc:
        if isinstance(item, int):
            place += f"[{item}]"
        elif _PLAIN_KEY.fullmatch(item) and len(item) <= _LONGEST_KEY:
            place += f".{item}" if place else item
        else:
            place += f"[{quoted(item)}]"
    return place


def quoted(value: object) -> str:
    """A JSON value as text for a message, cut where it would be long."""
    text = json.dumps(value, ensure_ascii=False)
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= _LONGEST_KEY else text[: _LONGEST_KEY - 1] + "…"
