"""What conditions read off a request: each text found, folded and parsed at most once, and how far
a text is from meeting a condition, so that near misses can be ranked."""

import json
import re
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

import re2

from scenarios_app.engine.canonical import CanonicalRequest, Json
from scenarios_app.engine.conditions.texts import TextCondition
from scenarios_app.engine.parts import ToolCallPart

Which: TypeAlias = Literal["last", "first", "any", "new"] | int
Read: TypeAlias = Callable[[CanonicalRequest, "Subject"], Iterable[str]]

_PAIRS_OF = 2_000
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-]*")
_OTHER_CHARACTER = re.compile(r"[^A-Za-z0-9_-]")
_TOKEN = re2.compile(r"(?s)<\|.*?\|>")


class Subject(NamedTuple):
    """A place in a request that holds texts, and what reads them there. `name` is a message's role
    (empty: any role), a lower-case header or a metadata key; `which` picks among messages, an index
    from 0."""

    read: Read
    name: str = ""
    which: Which = "last"


class Text:
    """A text as conditions see it."""

    def __init__(self, plain: str) -> None:
        self.plain = plain

    @cached_property
    def folded(self) -> str:
        return self.plain.casefold()

    @cached_property
    def pairs(self) -> frozenset[str]:
        """The pairs of neighbouring letters in the beginning, by which texts are alike."""
        return pairs_of(self.folded[:_PAIRS_OF])

    def meets(self, condition: TextCondition) -> bool:
        return condition.test(self.plain, folded=self.folded if condition.ignore_case else None)


class Reading:
    """One request, read by many conditions."""

    def __init__(self, request: CanonicalRequest) -> None:
        self.request = request
        self._texts: dict[Subject, tuple[Text, ...]] = {}

    def texts(self, subject: Subject) -> tuple[Text, ...]:
        """The texts at a place, none where the request has no such place."""
        found = self._texts.get(subject)
        if found is None:
            found = tuple([Text(plain) for plain in subject.read(self.request, subject)])
            self._texts[subject] = found
        return found

    @cached_property
    def calls(self) -> tuple[tuple[ToolCallPart, Json], ...]:
        """Earlier tool calls with their arguments decoded; broken arguments stay text."""
        return tuple((call, _decode(call.arguments)) for call in self.request.tool_calls)


def pairs_of(text: str) -> frozenset[str]:
    """All pairs of neighbouring characters, the ends of the text counting as spaces."""
    padded = f" {text} "
    return frozenset(padded[i : i + 2] for i in range(len(padded) - 1))


def sanitise_tool_name(name: str) -> str:
    """A tool's name as it is compared: `<|…|>` dropped, what is not a letter, digit, `_` or `-`
    made `_`."""
    if _PLAIN_NAME.fullmatch(name):
        return name
    bare: str = _TOKEN.sub("", name)
    return _OTHER_CHARACTER.sub("_", bare)


def _decode(arguments: str) -> Json:
    try:
        decoded: Json = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
    return decoded


_LITERAL_BEGINNING = 200
_TESTED = 20_000
# Not met is never 0, however alike the texts are.
_LEAST = 0.02
_SPACE = re.compile(r"\s+")


def text_distance(text: Text, condition: TextCondition) -> float:
    """The mean distance of the condition's parts, from 0 (all of them hold) to 1 (nothing in
    common). Texts are compared by the pairs of neighbouring letters they share, case aside, in
    their beginnings. A long text is not tested, which would take long for many conditions: it is
    near at best."""
    if len(text.plain) <= _TESTED and text.meets(condition):
        return 0.0
    parts = []
    if condition.exact is not None:
        parts.append(_unlike(pairs_of(_beginning(condition.exact)), text.pairs, whole=True))
    if condition.part is not None:
        parts.append(_unlike(pairs_of(_beginning(condition.part)), text.pairs, whole=False))
    if condition.start is not None:
        wanted = _beginning(condition.start)
        start = pairs_of(text.folded[: len(wanted)])
        parts.append(_unlike(pairs_of(wanted), start, whole=True))
    if condition.regex is not None:
        wanted = _beginning(" ".join(condition.words))
        parts.append(_unlike(pairs_of(wanted), text.pairs, whole=False) if wanted else 1.0)
    return max(_LEAST, sum(parts) / len(parts)) if parts else 0.0


def _beginning(literal: str) -> str:
    return _SPACE.sub(" ", literal[:_LITERAL_BEGINNING].casefold())


def _unlike(wanted: frozenset[str], there: frozenset[str], *, whole: bool) -> float:
    shared = len(wanted & there)
    most = (len(wanted) + len(there)) / 2 if whole else len(wanted)
    return 1.0 - shared / most
