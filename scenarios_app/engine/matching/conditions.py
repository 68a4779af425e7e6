"""Text conditions, compiled once: what a text must be for a condition to hold."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import re2

from scenarios_app.engine.scenario import TextCondition

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
        raise RegexError(f"not an RE2 pattern: {text}") from error
    except UnicodeEncodeError as error:
        raise RegexError("the pattern holds half a surrogate pair") from error
    return compiled


def check_regex(pattern: str) -> str | None:
    """What is wrong with a pattern, None where nothing is."""
    try:
        compile_regex(pattern)
    except RegexError as error:
        return str(error)
    return None


@dataclass(frozen=True, slots=True)
class CompiledText:
    """A text condition ready to be tested. Where case is ignored its literals are folded."""

    equals: str | None
    contains: str | None
    startswith: str | None
    regex: Regex | None
    pattern: str | None
    ignore_case: bool

    def test(self, text: str, *, folded: str | None = None) -> bool:
        """Whether all that the condition gives holds; `folded` spares folding the text again."""
        subject = text
        if self.ignore_case:
            subject = text.casefold() if folded is None else folded
        return (
            (self.equals is None or subject == self.equals)
            and (self.contains is None or self.contains in subject)
            and (self.startswith is None or subject.startswith(self.startswith))
            and (self.regex is None or self.regex.search(text) is not None)
        )

    @property
    def group_names(self) -> tuple[str, ...]:
        """The regex's named groups, in the order of the pattern."""
        if self.regex is None:
            return ()
        return tuple(sorted(self.regex.groupindex, key=self.regex.groupindex.__getitem__))

    def groups(self, text: str) -> dict[str, str]:
        """The named groups of the regex in a text; one that took no part is empty."""
        if self.regex is None or not self.regex.groupindex:
            return {}
        found = self.regex.search(text)
        return found.groupdict("") if found else {}

    def describe(self) -> str:
        """The condition in words, as mismatches show it."""
        wanted = [
            f"{verb} {quote(literal)}"
            for verb, literal in (
                ("equals", self.equals),
                ("contains", self.contains),
                ("starts with", self.startswith),
                ("matches", self.pattern),
            )
            if literal is not None
        ]
        if not wanted:
            return "is there"
        return " and ".join(wanted) + (" in any case" if self.ignore_case else "")


@lru_cache(maxsize=10_000)
def compile_text(condition: TextCondition) -> CompiledText:
    """Compile a condition; raises RegexError. Equal conditions share what they compile to."""
    ignore_case = condition.ignore_case
    pattern = condition.regex
    return CompiledText(
        equals=_literal(condition.equals, ignore_case),
        contains=_literal(condition.contains, ignore_case),
        startswith=_literal(condition.startswith, ignore_case),
        regex=None if pattern is None else compile_regex(pattern, ignore_case=ignore_case),
        pattern=pattern,
        ignore_case=ignore_case,
    )


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


def words_of(condition: CompiledText) -> tuple[str, ...]:
    """The words that a condition asks for; a regex gives those of its literal text."""
    literals = [condition.equals, condition.contains, condition.startswith]
    if condition.pattern is not None:
        literals.append(_ESCAPE.sub(" ", condition.pattern))
    return tuple(word for text in literals if text for word in words_in(text))


def words_in(text: str) -> tuple[str, ...]:
    """The words in the beginning of a text, folded."""
    return tuple(_WORD.findall(text[:_READ_FOR_WORDS].casefold()))
