"""Regular expressions in JSON Schemas: makes texts that match one, and tests texts."""

import re
import string
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from random import Random
from typing import TypeAlias

from scenarios_app.engine.conditions.texts import RegexError, compile_regex
from scenarios_app.engine.schemas.keywords import SchemaError

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
    """Return True if a pattern is found in a text, or if RE2 does not support the pattern."""
    search = _compile_search(pattern)
    return search is None or search(text)


@lru_cache(maxsize=1024)
def _compile_search(pattern: str) -> Callable[[str], bool] | None:
    try:
        regex = compile_regex(_UNICODE.sub(r"\\x{\1}", pattern))
    except RegexError:
        return None
    return lambda text: regex.search(text) is not None


@dataclass(frozen=True, slots=True)
class CharacterSet:
    """One of these characters."""

    characters: str


@dataclass(frozen=True, slots=True)
class Group:
    """One of these sequences. `number` is the group's number for back-references, or 0."""

    choices: "tuple[tuple[PatternItem, ...], ...]"
    number: int = 0


@dataclass(frozen=True, slots=True)
class Repeat:
    item: "PatternItem"
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class BackReference:
    """The text of group `number` again."""

    number: int


PatternItem: TypeAlias = CharacterSet | Group | Repeat | BackReference


def make_sample(pattern: str, rng: Random, grow: int) -> str:
    """Return a text made from a pattern, with up to `grow` repetitions more than required.

    Anchors and word boundaries are ignored, so the caller tests the text with `matches_pattern`.
    Raises SchemaError for an unsupported pattern.
    """
    sampling = _Sampler(rng, grow)
    sampling.group(parse_pattern(pattern))
    return "".join(sampling.texts)


@dataclass(slots=True)
class _Sampler:
    rng: Random
    grow: int
    texts: list[str] = field(default_factory=list)
    length: int = 0
    groups: dict[int, str] = field(default_factory=dict)

    def item(self, item: PatternItem) -> None:
        match item:
            case CharacterSet(characters):
                self.say(characters[int(self.rng.random() * len(characters))])
            case Group():
                self.group(item)
            case BackReference(number):
                self.say(self.groups.get(number, ""))
            case _:
                more = min(item.most - item.least, self.grow)
                for _ in range(item.least + int(self.rng.random() * (more + 1))):
                    # Empty repetitions count against the limit too.
                    self.say("")
                    self.item(item.item)

    def group(self, group: Group) -> None:
        start = len(self.texts)
        for item in group.choices[int(self.rng.random() * len(group.choices))]:
            self.item(item)
        if group.number:
            self.groups[group.number] = "".join(self.texts[start:])

    def say(self, text: str) -> None:
        self.texts.append(text)
        self.length += len(text) or 1
        if self.length > MAX_SAMPLE_CHARS:
            raise SchemaError(f"'pattern' asks for more than {MAX_SAMPLE_CHARS} characters.")


@lru_cache(maxsize=256)
def parse_pattern(pattern: str) -> Group:
    """Parse a pattern; raises SchemaError."""
    if len(pattern) > MAX_PATTERN_CHARS:
        raise SchemaError(f"'pattern' is longer than {MAX_PATTERN_CHARS} characters.")
    try:
        reader = _PatternParser(pattern)
        group = reader.choices()
        if reader.at < len(pattern):
            raise reader.error_for("it has a ')' too many")
    except (IndexError, ValueError) as error:
        if isinstance(error, SchemaError):
            raise
        raise SchemaError(f"'pattern' {pattern[:80]!r} cannot be read.") from None
    return group


@dataclass(slots=True)
class _PatternParser:
    """Parser state: the pattern, the position and the groups so far."""

    pattern: str
    at: int = 0
    groups: int = 0
    open: int = 0

    def error_for(self, why: str) -> SchemaError:
        return SchemaError(f"'pattern' {self.pattern[:80]!r} is not supported: {why}.")

    def accept(self, token: str) -> bool:
        if self.pattern.startswith(token, self.at):
            self.at += len(token)
            return True
        return False

    def read_until(self, end: str) -> str:
        start, self.at = self.at, self.pattern.index(end, self.at) + len(end)
        return self.pattern[start : self.at - len(end)]

    def choices(self, number: int = 0) -> Group:
        sequences: list[tuple[PatternItem, ...]] = []
        items: list[PatternItem] = []
        while self.at < len(self.pattern) and self.pattern[self.at] != ")":
            if self.accept("|"):
                sequences.append(tuple(items))
                items = []
            elif (item := self.parse_atom()) is not None:
                items.append(self.parse_repeats(item))
        return Group((*sequences, tuple(items)), number)

    def parse_atom(self) -> PatternItem | None:
        character = self.pattern[self.at]
        self.at += 1
        match character:
            case "(":
                return self.parse_group()
            case "[":
                return CharacterSet(self.characters())
            case "\\":
                return self.parse_escaped_item()
            case ".":
                return CharacterSet(_LETTERS + _DIGITS)
            case "^" | "$":
                return None
            case _:
                return CharacterSet(character)

    def parse_group(self) -> PatternItem:
        if self.accept("?"):
            if self.pattern[self.at] in "=!" or self.pattern[self.at : self.at + 2] in ("<=", "<!"):
                raise self.error_for("it looks around")
            if self.accept("P<") or self.accept("<"):
                self.read_until(">")
                self.groups += 1
                number = self.groups
            else:
                flags, number = self.read_until(":"), 0
                if set(flags) - set("imsu-"):
                    raise self.error_for("its group has unknown flags")
        else:
            self.groups += 1
            number = self.groups
        self.open += 1
        if self.open > _MAX_DEPTH:
            raise self.error_for("its groups nest too deep")
        group = self.choices(number)
        self.open -= 1
        if not self.accept(")"):
            raise self.error_for("a ')' is missing")
        return group

    def parse_escaped_item(self) -> PatternItem | None:
        character = self.pattern[self.at]
        if character in "bBAzZG":
            self.at += 1
            return None
        if character in "123456789":
            self.at += 1
            return BackReference(int(character))
        return CharacterSet(self.parse_escape())

    def parse_escape(self) -> str:
        """Return the characters that the escape sequence at the position stands for."""
        character = self.pattern[self.at]
        self.at += 1
        if character in "pP":
            named = _PROPERTIES.get(
                self.read_until("}") if self.accept("{") else self.parse_character(), _LETTERS
            )
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

    def characters(self) -> str:
        """Return the characters of a class whose bracket is open."""
        negated, members = self.accept("^"), ""
        first = True
        while first or self.pattern[self.at] != "]":
            first = False
            if self.pattern.startswith("[:", self.at):
                raise self.error_for("its class is a POSIX one")
            low = self.parse_character()
            if len(low) == 1 and self.pattern[self.at] == "-" and self.pattern[self.at + 1] != "]":
                self.at += 1
                high = self.parse_character()
                if len(high) != 1 or high < low:
                    raise self.error_for("its range of characters ends before it begins")
                # 256 characters are enough to draw from.
                last = min(ord(high), ord(low) + 255)
                members += "".join(map(chr, range(ord(low), last + 1)))
            else:
                members += low
        self.at += 1
        members = _other_characters(members) if negated else members
        if not members:
            raise self.error_for("no character is in its class")
        return members

    def parse_character(self) -> str:
        character = self.pattern[self.at]
        self.at += 1
        if character != "\\":
            return character
        if self.accept("b"):
            return "\b"
        return self.parse_escape()

    def parse_repeats(self, item: PatternItem) -> PatternItem:
        while (bounds := self.parse_quantifier()) is not None:
            item = Repeat(item, *bounds)
            if not self.accept("?"):
                self.accept("+")
        return item

    def parse_quantifier(self) -> tuple[int, int] | None:
        for token, bounds in (("*", (0, _UNBOUNDED)), ("+", (1, _UNBOUNDED)), ("?", (0, 1))):
            if self.accept(token):
                return bounds
        if not (match := _BOUNDS.match(self.pattern, self.at)):
            return None
        self.at = match.end()
        least = int(match[1])
        most = least if match[2] is None else int(match[3] or _UNBOUNDED)
        if most < least:
            raise self.error_for("it repeats more often than it may")
        return least, most


def _other_characters(characters: str) -> str:
    return "".join(c for c in _PRINTED if c not in characters)
