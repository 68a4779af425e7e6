"""Reads the texts of a request that conditions test, and measures how near a text is to a
condition."""

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
TextReader: TypeAlias = Callable[[CanonicalRequest, "Subject"], Iterable[str]]

_MAX_PAIRED_CHARS = 2_000
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-]*")
_OTHER_CHARACTER = re.compile(r"[^A-Za-z0-9_-]")
_TOKEN = re2.compile(r"(?s)<\|.*?\|>")


class Subject(NamedTuple):
    """A location of texts in a request and the function that reads them. `name` is a message's role
    (empty: any role), a lower-case header or a metadata key; `which` selects messages by position,
    counted from 0."""

    read_texts: TextReader
    name: str = ""
    which: Which = "last"


class ComparedText:
    """A text with its casefolded form and letter pairs, computed on first use."""

    def __init__(self, plain: str) -> None:
        self.plain = plain

    @cached_property
    def folded(self) -> str:
        return self.plain.casefold()

    @cached_property
    def pairs(self) -> frozenset[str]:
        """Pairs of neighbouring letters in the first 2,000 characters, for similarity."""
        return letter_pairs(self.folded[:_MAX_PAIRED_CHARS])

    def meets(self, condition: TextCondition) -> bool:
        """Return True if the text passes the condition."""
        return condition.test(self.plain, folded=self.folded if condition.ignore_case else None)


class RequestReader:
    """Reads one request for many conditions; each text is read and folded at most once."""

    def __init__(self, request: CanonicalRequest) -> None:
        self.request = request
        self._texts: dict[Subject, tuple[ComparedText, ...]] = {}

    def texts(self, subject: Subject) -> tuple[ComparedText, ...]:
        """Return the texts at a subject, empty if the request has none."""
        texts = self._texts.get(subject)
        if texts is None:
            texts = tuple([ComparedText(t) for t in subject.read_texts(self.request, subject)])
            self._texts[subject] = texts
        return texts

    @cached_property
    def calls(self) -> tuple[tuple[ToolCallPart, Json], ...]:
        """Earlier tool calls with decoded arguments; invalid JSON stays text."""
        return tuple((call, _json_or_text(call.arguments)) for call in self.request.tool_calls)


def letter_pairs(text: str) -> frozenset[str]:
    """Return all pairs of neighbouring characters; the text's ends count as spaces."""
    padded = f" {text} "
    return frozenset(padded[i : i + 2] for i in range(len(padded) - 1))


def sanitise_tool_name(name: str) -> str:
    """Return a tool's name as it is compared: without `<|…|>`, and other characters than letters,
    digits, `_` and `-` replaced by `_`."""
    if _PLAIN_NAME.fullmatch(name):
        return name
    bare: str = _TOKEN.sub("", name)
    return _OTHER_CHARACTER.sub("_", bare)


def _json_or_text(arguments: str) -> Json:
    """Return decoded JSON arguments, or the text itself if it is not JSON."""
    try:
        value: Json = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
    return value


_MAX_LITERAL_CHARS = 200
_MAX_TESTED_CHARS = 20_000
# A condition that fails has more than distance 0, however alike the texts are.
_MIN_UNMET_DISTANCE = 0.02
_SPACE = re.compile(r"\s+")


def text_distance(text: ComparedText, condition: TextCondition) -> float:
    """Return the mean distance of the condition's parts, from 0 (all hold) to 1 (nothing in
    common).

    Texts are compared by shared pairs of neighbouring letters in their beginnings, ignoring case.
    Texts over 20,000 characters are not tested against the condition, which bounds the time.
    """
    if len(text.plain) <= _MAX_TESTED_CHARS and text.meets(condition):
        return 0.0
    parts = []
    if condition.exact is not None:
        parts.append(_literal_distance(condition.exact, text.pairs, whole=True))
    if condition.part is not None:
        parts.append(_literal_distance(condition.part, text.pairs, whole=False))
    if condition.start is not None:
        beginning = letter_pairs(text.folded[: len(_fold_beginning(condition.start))])
        parts.append(_literal_distance(condition.start, beginning, whole=True))
    if condition.regex is not None:
        words = " ".join(condition.words)
        parts.append(_literal_distance(words, text.pairs, whole=False) if words else 1.0)
    return max(_MIN_UNMET_DISTANCE, sum(parts) / len(parts)) if parts else 0.0


def _fold_beginning(literal: str) -> str:
    """Return the first 200 characters, casefolded, with each run of spaces as one."""
    return _SPACE.sub(" ", literal[:_MAX_LITERAL_CHARS].casefold())


def _literal_distance(literal: str, there: frozenset[str], *, whole: bool) -> float:
    """Return the share of the literal's letter pairs that are missing in `there`; with `whole`,
    pairs that only `there` has count too."""
    wanted = letter_pairs(_fold_beginning(literal))
    maximum = (len(wanted) + len(there)) / 2 if whole else len(wanted)
    return 1.0 - len(wanted & there) / maximum
