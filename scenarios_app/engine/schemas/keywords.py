"""Reads keywords of unchecked JSON Schemas with the type each must have, and resolves references
within the document. Nothing is fetched."""

import json
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from random import Random
from typing import TypeAlias, TypeVar
from urllib.parse import unquote

from scenarios_app.engine.canonical import Json

T = TypeVar("T")
Schema: TypeAlias = "Json"
# Schemas that a value is to fit together, without `true` and `false`.
Parts: TypeAlias = Sequence[Mapping[str, Json]]

TYPES = ("object", "array", "string", "integer", "number", "boolean", "null")
_TYPE_NAMES = {list: "array", str: "string", int: "integer", bool: "boolean", type(None): "null"}
REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
# Keywords that name a schema, with what stands before the name in references.
_ANCHORS = {"$anchor": "#", "$dynamicAnchor": "#", "$id": "", "id": ""}
# Keywords that hold values instead of schemas.
_VALUES = frozenset({"enum", "const", "default", "examples", "example"})


class SchemaError(ValueError):
    """An invalid schema, or one that no value fits; `path` leads to the place in the value."""

    def __init__(self, message: str, path: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.path = tuple(path)


def get_count(part: Mapping[str, Json], key: str) -> int | None:
    """Return a keyword's whole number from 0 up (3.0 too), None if missing. Raises SchemaError."""
    match part.get(key):
        case None:
            return None
        case int() | float() as count if type_of(count) == "integer" and count >= 0:
            return int(count)
    raise SchemaError(f"'{key}' must be a whole number from 0 on.")


def get_number(part: Mapping[str, Json], key: str) -> Fraction | None:
    """Return a keyword's number without rounding, or None if it is missing, true or false; raise
    SchemaError for any other value."""
    match part.get(key):
        case None | bool():
            return None
        case int() | float() as value:
            return to_fraction(value)
    raise SchemaError(f"'{key}' must be a number.")


def get_text(part: Mapping[str, Json], key: str) -> str | None:
    """Return a keyword's text, or None if it is missing; raise SchemaError if it is no string."""
    return _get_typed(part, key, str, "a string")


def get_names(part: Mapping[str, Json], key: str) -> list[str]:
    """Return a keyword's list of names, empty if it is missing or, as in draft 3, true or false;
    raise SchemaError for any other value."""
    match part.get(key):
        case None | bool():
            return []
        case list() as names if all(isinstance(name, str) for name in names):
            return [str(name) for name in names]
    raise SchemaError(f"'{key}' must be an array of strings.")


def get_list(part: Mapping[str, Json], key: str) -> list[Json]:
    """Return a keyword's list, empty if it is missing; raise SchemaError if it is no array."""
    return _get_typed(part, key, list, "an array") or []


def get_mapping(part: Mapping[str, Json], key: str) -> dict[str, Json]:
    """Return a keyword's object, empty if it is missing; raise SchemaError if it is none."""
    return _get_typed(part, key, dict, "an object") or {}


def _get_typed(part: Mapping[str, Json], key: str, kind: type[T], wanted: str) -> T | None:
    """Return a keyword's value, or None if it is missing; raise SchemaError if it is no `kind`."""
    value = part.get(key)
    if value is None or isinstance(value, kind):
        return value
    raise SchemaError(f"'{key}' must be {wanted}.")


def pick(choices: Sequence[T], rng: Random) -> T:
    """Return a random one of the choices; takes exactly one number from the generator."""
    return choices[int(rng.random() * len(choices))]


def types_of(part: Mapping[str, Json]) -> frozenset[str] | None:
    """Return the types that a schema allows, or None without `type`. A number allows an integer
    too. Raises SchemaError for an unknown type."""
    match part.get("type"):
        case None:
            return None
        case str(name):
            types = {name}
        case list() as listed_names if all(isinstance(name, str) for name in listed_names):
            types = {str(name) for name in listed_names}
        case _:
            raise SchemaError("'type' must be a string or an array of strings.")
    for name in sorted(types - set(TYPES)):
        raise SchemaError(f"'{name}' is not a valid type.")
    return frozenset(types | {"integer"} if "number" in types else types)


def type_of(value: Json) -> str:
    """Return the narrowest type of a value: 1.0 is an integer."""
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    return _TYPE_NAMES.get(type(value), "object")


def to_fraction(value: int | float) -> Fraction:
    """Return a number exactly as JSON writes it: 0.1 is a tenth. Raises ValueError for NaN."""
    return Fraction(str(value))


def canonical_json(value: Json) -> str:
    """Return a text that is equal for values that are equal in JSON, and only for those."""
    return json.dumps(_with_whole_numbers(value), sort_keys=True)


def _with_whole_numbers(value: Json) -> Json:
    """Return the value with whole floats as ints, so that 1.0 equals 1 as text."""
    match value:
        case float() if value.is_integer():
            return int(value)
        case list():
            return [_with_whole_numbers(item) for item in value]
        case dict():
            return {key: _with_whole_numbers(item) for key, item in value.items()}
        case _:
            return value


class References:
    """Resolves the references of one schema document."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._resolved: dict[str, Schema] = {}

    def resolve(self, reference: Json) -> Schema:
        """Return the schema that a `$ref` names; raise SchemaError if there is none."""
        if not isinstance(reference, str):
            raise SchemaError("'$ref' must be a string.")
        if reference not in self._resolved:
            self._resolved[reference] = self._find_schema(reference)
        return self._resolved[reference]

    def check(self) -> None:
        """Raise SchemaError for an unresolvable reference anywhere in the document."""
        for schema in _schemas_in(self._root):
            for key in REFERENCES:
                # A property can have this name too; then it holds a schema.
                if isinstance(schema.get(key), str):
                    self.resolve(schema[key])

    def _find_schema(self, reference: str) -> Schema:
        """Return the schema that a JSON pointer, an anchor or an `$id` names; raise SchemaError if
        there is none."""
        document, _, pointer = reference.partition("#")
        schema = self._named_schema(document, document) if document else self._root
        if not pointer:
            return schema
        if not pointer.startswith("/"):
            return self._named_schema(f"#{pointer}", reference)
        for step in pointer[1:].split("/"):
            key = unquote(step).replace("~1", "/").replace("~0", "~")
            if isinstance(schema, dict) and key in schema:
                schema = schema[key]
            elif isinstance(schema, list) and key.isdecimal() and int(key) < len(schema):
                schema = schema[int(key)]
            else:
                raise _unresolved_error(reference)
        if isinstance(schema, dict | bool):
            return schema
        raise _unresolved_error(reference)

    def _named_schema(self, name: str, reference: str) -> Schema:
        """Return the schema with this `#anchor` or `$id`; without one, raise a SchemaError that
        quotes the reference."""
        if name in self._named:
            return self._named[name]
        raise _unresolved_error(reference)

    @cached_property
    def _named(self) -> dict[str, Schema]:
        """The schemas with an anchor or an `$id`, by the text that refers to them."""
        named: dict[str, Schema] = {}
        for schema in _schemas_in(self._root):
            for key, mark in _ANCHORS.items():
                if isinstance(anchor := schema.get(key), str):
                    named.setdefault(mark + anchor, schema)
        return named


def _unresolved_error(reference: str) -> SchemaError:
    return SchemaError(f"reference '{reference[:200]}' cannot be resolved.")


def _schemas_in(root: Schema) -> Iterator[dict[str, Json]]:
    """Yield all objects of a schema document except those inside values such as `enum`."""
    pending: list[Json] = [root]
    while pending:
        match pending.pop():
            case dict() as schema:
                yield schema
                pending.extend(v for key, v in schema.items() if key not in _VALUES)
            case list() as schemas:
                pending.extend(schemas)
