"""Whether the arguments of a tool call are what the tool's JSON Schema wants. Schemas are those of
clients: none is fetched, no pattern backtracks, and no reference goes round for ever."""

import json
from collections.abc import Iterator
from functools import lru_cache
from threading import local
from typing import Any

import re2
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.validators import extend
from referencing import Registry
from referencing.exceptions import Unresolvable

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.secrets import MASK

_NO_DOCUMENTS: Registry[Any] = Registry()
_MOST_REFERENCES = 1_000
_LONGEST = 300
# Patterns as names of properties, which are looked up beyond the keyword's own reach.
_BEYOND = '"patternProperties"'


class _TooMuch(Exception):
    """A schema that takes too long to apply."""


def outside(schema: Json, arguments: str) -> str:
    """What is wrong with a call's arguments (JSON text); nothing where all is well, or where the
    schema cannot be applied."""
    try:
        value = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return "the text is no JSON"
    if not isinstance(schema, dict) or MASK in arguments:
        return ""
    try:
        validator = _validator(json.dumps(_lowered(schema)))
        if validator is None:
            return ""
        _followed.references = 0
        error = next(validator.iter_errors(value), None)
    except (Unresolvable, RecursionError, re2.error, _TooMuch):
        return ""
    if error is None:
        return ""
    place = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in error.absolute_path)
    said = f"{place.removeprefix('.')}: {error.message}" if place else error.message
    return said if len(said) <= _LONGEST else said[: _LONGEST - 1] + "…"


@lru_cache(maxsize=64)
def _validator(schema: str) -> Any:
    """What holds a value against a schema; None where that cannot be applied."""
    if any(word in schema for word in (_BEYOND, MASK)):
        return None
    try:
        _OFFLINE.check_schema(json.loads(schema))
    except (SchemaError, RecursionError):
        return None
    return _OFFLINE(json.loads(schema), registry=_NO_DOCUMENTS)


def _reference(validator: Any, ref: str, value: Any, schema: Any) -> Iterator[ValidationError]:
    _followed.references += 1
    if _followed.references > _MOST_REFERENCES:
        raise _TooMuch
    yield from _FOLLOW(validator, ref, value, schema) or ()


def _pattern(validator: Any, pattern: str, value: Any, schema: Any) -> Iterator[ValidationError]:
    if isinstance(value, str) and not re2.search(pattern, value):
        yield ValidationError(f"{value!r} does not match {pattern!r}")


_FOLLOW: Any = Draft202012Validator.VALIDATORS["$ref"]
_OFFLINE: Any = extend(Draft202012Validator, {"$ref": _reference, "pattern": _pattern})
# Of the validation that runs in this thread.
_followed = local()


def _lowered(schema: Json) -> Any:
    """A schema in JSON Schema's own words: Google's writes types in capitals, and `nullable`."""
    match schema:
        case dict():
            made = {key: _lowered(value) for key, value in schema.items()}
            if isinstance(kind := made.get("type"), str):
                kind = kind.lower()
                made["type"] = [kind, "null"] if made.get("nullable") is True else kind
            return made
        case list():
            return [_lowered(one) for one in schema]
        case _:
            return schema
