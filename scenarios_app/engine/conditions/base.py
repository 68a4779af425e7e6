"""The base class of all conditions on a request, and the base of those that test a text of it."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeAlias, TypeVar

from scenarios_app.engine.canonical import CanonicalRequest, Json
from scenarios_app.engine.conditions.subjects import RequestReader, Subject, text_distance
from scenarios_app.engine.conditions.texts import TextCondition, quote

F = TypeVar("F", bound=Callable[..., object])
_SECRET_TAIL_CHARS = 4
_MAX_LISTED_TEXTS = 3
MAX_COMPARED_TEXTS = 20
CASE_HINT = " (differs only in case; `ignore_case` allows it)"

SuspicionKind: TypeAlias = Literal[
    "shadowed",
    "unreachable",
    "looping",
    "broad",
    "narrow",
    "unoffered",
    "unsent",
    "empty",
    "placeholder",
    "unfilled",
]


def builder_value(function: F) -> F:
    """Make a static function of a condition's class a method of the builder. It returns the value
    at the condition's key, in place of an earlier one."""
    vars(function)["adds"] = False
    return function


def builder_item(function: F) -> F:
    """Make a static function of a condition's class a method of the builder whose calls add up. It
    returns an item of the list, or the entries of the object, at the condition's key."""
    vars(function)["adds"] = True
    return function


class Need(NamedTuple):
    """A necessary condition, by which the index files steps: a text at `subject` meets one of
    `conditions`."""

    subject: Subject
    conditions: tuple[TextCondition, ...]


@dataclass(frozen=True, slots=True)
class Condition(ABC):
    """One condition on a request and the definition of its kind: its key in `match`, the shape of
    its value and its description. `field` is its path in the step: `match.messages[0]`.

    A class in `CONDITION_KINDS` is available to documents, step sentences, lint, near misses,
    explanations and, by its functions with `@builder_value` or `@builder_item`, the builder.
    """

    field: str

    key: ClassVar[str]
    """The key in a document's `match`."""
    shape: ClassVar[Any]
    """The pydantic annotation of the value at that key."""
    empty: ClassVar[Callable[[], Any] | None] = None
    """Factory of the value that sets no condition, if that is not null."""
    meaning: ClassVar[str]
    """Description of the key for the reference and the editor."""
    needs_body: ClassVar[bool] = True
    """True if it can be tested only with the request's body."""
    is_particular: ClassVar[bool] = True
    """True if a step with it is more than a default for a provider or path."""

    @classmethod
    @abstractmethod
    def compile(cls, value: Any, field: str) -> Iterator["Condition"]:
        """Yield the conditions of a validated value; `field` is the path of its key."""

    @classmethod
    @abstractmethod
    def phrases(cls, value: Json) -> Iterator[str]:
        """Yield the phrases for the step's sentence from a value that was not validated."""

    @property
    @abstractmethod
    def expected(self) -> str:
        """The requirement as mismatches show it."""

    @abstractmethod
    def holds(self, reader: RequestReader) -> bool: ...

    @abstractmethod
    def actual(self, reader: RequestReader) -> str:
        """Return what the request has instead, as mismatches show it."""

    def mismatches(self, reader: RequestReader) -> Iterator[tuple[str, str, str]]:
        """Yield path, expected and actual value of each part of the condition that fails."""
        yield self.field, self.expected, self.actual(reader)

    def distance(self, reader: RequestReader) -> float:
        """Return how far the request is from meeting it: 0 if it holds, 1 if nothing is alike."""
        return float(not self.holds(reader))

    @property
    def is_topical(self) -> bool:
        """True if a request that meets it has something in common with what the step is about."""
        return self.is_particular

    @property
    def needs(self) -> tuple[Need, ...]:
        """Necessary conditions, by which the index files the step; empty if there are none."""
        return ()

    @property
    def group_names(self) -> tuple[str, ...]:
        """Named groups that an answer can use as `match.NAME`."""
        return ()

    def groups(self, reader: RequestReader) -> dict[str, str]:
        """Return the request's values of the named groups."""
        return {}

    def implies(self, wide: "Condition") -> bool:
        """Return True if `wide` certainly holds whenever this one does; False can mean unknown."""
        return False

    def excludes(self, other: "Condition") -> bool:
        """Return True if certainly no request meets both."""
        return False

    @property
    def can_fail_next_turn(self) -> bool:
        """True if the condition, met now, can fail once a call and its result are added to the
        conversation."""
        return False

    @property
    def requires_tool_result(self) -> bool:
        """True if it holds only for requests with a tool's result."""
        return False

    @property
    def is_masked(self) -> bool:
        """True if the journal stores only the last characters of the tested value."""
        return False

    @property
    def may_be_masked(self) -> bool:
        """True if the tested value can be in the body under the name of a secret."""
        return False

    def suspicions(self, providers: Collection[str]) -> Iterator[tuple[SuspicionKind, str]]:
        """Yield kind and text of each suspicious trait. `providers` are the server's; empty if
        unknown."""
        yield from ()


@dataclass(frozen=True, slots=True)
class SubjectTextCondition(Condition):
    """Some text at `subject` meets one of the `alternatives`."""

    subject: Subject
    alternatives: tuple[TextCondition, ...]

    plain: ClassVar[bool] = False
    """True if its text is a plain value that needs no quotes."""

    @classmethod
    def for_exact_text(cls, field: str, subject: Subject, text: str) -> Self:
        """Return the condition that some text at `subject` equals `text`."""
        return cls(field, subject, (TextCondition(equals=text),))

    @staticmethod
    def read_texts(request: CanonicalRequest, subject: Subject) -> Iterable[str]:
        """Return the texts of which one must meet an alternative; each kind defines this."""
        raise NotImplementedError

    @property
    def expected(self) -> str:
        if self.plain:
            return self.alternatives[0].equals or ""
        return " or ".join(condition.describe() for condition in self.alternatives)

    @property
    def absence(self) -> str:
        """The actual value shown for a request without such a text."""
        return f"no {self.key}"

    @property
    def needs(self) -> tuple[Need, ...]:
        return (Need(self.subject, self.alternatives),)

    @property
    def group_names(self) -> tuple[str, ...]:
        """Named groups; none for a secret, since an answer could reveal it in parts."""
        if self.is_masked:
            return ()
        return tuple(name for c in self.alternatives for name in c.group_names)

    def holds(self, reader: RequestReader) -> bool:
        for text in reader.texts(self.subject):
            for condition in self.alternatives:
                if text.meets(condition):
                    return True
        return False

    def actual(self, reader: RequestReader) -> str:
        texts = reader.texts(self.subject)
        if not texts:
            return self.absence
        if self.plain:
            return texts[0].plain
        if self.is_masked:
            return quote("…" + texts[0].plain[-_SECRET_TAIL_CHARS:])
        plain = [text.plain for text in texts]
        hint = "" if self.holds(reader) else case_hint(self.alternatives, plain)
        return quote_last(plain) + hint

    def distance(self, reader: RequestReader) -> float:
        texts = reader.texts(self.subject)[-MAX_COMPARED_TEXTS:]
        return min((text_distance(t, c) for t in texts for c in self.alternatives), default=1.0)

    def groups(self, reader: RequestReader) -> dict[str, str]:
        if self.is_masked:
            return {}
        for text in reader.texts(self.subject):
            for condition in self.alternatives:
                if text.meets(condition):
                    return condition.groups(text.plain)
        return {}

    def implies(self, wide: Condition) -> bool:
        return (
            isinstance(wide, SubjectTextCondition)
            and self.subject == wide.subject
            and all(any(n.implies(w) for w in wide.alternatives) for n in self.alternatives)
        )


def case_hint(conditions: Iterable[TextCondition], texts: Sequence[str]) -> str:
    """Return CASE_HINT if one of the last texts differs only in case from a condition, or ""."""
    pairs = ((condition, text) for condition in conditions for text in texts[-MAX_COMPARED_TEXTS:])
    return (
        CASE_HINT if any(condition.differs_only_in_case(text) for condition, text in pairs) else ""
    )


def quote_last(texts: Iterable[str]) -> str:
    """Return the last three texts in quotes, followed by the number of the others."""
    all_texts = list(texts)
    left = len(all_texts) - _MAX_LISTED_TEXTS
    quoted = ", ".join(quote(text) for text in all_texts[-_MAX_LISTED_TEXTS:])
    return f"{quoted} and {left} more" if left > 0 else quoted
