"""Regular expressions in JSON Schemas: makes texts that match one, and tests texts."""

import re
import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from random import Random
from typing import TypeAlias

from scenarios_app.engine.conditions.texts import RegexError, compile_regex
from scenarios_app.engine.schemas.keywords import SchemaError, pick

MAX_SAMPLE_CHARS = 10_000
MAX_PATTERN_CHARS, _MAX_DEPTH = 4_000, 50
_DIGITS, _LETTERS = string.digits, string.ascii_letters
_WORD = _LETTERS + _DIGITS + "_"
_PRINTED = _LETTERS + _DIGITS + " " + string.punctuation
_CLASSES = {"d": _DIGITS, "w": _WORD, "s": " \t"}
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}
_PROPERTIES = {"L": _LETTERS, "Lu": string.ascii_uppercase, "Ll": string.ascii_lowercase}
_PROPERTIES |= {"Letter": _LETTERS, "Alphabetic": _LETTERS, "Script=Latin": _LETTERS}
_PROPERTIES |= {"N": _DIGITS, "Nd": _DIGITS, "Number": _DIGITS, "P": string.punctuation}
_UNBOUNDED = 1 << 30
_UNICODE = re.compile(r"\\u([0-9A-Fa-f]{4})")
_BOUNDS = re.compile(r"\{([0-9]{1,9})(,([0-9]{1,9})?)?\}")


def matches_pattern(pattern: str, text: str) -> bool:
    """Return True if a pattern is found in a text, or if the pattern cannot be compiled for RE2."""
    search = _compile_search(pattern)
    return search is None or search(text)


@lru_cache(maxsize=1024)
def _compile_search(pattern: str) -> Callable[[str], bool] | None:
    """Return a function that searches texts for a pattern; None if it is too long or not RE2's."""
    try:
        regex = compile_regex(_UNICODE.sub(r"\\x{\1}", pattern))
    except RegexError:
        return None
    return lambda text: regex.search(text) is not None


@dataclass(slots=True)
class _SampleText:
    """A text that is being made from a pattern. `grow` is the maximum of optional repetitions of an
    item; `groups` has the text of each group by its number."""

    rng: Random
    grow: int
    texts: list[str] = field(default_factory=list)
    length: int = 0
    groups: dict[int, str] = field(default_factory=dict)

    def append(self, text: str) -> None:
        """Add a text, counted as at least one character; raise SchemaError beyond 10,000."""
        self.texts.append(text)
        self.length += len(text) or 1
        if self.length > MAX_SAMPLE_CHARS:
            raise SchemaError(f"'pattern' asks for more than {MAX_SAMPLE_CHARS} characters.")


# Adds the text of one item of a pattern to a sample.
_Item: TypeAlias = Callable[[_SampleText], None]


def _one_of(characters: str) -> _Item:
    """Return the item that adds a random one of the characters; raise ValueError if all are halves
    of surrogate pairs, which a text cannot hold."""
    choices = characters.encode(errors="ignore").decode()
    if not choices:
        raise ValueError("no character can be encoded")
    return lambda sample: sample.append(pick(choices, sample.rng))


def _group(sequences: Sequence[Sequence[_Item]], number: int) -> _Item:
    """Return the item that adds a random one of the sequences; `number` is the group's, or 0."""

    def add_one_sequence(sample: _SampleText) -> None:
        """Add a random sequence; store its text for back-references if the group has a number."""
        start = len(sample.texts)
        for item in pick(sequences, sample.rng):
            item(sample)
        if number:
            sample.groups[number] = "".join(sample.texts[start:])

    return add_one_sequence


def _repeat(item: _Item, minimum: int, maximum: int) -> _Item:
    """Return the item that adds `item` a random number of times: from `minimum` to `maximum`, but
    at most `grow` of the sample more than `minimum`."""

    def add_repetitions(sample: _SampleText) -> None:
        """Add the repetitions; raise SchemaError if the sample is too long."""
        more = min(maximum - minimum, sample.grow)
        for _ in range(minimum + int(sample.rng.random() * (more + 1))):
            # Empty repetitions count against the limit too.
            sample.append("")
            item(sample)

    return add_repetitions


def make_sample(pattern: str, rng: Random, grow: int) -> str:
    """Return a text made from a pattern, with at most `grow` optional repetitions of each item.

    Anchors and word boundaries are ignored, so the caller tests the text with `matches_pattern`.
    Raises SchemaError for an unsupported pattern and for a text of more than 10,000 characters.
    """
    sample = _SampleText(rng, grow)
    _parse_pattern(pattern)(sample)
    return "".join(sample.texts)


@lru_cache(maxsize=256)
def _parse_pattern(pattern: str) -> _Item:
    """Return the item for a whole pattern; raise SchemaError if it is too long or unsupported."""
    if len(pattern) > MAX_PATTERN_CHARS:
        raise SchemaError(f"'pattern' is longer than {MAX_PATTERN_CHARS} characters.")
    try:
        parser = _PatternParser(pattern)
        item = parser.parse_choices()
        if parser.at < len(pattern):
            raise parser.unsupported("it has a ')' too many")
    except SchemaError:
        raise
    except (IndexError, ValueError, OverflowError):
        raise SchemaError(f"'pattern' {pattern[:80]!r} cannot be read.") from None
    return item


@dataclass(slots=True)
class _PatternParser:
    """Parses a pattern from the position `at` on. `groups` counts the numbered groups so far,
    `depth` the open ones."""

    pattern: str
    at: int = 0
    groups: int = 0
    depth: int = 0

    def unsupported(self, why: str) -> SchemaError:
        """Return the error for a pattern that no sample can be made from."""
        return SchemaError(f"'pattern' {self.pattern[:80]!r} is not supported: {why}.")

    def accept(self, token: str) -> bool:
        """Skip a token and return True if it is at the position."""
        if self.pattern.startswith(token, self.at):
            self.at += len(token)
            return True
        return False

    def read(self) -> str:
        """Return the character at the position and go past it; raise IndexError at the end."""
        self.at += 1
        return self.pattern[self.at - 1]

    def read_until(self, end: str) -> str:
        """Return the text up to `end` and go past both; raise ValueError without `end`."""
        start, self.at = self.at, self.pattern.index(end, self.at) + len(end)
        return self.pattern[start : self.at - len(end)]

    def parse_choices(self, number: int = 0) -> _Item:
        """Return the item for the alternatives up to a closing parenthesis, which stays unread, or
        the end. `number` is the number of their group, or 0."""
        sequences: list[list[_Item]] = [[]]
        while self.at < len(self.pattern) and self.pattern[self.at] != ")":
            if self.accept("|"):
                sequences.append([])
            elif (item := self.parse_atom()) is not None:
                sequences[-1].append(self.parse_repeats(item))
        return _group(sequences, number)

    def parse_atom(self) -> _Item | None:
        """Return the item of the character, class or group at the position; None if it adds no
        text."""
        match self.read():
            case "(":
                return self.parse_group()
            case "[":
                return _one_of(self.parse_class())
            case "\\":
                return self.parse_escaped_item()
            case ".":
                return _one_of(_LETTERS + _DIGITS)
            case "^" | "$":
                return None
            case character:
                return _one_of(character)

    def parse_group(self) -> _Item:
        """Return the item of a group whose parenthesis was read. Raises SchemaError for
        lookarounds, unknown flags, too deep nesting and a missing parenthesis."""
        is_numbered = True
        if self.accept("?"):
            if self.pattern[self.at] in "=!" or self.pattern[self.at : self.at + 2] in ("<=", "<!"):
                raise self.unsupported("it looks around")
            if is_numbered := self.accept("P<") or self.accept("<"):
                self.read_until(">")
            elif set(self.read_until(":")) - set("imsu-"):
                raise self.unsupported("its group has unknown flags")
        self.groups += is_numbered
        number = self.groups if is_numbered else 0
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise self.unsupported("its groups nest too deep")
        group = self.parse_choices(number)
        self.depth -= 1
        if not self.accept(")"):
            raise self.unsupported("a ')' is missing")
        return group

    def parse_escaped_item(self) -> _Item | None:
        """Return the item of an escape sequence or back-reference whose backslash was read; None
        for a boundary or an anchor."""
        character = self.pattern[self.at]
        if character in "bBAzZG":
            self.at += 1
            return None
        if character in "123456789":
            self.at += 1
            return lambda sample: sample.append(sample.groups.get(int(character), ""))
        return _one_of(self.parse_escape())

    def parse_escape(self) -> str:
        """Return the characters that an escape sequence, after its backslash, can stand for."""
        character = self.read()
        if character in "pP":
            name = self.read_until("}") if self.accept("{") else self.parse_character()
            named = _PROPERTIES.get(name, _LETTERS)
            return _other_characters(named) if character == "P" else named
        if character in "xu":
            if self.accept("{"):
                return chr(int(self.read_until("}"), 16))
            size = 2 if character == "x" else 4
            self.at += size
            return chr(int(self.pattern[self.at - size : self.at], 16))
        if character.lower() in _CLASSES:
            named = _CLASSES[character.lower()]
            return named if character.islower() else _other_characters(named)
        return _CONTROLS.get(character, character)

    def parse_class(self) -> str:
        """Return the characters of a class whose bracket was read. Raises SchemaError for a POSIX
        class, a wrong range or an empty class."""
        negated, members = self.accept("^"), ""
        start = self.at
        while self.at == start or self.pattern[self.at] != "]":
            if self.pattern.startswith("[:", self.at):
                raise self.unsupported("its class is a POSIX one")
            low = self.parse_character()
            if len(low) == 1 and self.pattern[self.at] == "-" and self.pattern[self.at + 1] != "]":
                self.at += 1
                high = self.parse_character()
                if len(high) != 1 or high < low:
                    raise self.unsupported("its range of characters ends before it begins")
                # 256 characters are enough to draw from.
                last = min(ord(high), ord(low) + 255)
                members += "".join(map(chr, range(ord(low), last + 1)))
            else:
                members += low
        self.at += 1
        members = _other_characters(members) if negated else members
        if not members:
            raise self.unsupported("no character is in its class")
        return members

    def parse_character(self) -> str:
        """Return the character at the position, or those of an escape sequence, inside a class."""
        character = self.read()
        if character != "\\":
            return character
        return "\b" if self.accept("b") else self.parse_escape()

    def parse_repeats(self, item: _Item) -> _Item:
        """Return the item with the quantifiers at the position applied."""
        while (bounds := self.parse_quantifier()) is not None:
            item = _repeat(item, *bounds)
            if not self.accept("?"):
                self.accept("+")
        return item

    def parse_quantifier(self) -> tuple[int, int] | None:
        """Return the least and most repetitions of a quantifier at the position, or None. Raises
        SchemaError if least is above most."""
        for token, bounds in (("*", (0, _UNBOUNDED)), ("+", (1, _UNBOUNDED)), ("?", (0, 1))):
            if self.accept(token):
                return bounds
        if not (match := _BOUNDS.match(self.pattern, self.at)):
            return None
        self.at = match.end()
        minimum = int(match[1])
        maximum = minimum if match[2] is None else int(match[3] or _UNBOUNDED)
        if maximum < minimum:
            raise self.unsupported("it repeats more often than it may")
        return minimum, maximum


def _other_characters(characters: str) -> str:
    """Return the printable ASCII characters that are not in `characters`."""
    return "".join(c for c in _PRINTED if c not in characters)
