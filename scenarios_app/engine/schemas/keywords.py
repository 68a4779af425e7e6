"""The keywords of a JSON Schema that nobody has checked, each read as what it must be, and what a
`$ref` points at. Nothing is ever fetched."""

import json
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TypeAlias
from urllib.parse import unquote

from scenarios_app.engine.canonical import Json

Schema: TypeAlias = "Json"
Parts: TypeAlias = Sequence[Mapping[str, Json]]

TYPES = ("object", "array", "string", "integer", "number", "boolean", "null")
REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_ANCHORS = ("$anchor", "$dynamicAnchor", "$id", "id")
# What holds values and no schemas.
_VALUES = frozenset({"enum", "const", "default", "examples", "example"})


class SchemaError(ValueError):
    """A schema that no value can be made for; `path` is where in the value it stands."""

    def __init__(self, message: str, path: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.path = tuple(path)


def whole(part: Mapping[str, Json], key: str) -> int | None:
    """A count: a whole number from 0 on, which may be written as a decimal one."""
    match part.get(key):
        case None:
            return None
        case bool():
            pass
        case int() | float() as count if count >= 0 and count == int(count):
            return int(count)
    raise SchemaError(f"'{key}' must be a whole number from 0 on.")


def number(part: Mapping[str, Json], key: str) -> Fraction | None:
    """A number, exactly as it is written."""
    match part.get(key):
        case None | bool():
            return None
        case int() | float() as value:
            return exact(value)
    raise SchemaError(f"'{key}' must be a number.")


def text(part: Mapping[str, Json], key: str) -> str | None:
    match part.get(key):
        case None:
            return None
        case str() as value:
            return value
    raise SchemaError(f"'{key}' must be a string.")


def names(part: Mapping[str, Json], key: str) -> list[str]:
    """A list of names. Draft 3 has a flag in its place, which is passed over."""
    match part.get(key):
        case None | bool():
            return []
        case list() as listed if all(isinstance(name, str) for name in listed):
            return [str(name) for name in listed]
    raise SchemaError(f"'{key}' must be an array of strings.")


def listed(part: Mapping[str, Json], key: str) -> list[Json]:
    """A list of schemas or of values."""
    match part.get(key):
        case None:
            return []
        case list() as found:
            return found
    raise SchemaError(f"'{key}' must be an array.")


def mapped(part: Mapping[str, Json], key: str) -> dict[str, Json]:
    """Schemas by name."""
    match part.get(key):
        case None:
            return {}
        case dict() as found:
            return found
    raise SchemaError(f"'{key}' must be an object.")


def types_of(part: Mapping[str, Json]) -> frozenset[str] | None:
    """The types that a schema allows, None where it says nothing. An integer is a number."""
    match part.get("type"):
        case None:
            return None
        case str(name):
            found = {name}
        case list() as several if all(isinstance(name, str) for name in several):
            found = {str(name) for name in several}
        case _:
            raise SchemaError("'type' must be a string or an array of strings.")
    for name in sorted(found - set(TYPES)):
        raise SchemaError(f"'{name}' is not a valid type.")
    return frozenset(found | {"integer"} if "number" in found else found)


def type_of(value: Json) -> str:
    """The narrowest type of a value: 1.0 is an integer."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "integer" if value.is_integer() else "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def exact(value: int | float) -> Fraction:
    """A number as its JSON says it: 0.1 is a tenth."""
    return Fraction(str(value))


def canonical(value: Json) -> str:
    """The same text for values that are equal in JSON's eyes, and for no others."""
    return json.dumps(_plain(value), sort_keys=True)


def _plain(value: Json) -> Json:
    match value:
        case float() if value.is_integer():
            return int(value)
        case list():
            return [_plain(item) for item in value]
        case dict():
            return {key: _plain(item) for key, item in value.items()}
        case _:
            return value


class References:
    """The references of one schema document."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._known: dict[str, Schema] = {}
        self._named: dict[str, Schema] | None = None

    def resolve(self, reference: Json) -> Schema:
        """The schema that a reference means; raises SchemaError where there is none."""
        if not isinstance(reference, str):
            raise SchemaError("'$ref' must be a string.")
        if reference not in self._known:
            self._known[reference] = self._find(reference)
        return self._known[reference]

    def check(self) -> None:
        """Raise SchemaError for a reference anywhere in the document that means nothing."""
        for schema in _schemas_in(self._root):
            for key in REFERENCES:
                # A property may be called so too, and then holds a schema.
                if isinstance(schema.get(key), str):
                    self.resolve(schema[key])

    def _find(self, reference: str) -> Schema:
        before, _, pointer = reference.partition("#")
        found = self._named_schema(before) if before else self._root
        if not pointer:
            return found
        if not pointer.startswith("/"):
            return self._named_schema(f"#{pointer}", reference)
        for step in pointer[1:].split("/"):
            key = unquote(step).replace("~1", "/").replace("~0", "~")
            if isinstance(found, dict) and key in found:
                found = found[key]
            elif isinstance(found, list) and key.isdecimal() and int(key) < len(found):
                found = found[int(key)]
            else:
                raise _broken(reference)
        if isinstance(found, dict | bool):
            return found
        raise _broken(reference)

    def _named_schema(self, name: str, reference: str = "") -> Schema:
        if self._named is None:
            self._named = {}
            for schema in _schemas_in(self._root):
                for key in _ANCHORS:
                    if isinstance(given := schema.get(key), str):
                        mark = "" if key in ("$id", "id") else "#"
                        self._named.setdefault(mark + given, schema)
        if name in self._named:
            return self._named[name]
        raise _broken(reference or name)


def _broken(reference: str) -> SchemaError:
    return SchemaError(f"reference '{reference[:200]}' cannot be resolved.")


def _schemas_in(root: Schema) -> Iterator[dict[str, Json]]:
    pending: list[Json] = [root]
    while pending:
        match pending.pop():
            case dict() as schema:
                yield schema
                pending.extend(v for key, v in schema.items() if key not in _VALUES)
            case list() as several:
                pending.extend(several)
