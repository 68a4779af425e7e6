"""Decodes the JSON of documents without silent losses and checks that values are plain JSON."""

import json
import math
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections import Counter
from collections.abc import Callable

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.shapes import DocumentError, Loc, Problem, format_location

MAX_DEPTH = 64
_MAX_INTEGER_BITS = 1024
_UTF16 = (BOM_UTF16_LE, BOM_UTF16_BE)


class _RepeatedKeyObject(dict[str, Json]):
    """An object with a repeated key, kept until its location is known."""

    key: str


def decode(data: bytes, *, source: str = "") -> Json:
    """Return the plain JSON of a file's bytes; raises `DocumentError`."""
    if data.startswith(_UTF16):
        raise DocumentError("", "expected UTF-8 text, this is UTF-16", source)
    if data.startswith(BOM_UTF8):
        message = "begins with a byte order mark: save it as UTF-8 without one"
        raise DocumentError("", message, source)
    try:
        value = json.loads(data.decode("utf-8"), object_pairs_hook=_build_object)
    except UnicodeDecodeError as error:
        message = f"expected UTF-8 text, byte {error.start + 1} is not"
        raise DocumentError("", message, source) from None
    except json.JSONDecodeError as error:
        problem = Problem("", f"not valid JSON: {error.msg}", source, error.lineno, error.colno)
        raise DocumentError.of([problem]) from None
    except RecursionError:
        raise DocumentError("", f"nested deeper than {MAX_DEPTH} levels", source) from None
    except ValueError:
        raise DocumentError("", "holds a number too large to read", source) from None
    return to_plain_json(value, source=source)


def to_plain_json(value: object, *, source: str = "", loc: Loc = ()) -> Json:
    """Return a copy of `value` as plain JSON: finite numbers, valid text, at most 64 levels. Raises
    `DocumentError`, with locations that start with `loc`."""
    problems: list[Problem] = []

    def report(place: Loc, message: str) -> None:
        """Keep a problem; `DocumentError` is raised after the whole value was read."""
        problems.append(Problem(format_location(place), message, source))

    copy = _copy(value, loc, report)
    if problems:
        raise DocumentError.of(problems)
    return copy


def _copy(value: object, loc: Loc, report: Callable[[Loc, str], None]) -> Json:
    """Return a copy as plain JSON; `report` gets the location and text of each problem."""
    match value:
        case None | bool():
            return value
        case str():
            if not _is_encodable(value):
                report(loc, "holds half of a surrogate pair, which is not text")
            return str(value)
        case int():
            if value.bit_length() > _MAX_INTEGER_BITS:
                report(loc, "a number too large to use")
            return int(value)
        case float():
            if not math.isfinite(value):
                report(loc, "expected a finite number")
            return float(value)
        case dict() | list() | tuple() if len(loc) > MAX_DEPTH:
            report(loc[:3], f"nested deeper than {MAX_DEPTH} levels")
            return None
        case dict():
            return _copy_object(value, loc, report)
        case list() | tuple():
            return [_copy(item, (*loc, index), report) for index, item in enumerate(value)]
        case _:
            report(loc, f"expected a JSON value, got {type(value).__name__}")
            return None


def _copy_object(
    value: dict[object, object], loc: Loc, report: Callable[[Loc, str], None]
) -> dict[str, Json]:
    """Return a copy of an object; `report` gets repeated keys, and keys that are no text."""
    if isinstance(value, _RepeatedKeyObject):
        report((*loc, value.key), "this key is given twice")
    copy: dict[str, Json] = {}
    for key, item in value.items():
        if not isinstance(key, str) or not _is_encodable(key):
            report(loc, f"expected keys that are text, got {key!r:.80}")
        else:
            copy[str(key)] = _copy(item, (*loc, key), report)
    return copy


def _build_object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    """Return the object of these pairs; a `_RepeatedKeyObject` if a key is repeated."""
    built = dict(pairs)
    if len(built) == len(pairs):
        return built
    repeated = _RepeatedKeyObject(built)
    repeated.key = Counter(key for key, _ in pairs).most_common(1)[0][0]
    return repeated


def _is_encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
