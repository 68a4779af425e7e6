r"""Where a pattern means more than RE2 takes: `\w`, `\b`, `\d`, `\s` and `[:alpha:]`, which know
ASCII alone, beside characters of their kind that are beyond it."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r"""
    \\Q (?P<quoted> .*?) (?: \\E | $)
    | \\ [pP] (?: \{ [^}]* \} | .)
    | \\ x (?: \{ (?P<long> [0-9A-Fa-f]+) \} | (?P<short> [0-9A-Fa-f]{2}))
    | \\ .
    | \[: \^? \w+ :\]
    | \(\? P? < [^>]* >
    | \(\? [A-Za-z-]* [:)]
    | .
    """,
    re.VERBOSE | re.DOTALL,
)
_WORD, _NO_WORD = r"[\pL\pN_]", r"[^\pL\pN_]"
_BEFORE, _AFTER = rf"(?:^|{_NO_WORD}) before a word", rf"(?:{_NO_WORD}|$) after it"
_BOUNDARY = f"{_BEFORE} and {_AFTER}"
# What takes the characters of every script.
_LETTERS = {
    r"\w": _WORD,
    r"\W": _NO_WORD,
    r"\b": _BOUNDARY,
    r"\B": _BOUNDARY,
    "[:word:]": _WORD,
    "[:alnum:]": r"[\pL\pN]",
    "[:alpha:]": r"\pL",
    "[:lower:]": r"\p{Ll}",
    "[:upper:]": r"\p{Lu}",
}
_DIGITS = {r"\d": r"\p{Nd}", r"\D": r"\P{Nd}", "[:digit:]": r"\p{Nd}"}
_SPACES = {r"\s": r"[\s\pZ]", r"\S": r"[^\s\pZ]", "[:space:]": r"[\s\pZ]"}
_KINDS: tuple[tuple[str, Callable[[str], bool], dict[str, str]], ...] = (
    ("letters", str.isalpha, _LETTERS),
    ("digits", str.isdecimal, _DIGITS),
    ("spaces", str.isspace, _SPACES),
)
# A boundary between these and a letter of ASCII is where everybody expects it.
_PLAIN_ESCAPES = {r"\s", r"\S", r"\d", r"\D", r"\A", r"\z", r"\n", r"\t"}
_BRACKETS_AND_COUNTS = "()[]|?*+{}"


@dataclass(slots=True)
class _Class:
    """Brackets, or what stands alone; `wide` where it names more than ASCII itself."""

    tokens: list[str] = field(default_factory=list)
    wide: bool = False


def narrow_classes(pattern: str) -> Iterator[str]:
    """What is said of each class that takes less than the pattern seems to mean."""
    tokens = [(match.group(), _literal(match)) for match in _TOKEN.finditer(pattern)]
    beyond = [char for _, text in tokens for char in text if not char.isascii()]
    for kind, is_one, instead in _KINDS:
        if not any(map(is_one, beyond)):
            continue
        for name in dict.fromkeys(_alone(tokens)):
            if name in instead:
                yield (
                    f"{name} takes ASCII alone, and the pattern has {kind} beyond it; "
                    f"for those of every script: {instead[name]}"
                )


def _literal(match: re.Match[str]) -> str:
    """The characters that a token stands for, nothing where it is an operator or a class."""
    if match["quoted"] is not None:
        return match["quoted"]
    if code := match["long"] or match["short"]:
        return chr(int(code, 16))
    token = match.group()
    return token if len(token) == 1 else ""


def _alone(tokens: list[tuple[str, str]]) -> Iterator[str]:
    """Classes without company in their brackets, and boundaries that are not between ASCII."""
    inside: _Class | None = None
    for place, (token, text) in enumerate(tokens):
        if inside is not None:
            if token == "]" and inside.tokens not in ([], ["^"]):
                yield from () if inside.wide else inside.tokens
                inside = None
                continue
            inside.tokens.append(token)
            inside.wide |= token[:2] in (r"\p", r"\P") or not text.isascii()
        elif token == "[":
            inside = _Class()
        elif token in (r"\b", r"\B"):
            beside = tokens[max(place - 1, 0) : place] + tokens[place + 1 : place + 2]
            if not all(_is_plain(*one) for one in beside):
                yield token
        else:
            yield token


def _is_plain(token: str, text: str) -> bool:
    if token.startswith("(?") and token.endswith(")"):
        return True
    if text:
        return text.isascii() and text not in _BRACKETS_AND_COUNTS
    return token in _PLAIN_ESCAPES
