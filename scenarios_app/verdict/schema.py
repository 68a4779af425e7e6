"""Validates the arguments of a tool call against the tool's JSON Schema.

The engine's validator says whether they fit; what does not is looked for here. Schemas come from
clients and are not trusted: the validator fetches nothing, patterns use RE2, which does not
backtrack, and steps are counted.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.conditions.texts import compile_regex
from scenarios_app.engine.schemas.fit import (
    SchemaValidator,
    StepBudget,
    item_schema,
    property_schemas,
)
from scenarios_app.engine.schemas.keywords import References, Schema
from scenarios_app.engine.secrets import MASK

_MAX_ERROR_CHARS = 300
# The engine is stricter with these than the standard, or looser; an error would be a guess.
_UNSUPPORTED = ('"unevaluated', '"$dynamicRef"', '"$recursiveRef"')
# Keywords whose meaning depends on others beside them.
_BESIDE = {
    "additionalProperties": ("properties", "patternProperties"),
    "contains": ("minContains", "maxContains"),
    "exclusiveMaximum": ("maximum",),
    "exclusiveMinimum": ("minimum",),
    "if": ("then", "else"),
    "items": ("prefixItems", "additionalItems"),
}
_MEANINGS = {
    "const": "is not {wanted}",
    "enum": "is not one of {wanted}",
    "maximum": "is greater than the maximum of {wanted}",
    "maxItems": "has more than {wanted} items",
    "maxLength": "is longer than {wanted} characters",
    "minimum": "is less than the minimum of {wanted}",
    "minItems": "has fewer than {wanted} items",
    "minLength": "is shorter than {wanted} characters",
    "multipleOf": "is not a multiple of {wanted}",
    "pattern": "does not match {wanted}",
    "uniqueItems": "has equal items",
}


def find_schema_error(schema: Json, arguments: str) -> str:
    """Return the first error of a call's arguments (JSON text). Returns an empty string if there is
    none, if the schema cannot be applied to them, or if a value is masked."""
    try:
        value = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return "the text is no JSON"
    if not isinstance(schema, dict) or MASK in arguments:
        return ""
    try:
        text = json.dumps(schema)
        if MASK in text or any(keyword in text for keyword in _UNSUPPORTED):
            return ""
        converted = _to_json_schema(schema)
        for pattern in _patterns(converted):
            compile_regex(pattern)
        references = References(converted)
        references.check()
        validator = SchemaValidator(references, StepBudget())
        if validator.is_valid(value, converted):
            return ""
        error = _Search(validator).first_error(value, converted)
    except (ValueError, RecursionError):
        return ""
    # The name of a property may hold half of a surrogate pair, which no response can.
    error = error.encode(errors="backslashreplace").decode()
    return error if len(error) <= _MAX_ERROR_CHARS else error[: _MAX_ERROR_CHARS - 1] + "…"


@dataclass(frozen=True, slots=True)
class _Search:
    """Finds where a value that does not fit breaks its schema."""

    validator: SchemaValidator

    def first_error(self, value: Json, schema: Schema, path: str = "") -> str:
        """Return the first error with its path; the value must not fit the schema. Raises
        SchemaError, also after too many steps."""
        if not isinstance(schema, dict):
            return _with_path(path, f"{value!r} is not allowed")
        for key in schema:
            alone = {k: schema[k] for k in (key, *_BESIDE.get(key, ())) if k in schema}
            if self.validator.is_valid(value, alone):
                continue
            for item, inner, step in self._restricted_parts(value, schema, key):
                if not self.validator.is_valid(item, inner):
                    return self.first_error(item, inner, path + step)
            return _with_path(path, _error_message(value, schema, key))
        return _with_path(path, f"{value!r} does not fit the schema")

    def _restricted_parts(
        self, value: Json, schema: dict[str, Json], key: str
    ) -> Iterator[tuple[Json, Schema, str]]:
        """Yield the parts of a value that a keyword restricts: each with its schema and path."""
        match key, value:
            case (("properties" | "patternProperties" | "additionalProperties"), dict()):
                for name, item in value.items():
                    for inner in property_schemas(name, schema):
                        if inner is not False:
                            yield item, inner, f".{name}"
            case (("items" | "prefixItems"), list()):
                for index, item in enumerate(value):
                    yield item, item_schema(index, schema), f"[{index}]"
            case "$ref", _:
                yield value, self.validator.references.resolve(schema[key]), ""
            case "allOf", _:
                yield from ((value, inner, "") for inner in _list_or_empty(schema[key]))
            case "if", _:
                branch = "then" if self.validator.is_valid(value, schema[key]) else "else"
                yield value, schema.get(branch, True), ""


def _error_message(value: Json, schema: dict[str, Json], key: str) -> str:
    """Return in words that a value does not meet the keyword `key` of a schema."""
    wanted: Any = schema[key]
    match key, value:
        case "type", _:
            types = wanted if isinstance(wanted, list) else [wanted]
            return f"{value!r} is not of type {', '.join(map(repr, types))}"
        case "required", dict():
            missing = next((name for name in _list_or_empty(wanted) if name not in value), "")
            return f"{missing!r} is a required property"
        case (("additionalProperties" | "properties" | "patternProperties"), dict()):
            refused = [name for name in value if False in property_schemas(name, schema)]
            return f"no property {', '.join(map(repr, refused))} is allowed"
        case _:
            meaning = _MEANINGS.get(key, "does not fit {key}: {wanted}")
            return f"{value!r} {meaning.format(key=key, wanted=repr(wanted))}"


def _with_path(path: str, message: str) -> str:
    """Return a message after the path of its value; the whole value has none."""
    return f"{path.removeprefix('.')}: {message}" if path else message


def _list_or_empty(value: Json) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _patterns(schema: Json) -> Iterator[str]:
    """Yield every pattern in a schema."""
    match schema:
        case dict():
            if isinstance(pattern := schema.get("pattern"), str):
                yield pattern
            if isinstance(named := schema.get("patternProperties"), dict):
                yield from named
            for inner in schema.values():
                yield from _patterns(inner)
        case list():
            for inner in schema:
                yield from _patterns(inner)


def _to_json_schema(schema: Json, keyword: str = "") -> Any:
    """Return a copy without Google's dialect: type names in capitals, and `nullable`. `keyword` is
    the one whose value this is; those of `const` and `enum` are no schemas."""
    if keyword in ("const", "enum"):
        return schema
    match schema:
        case dict():
            has_names = keyword == "properties"
            converted = {k: _to_json_schema(v, "" if has_names else k) for k, v in schema.items()}
            if isinstance(type_name := converted.get("type"), str):
                type_name = type_name.lower()
                nullable = converted.get("nullable") is True
                converted["type"] = [type_name, "null"] if nullable else type_name
            return converted
        case list():
            return [_to_json_schema(item) for item in schema]
        case _:
            return schema
