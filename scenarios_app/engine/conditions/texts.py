"""Conditions on texts, compiled, with implication and exclusion between them."""

import json
import re
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TypeAlias

import re2

MAX_PATTERN_CHARS = 500
_MAX_QUOTED_CHARS = 80


# A compiled RE2 pattern, which has the interface of one of `re`. Threads may share it.
Regex: TypeAlias = re.Pattern[str]


class RegexError(ValueError):
    """RE2 rejects the pattern; the message is one line."""


def regex_options(*, ignore_case: bool) -> re2.Options:
    """Return RE2's options for a pattern; errors are raised and not printed."""
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = not ignore_case
    return options


@lru_cache(maxsize=10_000)
def compile_regex(pattern: str, *, ignore_case: bool = False) -> Regex:
    """Compile an RE2 pattern of at most MAX_PATTERN_CHARS characters; raises RegexError.
    `ignore_case` folds single letters over Unicode, like `(?i)` before the pattern."""
    if len(pattern) > MAX_PATTERN_CHARS:
        raise RegexError(f"the pattern is longer than {MAX_PATTERN_CHARS} characters")
    try:
        compiled: Regex = re2.compile(pattern, regex_options(ignore_case=ignore_case))
    except re2.error as error:
        reason = error.args[0]
        text = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise RegexError(f"not an RE2 pattern: {_explain_error(text)}") from error
    except UnicodeEncodeError as error:
        raise RegexError("the pattern holds half a surrogate pair") from error
    return compiled


# Features of other engines that RE2 lacks, by RE2's error message.
_UNSUPPORTED = (
    (re.compile(r"invalid perl operator: \(\?[=!]"), "look-ahead is not supported"),
    (re.compile(r"invalid perl operator: \(\?<[=!]"), "look-behind is not supported"),
    (re.compile(r"invalid perl operator: \(\?>"), "an atomic group is not supported"),
    (
        re.compile(r"invalid escape sequence: \\[1-9k]"),
        "a reference back to a group is not supported",
    ),
)


def _explain_error(text: str) -> str:
    """Return RE2's message; for a feature that RE2 lacks, with the name of the feature."""
    for words, explanation in _UNSUPPORTED:
        if words.match(text):
            return f"{explanation} ({text.partition(': ')[2]})"
    return text


def check_regex(pattern: str) -> str | None:
    """Return the error message for a pattern, or None if it is valid."""
    try:
        compile_regex(pattern)
    except RegexError as error:
        return str(error)
    return None


@dataclass(frozen=True, slots=True)
class TextCondition:
    """A test of a text: all given fields must hold. `regex` is RE2 and searched anywhere.

    `exact`, `part` and `start` are the literals, folded if case is ignored, and `search` is the
    compiled pattern. Raises RegexError.
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
            ("exact", _fold_literal(self.equals, ignore_case)),
            ("part", _fold_literal(self.contains, ignore_case)),
            ("start", _fold_literal(self.startswith, ignore_case)),
            ("search", search),
        ):
            object.__setattr__(self, name, value)

    def test(self, text: str, *, folded: str | None = None) -> bool:
        """Return True if all given fields hold; `folded` is the casefolded text, if known."""
        subject = text
        if self.ignore_case:
            subject = text.casefold() if folded is None else folded
        return (
            (self.exact is None or subject == self.exact)
            and (self.part is None or self.part in subject)
            and (self.start is None or subject.startswith(self.start))
            and (self.search is None or self.search.search(text) is not None)
        )

    def differs_only_in_case(self, text: str) -> bool:
        """Return True if all given fields would hold with `ignore_case`, and do not without."""
        if self.ignore_case or self.test(text):
            return False
        return replace(self, ignore_case=True).test(text)

    @property
    def group_names(self) -> tuple[str, ...]:
        """The regex's named groups in the order of the pattern."""
        if self.search is None:
            return ()
        return tuple(sorted(self.search.groupindex, key=self.search.groupindex.__getitem__))

    def groups(self, text: str) -> dict[str, str]:
        """Return the regex's named groups in a text; unmatched groups are empty."""
        if self.search is None or not self.search.groupindex:
            return {}
        match = self.search.search(text)
        return match.groupdict("") if match else {}

    def describe(self) -> str:
        """Return the description that mismatches show."""
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
        """Folded words of the literals and of the regex's literal text."""
        literals = [self.exact, self.part, self.start]
        if self.regex is not None:
            literals.append(_ESCAPE.sub(" ", self.regex))
        return tuple(word for text in literals if text for word in words_in(text))

    def implies(self, wide: "TextCondition") -> bool:
        """Return True if `wide` certainly holds for every text that meets this one."""
        exact, part, start = (
            self._fold_for(wide, text) for text in (self.exact, self.part, self.start)
        )
        # The empty text is in every text.
        parts = [text for text in (exact, part, start, "") if text is not None]
        starts = [text for text in (exact, start, "") if text is not None]
        return (
            (wide.exact is None or exact == wide.exact)
            and (wide.part is None or any(wide.part in text for text in parts))
            and (wide.start is None or any(text.startswith(wide.start) for text in starts))
            and (wide.search is None or self._implies_search(wide, wide.search))
        )

    def excludes(self, other: "TextCondition") -> bool:
        """Return True if one fixes the whole text and the other rejects that text."""
        return _is_denied_by(self, other) or _is_denied_by(other, self)

    def _fold_for(self, wide: "TextCondition", text: str | None) -> str | None:
        """Return a literal as `wide` compares it; None if only this one ignores case."""
        if text is not None and wide.ignore_case:
            return text.casefold()
        return None if self.ignore_case and text else text

    def _implies_search(self, wide: "TextCondition", search: Regex) -> bool:
        """Return True if `search`, the pattern of `wide`, is certainly found in every text that
        meets this condition."""
        if self.regex == wide.regex and self.ignore_case == wide.ignore_case:
            return True
        exact = None if self.ignore_case else self.exact
        return exact is not None and search.search(exact) is not None


def _is_denied_by(condition: TextCondition, other: TextCondition) -> bool:
    """Return True if `other` rejects the text that `condition` fixes with `equals`. False also if
    only `condition` ignores case."""
    if condition.exact is None or condition.ignore_case > other.ignore_case:
        return False
    return not other.test(condition.exact)


def _fold_literal(literal: str | None, ignore_case: bool) -> str | None:
    return literal.casefold() if literal is not None and ignore_case else literal


def quote(text: str) -> str:
    """Return a text in double quotes on one line, shortened to 80 characters."""
    return json.dumps(shorten(text), ensure_ascii=False)


def shorten(text: str, limit: int = _MAX_QUOTED_CHARS) -> str:
    """Return at most `limit` characters of a text, ending in … if it was cut."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


_MAX_WORD_TEXT_CHARS = 2_000
_WORD = re.compile(r"\w+")
_ESCAPE = re.compile(r"\\.", re.DOTALL)


def words_in(text: str) -> tuple[str, ...]:
    """Return the folded words in the first 2,000 characters of a text."""
    return tuple(_WORD.findall(text[:_MAX_WORD_TEXT_CHARS].casefold()))
