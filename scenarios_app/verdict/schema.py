"""Validates the arguments of a tool call against the tool's JSON Schema.

Schemas come from clients and are not trusted: no reference is fetched, patterns use RE2, which
does not backtrack, and the number of followed references is limited.
"""

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
_MAX_REFERENCES = 1_000
_MAX_ERROR_CHARS = 300
# jsonschema evaluates these patterns also for other keywords, with the backtracking `re` module.
_UNSUPPORTED = '"patternProperties"'


class _TooManyReferences(Exception):
    """Raised if a schema follows more than _MAX_REFERENCES references."""


def find_schema_error(schema: Json, arguments: str) -> str:
    """Return the first error of a call's arguments (JSON text).

    Returns an empty string if there is none, or if the schema cannot be applied.
    """
    try:
        value = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return "the text is no JSON"
    if not isinstance(schema, dict) or MASK in arguments:
        return ""
    try:
        validator = _validator(json.dumps(_to_json_schema(schema)))
        if validator is None:
            return ""
        _thread.references = 0
        error = next(validator.iter_errors(value), None)
    except (Unresolvable, RecursionError, re2.error, _TooManyReferences):
        return ""
    if error is None:
        return ""
    path = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in error.absolute_path)
    message = f"{path.removeprefix('.')}: {error.message}" if path else error.message
    return message if len(message) <= _MAX_ERROR_CHARS else message[: _MAX_ERROR_CHARS - 1] + "…"


@lru_cache(maxsize=64)
def _validator(schema: str) -> Any:
    """Return the cached validator of a schema (JSON text), or None if it cannot be applied."""
    if any(word in schema for word in (_UNSUPPORTED, MASK)):
        return None
    try:
        _OFFLINE.check_schema(json.loads(schema))
    except (SchemaError, RecursionError):
        return None
    return _OFFLINE(json.loads(schema), registry=_NO_DOCUMENTS)


def _reference(validator: Any, ref: str, value: Any, schema: Any) -> Iterator[ValidationError]:
    _thread.references += 1
    if _thread.references > _MAX_REFERENCES:
        raise _TooManyReferences
    yield from _FOLLOW_REFERENCE(validator, ref, value, schema) or ()


def _pattern(validator: Any, pattern: str, value: Any, schema: Any) -> Iterator[ValidationError]:
    if isinstance(value, str) and not re2.search(pattern, value):
        yield ValidationError(f"{value!r} does not match {pattern!r}")


_FOLLOW_REFERENCE: Any = Draft202012Validator.VALIDATORS["$ref"]
_OFFLINE: Any = extend(Draft202012Validator, {"$ref": _reference, "pattern": _pattern})
# Counts followed references per thread: validators are cached and shared.
_thread = local()


def _to_json_schema(schema: Json) -> Any:
    """Convert Google's dialect: type names in capitals, and `nullable`."""
    match schema:
        case dict():
            converted = {key: _to_json_schema(value) for key, value in schema.items()}
            if isinstance(type_name := converted.get("type"), str):
                type_name = type_name.lower()
                nullable = converted.get("nullable") is True
                converted["type"] = [type_name, "null"] if nullable else type_name
            return converted
        case list():
            return [_to_json_schema(item) for item in schema]
        case _:
            return schema
