"""What a condition on a request is, the kind that most are (some text of the request is like this),
and the pieces of the sentence in which one is told, out of plain JSON that nobody has checked."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeAlias

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.conditions.subjects import Reading, Subject, text_distance
from scenarios_app.engine.conditions.texts import TextCondition, quote

_KEPT_OF_SECRETS = 4
_SHOWN = 3
COMPARED = 20

SuspicionKind: TypeAlias = Literal[
    "shadowed",
    "unreachable",
    "looping",
    "broad",
    "narrow",
    "unoffered",
    "empty",
    "placeholder",
    "unfilled",
]
_QUOTED = 40
_LISTED = 3
_TESTS = {"equals": "is", "contains": "contains", "startswith": "starts with", "regex": "matches"}


def tests(condition: Json, *, quoted: bool = True) -> str:
    """A text condition; one that is an exact text is just that text, unless it is `quoted`."""
    if isinstance(condition, str):
        condition = {"equals": condition}
    said = []
    for mode, verb in _TESTS.items():
        text = member(condition, mode)
        if isinstance(text, str) and text:
            shown = short(text)
            said.append(shown if mode == "equals" and not quoted else f"{verb} “{shown}”")
    return " and ".join(said)


def alternatives(value: Json) -> str:
    """Text conditions of which one must hold."""
    items = value if isinstance(value, list) else [value]
    return " or ".join(said for item in items if (said := tests(item, quoted=False)))


def first_names(items: list[Json]) -> str:
    """The first names of a list."""
    texts = [short(item) for item in items if isinstance(item, str)]
    left = len(texts) - _LISTED
    return ", ".join(texts[:_LISTED]) + (f" and {left} more" if left > 0 else "")


def short(text: str) -> str:
    """A text on one line, cut where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= _QUOTED else line[: _QUOTED - 1].rstrip() + "…"


def member(value: Json, key: str) -> Json:
    """What an object has at a key."""
    return value.get(key) if isinstance(value, dict) else None


def text_at(value: Json, key: str) -> str:
    """The text that an object has at a key, short."""
    text = member(value, key)
    return short(text) if isinstance(text, str) else ""


def listed(value: Json) -> list[Json]:
    """The items of a list."""
    return value if isinstance(value, list) else []


class Need(NamedTuple):
    """What a request must have for a condition to hold: at `subject`, a text that meets one of
    these. A condition may ask for more; the index finds steps by their needs."""

    subject: Subject
    conditions: tuple[TextCondition, ...]


class Known(NamedTuple):
    """What lint knows of the server: names of providers; empty, where that is not known."""

    providers: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Condition(ABC):
    """One condition on a request, and all that is known of its kind: its key in `match`, what that
    holds, how it is told. `field` is its place in the step: `match.messages[0]`.

    Its line in `CONDITIONS` makes it known to documents, the sentence of a step, lint, near misses,
    explanations and the builder.
    """

    field: str

    key: ClassVar[str]
    """Its key in a document's `match`."""
    shape: ClassVar[Any]
    """What a document holds at that key: an annotation of pydantic."""
    empty: ClassVar[Callable[[], Any] | None] = None
    """What makes the value that says nothing, where that is not null."""
    meaning: ClassVar[str]
    """What the key means, for people."""
    keyword: ClassVar[str] = ""
    """The method by which the builder says it."""
    in_body: ClassVar[bool] = True
    """Whether it can only be judged with the request's body."""
    particular: ClassVar[bool] = True
    """Whether a step with it is more than a default."""

    @classmethod
    @abstractmethod
    def compiled(cls, value: Any, place: str) -> Iterator["Condition"]:
        """The conditions of a document's value, checked by the shape; `place` is its key's."""

    @classmethod
    @abstractmethod
    def phrases(cls, value: Json) -> Iterator[str]:
        """The same for the sentence of a step, out of a value that nobody has checked."""

    @property
    @abstractmethod
    def expected(self) -> str:
        """What it asks for, as mismatches show it."""

    @abstractmethod
    def holds(self, reading: Reading) -> bool: ...

    @abstractmethod
    def actual(self, reading: Reading) -> str:
        """What a request has instead, as mismatches show it."""

    def mismatches(self, reading: Reading) -> Iterator[tuple[str, str, str]]:
        """Of one that does not hold: each place with what was expected and what is there."""
        yield self.field, self.expected, self.actual(reading)

    def distance(self, reading: Reading) -> float:
        """How far a request is from meeting it, from 0 (it holds) to 1 (nothing alike)."""
        return float(not self.holds(reading))

    @property
    def needs(self) -> tuple[Need, ...]:
        return ()

    @property
    def group_names(self) -> tuple[str, ...]:
        """The named groups that an answer may use as `match.NAME`."""
        return ()

    def groups(self, reading: Reading) -> dict[str, str]:
        """The named groups as a request fills them."""
        return {}

    def implies(self, wide: "Condition") -> bool:
        """Whether `wide` holds wherever this one does. A yes is certain; a no may only mean that it
        can't be seen."""
        return False

    def excludes(self, other: "Condition") -> bool:
        """Whether no request meets both. A yes is certain."""
        return False

    @property
    def moves_on(self) -> bool:
        """Whether it may fail once a call and its result have been added to the conversation."""
        return False

    @property
    def awaits_result(self) -> bool:
        """Whether it is for requests that bring a tool's result."""
        return False

    @property
    def masked(self) -> bool:
        """Whether the journal keeps no more than an end of what it looks at."""
        return False

    @property
    def may_be_masked(self) -> bool:
        """Whether what it looks at stands in the body under names that may be a secret's."""
        return False

    def suspicions(self, known: Known) -> Iterator[tuple[SuspicionKind, str]]:
        """What is suspicious in it by itself, where it is right."""
        yield from ()


@dataclass(frozen=True, slots=True)
class AboutText(Condition):
    """Some text at `subject` meets one of the `alternatives`."""

    subject: Subject
    alternatives: tuple[TextCondition, ...]

    plain: ClassVar[bool] = False
    """Whether its text is a plain value that needs no quotes."""

    @classmethod
    def exactly(cls, field: str, subject: Subject, text: str) -> Self:
        return cls(field, subject, (TextCondition(equals=text),))

    @property
    def expected(self) -> str:
        if self.plain:
            return self.alternatives[0].equals or ""
        return " or ".join(condition.describe() for condition in self.alternatives)

    @property
    def absence(self) -> str:
        """What is said of a request that has no such text."""
        return f"no {self.key}"

    @property
    def needs(self) -> tuple[Need, ...]:
        return (Need(self.subject, self.alternatives),)

    @property
    def group_names(self) -> tuple[str, ...]:
        """A secret gives none: an answer could tell it, piece by piece."""
        if self.masked:
            return ()
        return tuple(name for c in self.alternatives for name in c.group_names)

    def holds(self, reading: Reading) -> bool:
        for text in reading.texts(self.subject):
            for condition in self.alternatives:
                if text.meets(condition):
                    return True
        return False

    def actual(self, reading: Reading) -> str:
        texts = reading.texts(self.subject)
        if not texts:
            return self.absence
        if self.plain:
            return texts[0].plain
        if self.masked:
            return quote("…" + texts[0].plain[-_KEPT_OF_SECRETS:])
        return several(text.plain for text in texts)

    def distance(self, reading: Reading) -> float:
        texts = reading.texts(self.subject)[-COMPARED:]
        return min((text_distance(t, c) for t in texts for c in self.alternatives), default=1.0)

    def groups(self, reading: Reading) -> dict[str, str]:
        if self.masked:
            return {}
        for text in reading.texts(self.subject):
            for condition in self.alternatives:
                if text.meets(condition):
                    return condition.groups(text.plain)
        return {}

    def implies(self, wide: Condition) -> bool:
        return (
            isinstance(wide, AboutText)
            and self.subject == wide.subject
            and all(any(n.implies(w) for w in wide.alternatives) for n in self.alternatives)
        )


def several(texts: Iterable[str]) -> str:
    """The last few of some texts, quoted."""
    every = list(texts)
    left = len(every) - _SHOWN
    shown = ", ".join(quote(text) for text in every[-_SHOWN:])
    return f"{shown} and {left} more" if left > 0 else shown
