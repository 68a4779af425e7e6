"""Conditions on a text, ready to be tested: what it must be, what one of them says of another."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol

import re2

LONGEST_PATTERN = 500
_SHOWN = 80


class Found(Protocol):
    def groupdict(self, default: str) -> dict[str, str]: ...


class Regex(Protocol):
    """What is used of a compiled RE2 pattern. It has no state: threads may share it."""

    @property
    def groupindex(self) -> Mapping[str, int]: ...
    def search(self, text: str) -> Found | None: ...


class RegexError(ValueError):
    """A pattern that RE2 does not take; the message says why, in one line."""


def regex_options(*, ignore_case: bool) -> re2.Options:
    """RE2's options for a pattern: errors are raised, never printed."""
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = not ignore_case
    return options


@lru_cache(maxsize=10_000)
def compile_regex(pattern: str, *, ignore_case: bool = False) -> Regex:
    """Compile an RE2 pattern of at most LONGEST_PATTERN characters; raises RegexError.

    Ignoring case is RE2's own: letter by letter over Unicode, as `(?i)` before the pattern.
    """
    if len(pattern) > LONGEST_PATTERN:
        raise RegexError(f"the pattern is longer than {LONGEST_PATTERN} characters")
    try:
        compiled: Regex = re2.compile(pattern, regex_options(ignore_case=ignore_case))
    except re2.error as error:
        reason = error.args[0]
        text = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise RegexError(f"not an RE2 pattern: {_explained(text)}") from error
    except UnicodeEncodeError as error:
        raise RegexError("the pattern holds half a surrogate pair") from error
    return compiled


# What other engines know and RE2 does not, by the words in which it says so.
_UNKNOWN = (
    (re.compile(r"invalid perl operator: \(\?[=!]"), "look-ahead is not supported"),
    (re.compile(r"invalid perl operator: \(\?<[=!]"), "look-behind is not supported"),
    (re.compile(r"invalid perl operator: \(\?>"), "an atomic group is not supported"),
    (
        re.compile(r"invalid escape sequence: \\[1-9k]"),
        "a reference back to a group is not supported",
    ),
)


def _explained(text: str) -> str:
    for words, explanation in _UNKNOWN:
        if words.match(text):
            return f"{explanation} ({text.partition(': ')[2]})"
    return text


def check_regex(pattern: str) -> str | None:
    """What is wrong with a pattern, None where nothing is."""
    try:
        compile_regex(pattern)
    except RegexError as error:
        return str(error)
    return None


@dataclass(frozen=True, slots=True)
class TextCondition:
    """All that is given must hold; nothing given always holds. `regex` is RE2, found anywhere.

    `exact`, `part` and `start` are the literals as they are compared, folded where case is ignored,
    and `search` is the pattern, compiled. Raises RegexError.
    """

    equals: str | None = None
    contains: str | None = None
    startswith: str | None = None
    regex: str | None = None
    ignore_case: bool = False
    exact: str | None = field(init=False, repr=False, compare=False)
    part: str | None = field(init=False, repr=False, compare=False)
    start: str | None = field(init=False, repr=False, compare=False)
    search: Regex | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        pattern, ignore_case = self.regex, self.ignore_case
        search = None if pattern is None else compile_regex(pattern, ignore_case=ignore_case)
        for name, value in (
            ("exact", _literal(self.equals, ignore_case)),
            ("part", _literal(self.contains, ignore_case)),
            ("start", _literal(self.startswith, ignore_case)),
            ("search", search),
        ):
            object.__setattr__(self, name, value)

    def test(self, text: str, *, folded: str | None = None) -> bool:
        """Whether all that the condition gives holds; `folded` spares folding the text again."""
        subject = text
        if self.ignore_case:
            subject = text.casefold() if folded is None else folded
        return (
            (self.exact is None or subject == self.exact)
            and (self.part is None or self.part in subject)
            and (self.start is None or subject.startswith(self.start))
            and (self.search is None or self.search.search(text) is not None)
        )

    @property
    def group_names(self) -> tuple[str, ...]:
        """The regex's named groups, in the order of the pattern."""
        if self.search is None:
            return ()
        return tuple(sorted(self.search.groupindex, key=self.search.groupindex.__getitem__))

    def groups(self, text: str) -> dict[str, str]:
        """The named groups of the regex in a text; one that took no part is empty."""
        if self.search is None or not self.search.groupindex:
            return {}
        found = self.search.search(text)
        return found.groupdict("") if found else {}

    def describe(self) -> str:
        """The condition in words, as mismatches show it."""
        wanted = [
            f"{verb} {quote(literal)}"
            for verb, literal in (
                ("equals", self.exact),
                ("contains", self.part),
                ("starts with", self.start),
                ("matches", self.regex),
            )
            if literal is not None
        ]
        if not wanted:
            return "is there"
        return " and ".join(wanted) + (" in any case" if self.ignore_case else "")

    @property
    def words(self) -> tuple[str, ...]:
        """The words that it asks for; a regex gives those of its literal text."""
        literals = [self.exact, self.part, self.start]
        if self.regex is not None:
            literals.append(_ESCAPE.sub(" ", self.regex))
        return tuple(word for text in literals if text for word in words_in(text))

    def implies(self, wide: "TextCondition") -> bool:
        """Whether every text that meets this one meets `wide`. A yes is certain; a no may only
        mean that it can't be seen."""
        return (
            (wide.exact is None or self._is(wide, wide.exact))
            and (wide.part is None or any(wide.part in text for text in self._held(wide)))
            and (wide.start is None or self._begins(wide, wide.start))
            and (wide.search is None or self._has(wide, wide.search))
        )

    def excludes(self, other: "TextCondition") -> bool:
        """Whether no text meets both: one of them says what the whole text is, and the other
        denies it."""
        return _denies(self, other) or _denies(other, self)

    def _is(self, wide: "TextCondition", literal: str) -> bool:
        return self.exact is not None and self._seen(wide, self.exact) == literal

    def _held(self, wide: "TextCondition") -> list[str]:
        """Texts that every text of this one holds, as `wide` sees them."""
        texts = (self.exact, self.part, self.start)
        seen = (self._seen(wide, text) for text in texts if text is not None)
        # The empty text is in every text.
        return ["", *(text for text in seen if text is not None)]

    def _begins(self, wide: "TextCondition", start: str) -> bool:
        texts = (self.exact, self.start, "")
        seen = (self._seen(wide, text) for text in texts if text is not None)
        return any(text is not None and text.startswith(start) for text in seen)

    def _seen(self, wide: "TextCondition", text: str) -> str | None:
        """A literal of this one as `wide` compares it; None where this one leaves its case open
        and `wide` does not."""
        if wide.ignore_case:
            return text.casefold()
        return None if self.ignore_case and text else text

    def _has(self, wide: "TextCondition", search: Regex) -> bool:
        if self.regex == wide.regex and self.ignore_case == wide.ignore_case:
            return True
        exact = None if self.ignore_case else self.exact
        return exact is not None and search.search(exact) is not None


def _denies(exact: TextCondition, other: TextCondition) -> bool:
    if exact.exact is None or exact.ignore_case > other.ignore_case:
        return False
    return not other.test(exact.exact)


def _literal(literal: str | None, ignore_case: bool) -> str | None:
    return literal.casefold() if literal is not None and ignore_case else literal


def quote(text: str) -> str:
    """A text in double quotes on one line, shortened where it is long."""
    return json.dumps(shorten(text), ensure_ascii=False)


def shorten(text: str, limit: int = _SHOWN) -> str:
    """At most `limit` characters of a text, ending in … where some were left out."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


_READ_FOR_WORDS = 2_000
_WORD = re.compile(r"\w+")
_ESCAPE = re.compile(r"\\.", re.DOTALL)


def words_in(text: str) -> tuple[str, ...]:
    """The words in the beginning of a text, folded."""
    return tuple(_WORD.findall(text[:_READ_FOR_WORDS].casefold()))
