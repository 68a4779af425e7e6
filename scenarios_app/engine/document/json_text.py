"""JSON before it is a document: decoded without silent losses, and checked to be plain JSON."""

import json
import math
from collections import Counter
from dataclasses import dataclass, field

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.shapes import DocumentError, Loc, Problem, place_of

DEEPEST = 64
_WIDEST_INTEGER = 1024
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class _Repeated(dict[str, Json]):
    """An object whose text named a key twice, kept until its place is known."""

    key: str


def decode(data: bytes, *, source: str = "") -> Json:
    """The JSON text of a file as plain JSON; what cannot be read is a `DocumentError`."""
    if data.startswith(_UTF16):
        raise _unreadable("expected UTF-8 text, this is UTF-16", source)
    if data.startswith(b"\xef\xbb\xbf"):
        raise _unreadable("begins with a byte order mark: save it as UTF-8 without one", source)
    try:
        value = json.loads(data.decode("utf-8"), object_pairs_hook=_object)
    except UnicodeDecodeError as error:
        message = f"expected UTF-8 text, byte {error.start + 1} is not"
        raise _unreadable(message, source) from None
    except json.JSONDecodeError as error:
        message = f"not valid JSON, line {error.lineno} column {error.colno}: {error.msg}"
        raise _unreadable(message, source) from None
    except RecursionError:
        raise _unreadable(f"nested deeper than {DEEPEST} levels", source) from None
    except ValueError:
        raise _unreadable("holds a number too large to read", source) from None
    return plain(value, source=source)


def plain(value: object, *, source: str = "", loc: Loc = ()) -> Json:
    """A copy of `value` that is sure to be JSON: finite numbers, valid text, no deep nesting.

    Raises `DocumentError`, with places that begin with `loc`.
    """
    walk = _Walk(source)
    copy = walk.copy(value, loc)
    if walk.problems:
        raise DocumentError.of(walk.problems)
    return copy


@dataclass(slots=True)
class _Walk:
    source: str
    problems: list[Problem] = field(default_factory=list)

    def copy(self, value: object, loc: Loc) -> Json:
        match value:
            case None | bool():
                return value
            case str():
                if not _encodable(value):
                    self.report(loc, "holds half of a surrogate pair, which is not text")
                return str(value)
            case int():
                if value.bit_length() > _WIDEST_INTEGER:
                    self.report(loc, "a number too large to use")
                return int(value)
            case float():
                if not math.isfinite(value):
                    self.report(loc, "expected a finite number")
                return float(value)
            case dict() | list() | tuple() if len(loc) > DEEPEST:
                self.report(loc[:3], f"nested deeper than {DEEPEST} levels")
                return None
            case dict():
                return self.object(value, loc)
            case list() | tuple():
                return [self.copy(item, (*loc, index)) for index, item in enumerate(value)]
            case _:
                self.report(loc, f"expected a JSON value, got {type(value).__name__}")
                return None

    def object(self, value: dict[object, object], loc: Loc) -> dict[str, Json]:
        if isinstance(value, _Repeated):
            self.report((*loc, value.key), "this key is given twice")
        copy: dict[str, Json] = {}
        for key, item in value.items():
            if not isinstance(key, str) or not _encodable(key):
                self.report(loc, f"expected keys that are text, got {key!r:.80}")
            else:
                copy[str(key)] = self.copy(item, (*loc, key))
        return copy

    def report(self, loc: Loc, message: str) -> None:
        self.problems.append(Problem(place_of(loc), message, self.source))


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    made = dict(pairs)
    if len(made) == len(pairs):
        return made
    repeated = _Repeated(made)
    repeated.key = Counter(key for key, _ in pairs).most_common(1)[0][0]
    return repeated


def _encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _unreadable(message: str, source: str) -> DocumentError:
    return DocumentError.of([Problem("", message, source)])
