"""The leaf fields of scenario documents, with their constraints and error texts."""

import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, get_args

from pydantic import AfterValidator, BeforeValidator, Field, WrapValidator

from scenarios_app.engine import parts
from scenarios_app.engine.canonical import Role as AnyRole
from scenarios_app.engine.shapes import KeyProblem, expected, refuse

V = TypeVar("V")

_MAX_INT = 2_147_483_647
MAX_NAME_CHARS = 200
# Zero width non-joiner and joiner: they change how the characters around them are drawn.
_JOINERS = "\u200c\u200d"
# By category, for characters to which Unicode gives no name.
_UNNAMED = {"Cc": "CONTROL CHARACTER", "Co": "PRIVATE USE CHARACTER", "Cs": "SURROGATE"}
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_PRINTABLE_LATIN = r"^[ -~\xa0-\xff]*$"
# Headers that the server sets; a scripted one would break the connection.
_CONNECTION_HEADERS = frozenset(
    ("connection", "content-length", "keep-alive", "trailer", "transfer-encoding", "upgrade")
)


def _require(holds: Callable[[str], bool]) -> AfterValidator:
    """Return a validator of texts for which `holds` is true; `expected` words its error."""

    def check(text: str) -> str:
        """Return the text; raises ValueError unless `holds` is true of it."""
        if not holds(text):
            raise ValueError
        return text

    return AfterValidator(check)


_TRIMMED = _require(lambda text: text == text.strip())


def _can_be_echoed(name: str) -> bool:
    """Return True for a valid header name, except those that the server sets itself."""
    return bool(_HEADER_NAME.fullmatch(name)) and name.lower() not in _CONNECTION_HEADERS


def _check_header_names(headers: dict[str, V]) -> dict[str, V]:
    """Return the headers unchanged; raises ValidationError for invalid names and for names that are
    equal but for their case."""
    seen: set[str] = set()
    problems: list[KeyProblem] = []
    for name in headers:
        if not _HEADER_NAME.fullmatch(name):
            problems.append(((name,), "this is not the name of a header"))
        elif name.lower() in seen:
            problems.append(((name,), "this header is given twice"))
        seen.add(name.lower())
    if problems:
        refuse(problems)
    return headers


def _check_sent_headers(headers: dict[str, V]) -> dict[str, V]:
    """Return the headers unchanged; raises ValidationError for those that the server sets."""
    if reserved := [name for name in headers if name.lower() in _CONNECTION_HEADERS]:
        refuse(((name,), "this header is the connection's own") for name in reserved)
    return headers


def _to_int(value: Any) -> Any:
    """Return a float without fraction as an int, since some clients write 3 as 3.0; other values
    unchanged."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def hidden_character(name: str) -> tuple[int, str] | None:
    """Return index and description of the first character that a name may not have, or None. It is
    one that is not visible; a joiner is allowed between others, as in Persian words and emoji."""
    last = len(name) - 1
    for index, char in enumerate(name):
        if not char.isprintable() and not (char in _JOINERS and 0 < index < last):
            unnamed = _UNNAMED.get(unicodedata.category(char), "UNKNOWN CHARACTER")
            return index, f"U+{ord(char):04X} {unicodedata.name(char, unnamed)}"
    return None


def clean_name(text: str) -> str:
    """Return the text as a name that documents accept, of at most 200 characters: without those of
    no width, spaces in place of other hidden ones, none around it; "" if nothing is left."""
    while hidden := hidden_character(text := text.strip()[:MAX_NAME_CHARS].strip()):
        index = hidden[0]
        space = "" if unicodedata.category(text[index]) == "Cf" else " "
        text = f"{text[:index]}{space}{text[index + 1 :]}"
    return text


def _check_hidden_characters(value: Any) -> Any:
    """Return a value unchanged; raises ValidationError for a text with a hidden character."""
    if isinstance(value, str) and (hidden := hidden_character(value)):
        refuse([((), f"{hidden[1]} at position {hidden[0] + 1} is not allowed in a name")])
    return value


def one_of(literal: Any) -> WrapValidator:
    """Return a validator for the values of a `Literal`, which its error lists."""
    *others, last = get_args(literal)
    return expected(f"{', '.join(others)} or {last}" if others else last, (*others, last))


Text: TypeAlias = Annotated[str, expected("a string")]
SomeText: TypeAlias = Annotated[
    str, Field(min_length=1), expected("a string of at least one character")
]
Name: TypeAlias = Annotated[
    str,
    Field(min_length=1, max_length=MAX_NAME_CHARS),
    _TRIMMED,
    expected(f"1 to {MAX_NAME_CHARS} printable characters without spaces around them"),
    BeforeValidator(_check_hidden_characters),
]

Flag: TypeAlias = Annotated[bool, expected("true or false")]
Number: TypeAlias = Annotated[float, expected("a number")]
Pace: TypeAlias = Annotated[float, Field(ge=0), expected("a number from 0 up")]
Share: TypeAlias = Annotated[float, Field(ge=0, le=1), expected("a number from 0 to 1")]
Whole: TypeAlias = Annotated[
    int,
    Field(ge=0, le=_MAX_INT),
    BeforeValidator(_to_int),
    expected(f"a whole number from 0 to {_MAX_INT}"),
]
Positive: TypeAlias = Annotated[
    int,
    Field(ge=1, le=_MAX_INT),
    BeforeValidator(_to_int),
    expected(f"a whole number from 1 to {_MAX_INT}"),
]
Priority: TypeAlias = Annotated[
    int,
    Field(ge=-_MAX_INT, le=_MAX_INT),
    BeforeValidator(_to_int),
    expected(f"a whole number from -{_MAX_INT} to {_MAX_INT}"),
]
Status: TypeAlias = Annotated[
    int, Field(ge=200, le=599), BeforeValidator(_to_int), expected("an HTTP status from 200 to 599")
]

Role: TypeAlias = Annotated[AnyRole, one_of(AnyRole)]
Which: TypeAlias = Annotated[
    Literal["last", "first", "any", "new"] | Annotated[int, Field(ge=0, le=_MAX_INT)],
    BeforeValidator(_to_int),
    expected("last, first, any, new or an index from 0"),
]
FinishReason: TypeAlias = Annotated[parts.FinishReason, one_of(parts.FinishReason)]
_ResponseKind: TypeAlias = Literal["tool-call", "final-report", "text"]
ResponseKind: TypeAlias = Annotated[_ResponseKind, one_of(_ResponseKind)]
_ToolFault: TypeAlias = Literal["timeout", "disconnect"]
ToolFault: TypeAlias = Annotated[_ToolFault, one_of(_ToolFault)]

HeaderValue: TypeAlias = Annotated[
    str,
    Field(pattern=_PRINTABLE_LATIN),
    _TRIMMED,
    expected("printable latin-1 without spaces around it"),
]
Headers: TypeAlias = Annotated[
    dict[str, HeaderValue], AfterValidator(_check_header_names), AfterValidator(_check_sent_headers)
]
EchoedHeader: TypeAlias = Annotated[
    str, _require(_can_be_echoed), expected("the name of a header, not one of the connection's own")
]


def sent_headers(headers: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return validated headers as they are sent, with lower-case names."""
    return tuple((name.lower(), value) for name, value in headers.items())


header_names = AfterValidator(_check_header_names)
"""For other objects by header name."""
