"""Regular expressions in JSON Schemas: texts made that match one, and whether a text does."""

import re
import string
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from random import Random
from typing import TypeAlias

from scenarios_app.engine.conditions.texts import RegexError, compile_regex
from scenarios_app.engine.schemas.keywords import SchemaError

LONGEST = 10_000
MAX_PATTERN_CHARS, _MAX_DEPTH = 4_000, 50
_DIGITS, _LETTERS = string.digits, string.ascii_letters
_WORD = _LETTERS + _DIGITS + "_"
_PRINTED = _LETTERS + _DIGITS + " " + string.punctuation
_CLASSES = {"d": _DIGITS, "w": _WORD, "s": " \t"}
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}
_PROPERTIES = {"L": _LETTERS, "Lu": string.ascii_uppercase, "Ll": string.ascii_lowercase}
_PROPERTIES |= {"Letter": _LETTERS, "Alphabetic": _LETTERS, "Script=Latin": _LETTERS}
_PROPERTIES |= {"N": _DIGITS, "Nd": _DIGITS, "Number": _DIGITS, "P": string.punctuation}
_ENDLESS = 1 << 30
_UNICODE = re.compile(r"\\u([0-9A-Fa-f]{4})")
_BOUNDS = re.compile(r"\{([0-9]{1,9})(,([0-9]{1,9})?)?\}")


def matches(pattern: str, text: str) -> bool:
    """Whether a pattern is found in a text; true where RE2 cannot tell."""
    search = _compiled(pattern)
    return search is None or search(text)


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> Callable[[str], bool] | None:
    try:
        regex = compile_regex(_UNICODE.sub(r"\\x{\1}", pattern))
    except RegexError:
        return None
    return lambda text: regex.search(text) is not None


@dataclass(frozen=True, slots=True)
class Symbol:
    """One of these characters."""

    characters: str


@dataclass(frozen=True, slots=True)
class Group:
    """One of these sequences. `number` is what a back-reference calls it, 0 for none."""

    choices: "tuple[tuple[Item, ...], ...]"
    number: int = 0


@dataclass(frozen=True, slots=True)
class Repeat:
    item: "Item"
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class Back:
    """What group `number` stands for, once more."""

    number: int


Item: TypeAlias = Symbol | Group | Repeat | Back


def sample(pattern: str, rng: Random, grow: int) -> str:
    """A text made as a pattern says, in which what may be repeated is so up to `grow` times more
    than it must be. Anchors and word borders are passed over: `matches` has the last word. Raises
    SchemaError for what no text is made of."""
    sampling = _Sampling(rng, grow)
    sampling.group(parsed(pattern))
    return "".join(sampling.said)


@dataclass(slots=True)
class _Sampling:
    rng: Random
    grow: int
    said: list[str] = field(default_factory=list)
    length: int = 0
    groups: dict[int, str] = field(default_factory=dict)

    def item(self, item: Item) -> None:
        match item:
            case Symbol(characters):
                self.say(characters[int(self.rng.random() * len(characters))])
            case Group():
                self.group(item)
            case Back(number):
                self.say(self.groups.get(number, ""))
            case _:
                more = min(item.most - item.least, self.grow)
                for _ in range(item.least + int(self.rng.random() * (more + 1))):
                    # What says nothing takes its time too.
                    self.say("")
                    self.item(item.item)

    def group(self, group: Group) -> None:
        start = len(self.said)
        for item in group.choices[int(self.rng.random() * len(group.choices))]:
            self.item(item)
        if group.number:
            self.groups[group.number] = "".join(self.said[start:])

    def say(self, text: str) -> None:
        self.said.append(text)
        self.length += len(text) or 1
        if self.length > LONGEST:
            raise SchemaError(f"'pattern' asks for more than {LONGEST} characters.")


@lru_cache(maxsize=256)
def parsed(pattern: str) -> Group:
    """A pattern taken apart; raises SchemaError."""
    if len(pattern) > MAX_PATTERN_CHARS:
        raise SchemaError(f"'pattern' is longer than {MAX_PATTERN_CHARS} characters.")
    try:
        reader = _Reader(pattern)
        found = reader.choices()
        if reader.at < len(pattern):
            raise reader.wrong("it has a ')' too many")
    except (IndexError, ValueError) as error:
        if isinstance(error, SchemaError):
            raise
        raise SchemaError(f"'pattern' {pattern[:80]!r} cannot be read.") from None
    return found


@dataclass(slots=True)
class _Reader:
    """A pattern as far as it is read."""

    pattern: str
    at: int = 0
    groups: int = 0
    open: int = 0

    def wrong(self, why: str) -> SchemaError:
        return SchemaError(f"'pattern' {self.pattern[:80]!r} is not supported: {why}.")

    def taken(self, token: str) -> bool:
        if self.pattern.startswith(token, self.at):
            self.at += len(token)
            return True
        return False

    def until(self, end: str) -> str:
        start, self.at = self.at, self.pattern.index(end, self.at) + len(end)
        return self.pattern[start : self.at - len(end)]

    def choices(self, number: int = 0) -> Group:
        found: list[tuple[Item, ...]] = []
        items: list[Item] = []
        while self.at < len(self.pattern) and self.pattern[self.at] != ")":
            if self.taken("|"):
                found.append(tuple(items))
                items = []
            elif (item := self.atom()) is not None:
                items.append(self.repeated(item))
        return Group((*found, tuple(items)), number)

    def atom(self) -> Item | None:
        character = self.pattern[self.at]
        self.at += 1
        match character:
            case "(":
                return self.opened()
            case "[":
                return Symbol(self.characters())
            case "\\":
                return self.escaped()
            case ".":
                return Symbol(_LETTERS + _DIGITS)
            case "^" | "$":
                return None
            case _:
                return Symbol(character)

    def opened(self) -> Item:
        if self.taken("?"):
            if self.pattern[self.at] in "=!" or self.pattern[self.at : self.at + 2] in ("<=", "<!"):
                raise self.wrong("it looks around")
            if self.taken("P<") or self.taken("<"):
                self.until(">")
                self.groups += 1
                number = self.groups
            else:
                flags, number = self.until(":"), 0
                if set(flags) - set("imsu-"):
                    raise self.wrong("its group has unknown flags")
        else:
            self.groups += 1
            number = self.groups
        self.open += 1
        if self.open > _MAX_DEPTH:
            raise self.wrong("its groups nest too deep")
        group = self.choices(number)
        self.open -= 1
        if not self.taken(")"):
            raise self.wrong("a ')' is missing")
        return group

    def escaped(self) -> Item | None:
        character = self.pattern[self.at]
        if character in "bBAzZG":
            self.at += 1
            return None
        if character in "123456789":
            self.at += 1
            return Back(int(character))
        return Symbol(self.escape())

    def escape(self) -> str:
        """The characters that the escape sequence here stands for."""
        character = self.pattern[self.at]
        self.at += 1
        if character in "pP":
            named = _PROPERTIES.get(self.until("}") if self.taken("{") else self.one(), _LETTERS)
            return _without(named) if character == "P" else named
        if character in "xu":
            if self.taken("{"):
                return chr(int(self.until("}"), 16))
            size = 2 if character == "x" else 4
            self.at += size
            return chr(int(self.pattern[self.at - size : self.at], 16))
        if character.lower() in _CLASSES:
            named = _CLASSES[character.lower()]
            return named if character.islower() else _without(named)
        return _CONTROLS.get(character, character)

    def characters(self) -> str:
        """The characters of a class, whose bracket is open."""
        negated, found = self.taken("^"), ""
        first = True
        while first or self.pattern[self.at] != "]":
            first = False
            if self.pattern.startswith("[:", self.at):
                raise self.wrong("its class is a POSIX one")
            low = self.one()
            if len(low) == 1 and self.pattern[self.at] == "-" and self.pattern[self.at + 1] != "]":
                self.at += 1
                high = self.one()
                if len(high) != 1 or high < low:
                    raise self.wrong("its range of characters ends before it begins")
                # So many characters are enough to draw from.
                last = min(ord(high), ord(low) + 255)
                found += "".join(map(chr, range(ord(low), last + 1)))
            else:
                found += low
        self.at += 1
        found = _without(found) if negated else found
        if not found:
            raise self.wrong("no character is in its class")
        return found

    def one(self) -> str:
        character = self.pattern[self.at]
        self.at += 1
        if character != "\\":
            return character
        if self.taken("b"):
            return "\b"
        return self.escape()

    def repeated(self, item: Item) -> Item:
        while (bounds := self.quantifier()) is not None:
            item = Repeat(item, *bounds)
            if not self.taken("?"):
                self.taken("+")
        return item

    def quantifier(self) -> tuple[int, int] | None:
        for token, bounds in (("*", (0, _ENDLESS)), ("+", (1, _ENDLESS)), ("?", (0, 1))):
            if self.taken(token):
                return bounds
        if not (found := _BOUNDS.match(self.pattern, self.at)):
            return None
        self.at = found.end()
        least = int(found[1])
        most = least if found[2] is None else int(found[3] or _ENDLESS)
        if most < least:
            raise self.wrong("it repeats more often than it may")
        return least, most


def _without(characters: str) -> str:
    return "".join(c for c in _PRINTED if c not in characters)
