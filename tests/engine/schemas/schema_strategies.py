"""Hypothesis strategies for JSON Schemas: satisfiable ones, and schemas of any keywords."""

import re
from typing import Any

from hypothesis import strategies as st

NAMES = st.sampled_from(["a", "b", "name", "city code", "x_1", "ü"])
NUMBERS = st.one_of(
    st.integers(-1000, 1000),
    st.integers(-(10**12), 10**12),
    st.integers(-80, 80).map(lambda n: n / 8),
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    NUMBERS,
    st.text("ab cdé1_-", max_size=12),
    st.sampled_from(["2025-01-31"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=8,
)
# A value that is never drawn.
NEVER_DRAWN = "no such value"


@st.composite
def satisfiable_schemas(draw: st.DrawFn) -> Any:
    """Draw a schema for which a valid value exists."""
    value, definitions = draw(VALUES), {}
    schema = draw(schemas_around(value, definitions))
    return {**schema, "$defs": definitions} if definitions else schema


@st.composite
def schemas_around(draw: st.DrawFn, value: Any, definitions: dict[str, Any], depth: int = 0) -> Any:
    """Draw a schema in which the value is valid."""
    schema = draw(_typed_schema(value, definitions, depth))
    if depth > 3:
        return schema
    impossible_schema = {"const": NEVER_DRAWN}
    match draw(st.integers(0, 11)):
        case 0:
            return {"anyOf": draw(st.permutations([schema, impossible_schema, False]))}
        case 1:
            return {"oneOf": draw(st.permutations([schema, impossible_schema]))}
        case 2:
            return {
                "allOf": [
                    schema,
                    draw(_typed_schema(value, definitions, depth).map(_without_patterns)),
                ]
            }
        case 3:
            name = f"Def{len(definitions)}"
            definitions[name] = schema
            return {"$ref": f"#/$defs/{name}", "description": "by reference"}
        case 4:
            return {**schema, "not": impossible_schema}
        case 5:
            return {"if": impossible_schema, "then": False, "else": schema}
        case 6:
            return {
                "if": draw(_typed_schema(value, definitions, depth).map(_without_patterns)),
                "then": schema,
            }
        case 7:
            return {"enum": draw(st.permutations([value, NEVER_DRAWN])), **schema}
        case _:
            return schema


def _without_patterns(schema: Any) -> Any:
    """Return the schema without patterns: two patterns for one text may exclude each other."""
    match schema:
        case dict():
            return {
                key: _without_patterns(inner) for key, inner in schema.items() if key != "pattern"
            }
        case list():
            return [_without_patterns(inner) for inner in schema]
        case _:
            return schema


def _typed_schema(value: Any, definitions: dict[str, Any], depth: int) -> st.SearchStrategy[Any]:
    match value:
        case None:
            return st.sampled_from([{"type": "null"}, {"type": ["string", "null"]}, {}])
        case bool():
            return st.sampled_from([{"type": "boolean"}, {"const": value}, {"enum": [value]}])
        case int() | float():
            return _number(value)
        case str():
            return _string(value)
        case list():
            return _array(value, definitions, depth + 1)
        case _:
            return _object(value, definitions, depth + 1)


@st.composite
def _number(draw: st.DrawFn, value: float) -> Any:
    schema: dict[str, Any] = {"type": "number"}
    if float(value).is_integer():
        schema["type"] = draw(st.sampled_from(["integer", "number", ["null", "integer"]]))
        divisors = [d for d in (1, 2, 3, 5, 7, 0.5) if not value % d]
        if draw(st.booleans()):
            schema["multipleOf"] = draw(st.sampled_from(divisors))
    low, high = draw(st.integers(0, 50)), draw(st.integers(0, 50))
    schema |= draw(
        st.sampled_from([{}, {"minimum": value - low}, {"exclusiveMinimum": value - 1 - low}])
    )
    schema |= draw(
        st.sampled_from([{}, {"maximum": value + high}, {"exclusiveMaximum": value + 1 + high}])
    )
    return schema


@st.composite
def _string(draw: st.DrawFn, value: str) -> Any:
    patterns = ["^[^xyz]*$", ".*", "^(" + re.escape(value) + "|q)$"]
    if value:
        patterns += [re.escape(value[:3]), f"^[ab cdé1_0-9-]{{{len(value)}}}$"]
    schema: dict[str, Any] = {"type": "string"}
    if draw(st.booleans()):
        schema["minLength"] = draw(st.integers(0, len(value)))
    if draw(st.booleans()):
        schema["maxLength"] = draw(st.integers(len(value), len(value) + 30))
    if draw(st.integers(0, 2)) == 0:
        schema["pattern"] = draw(st.sampled_from(patterns))
    elif value == "2025-01-31":
        schema["format"] = "date"
    return schema


@st.composite
def _array(draw: st.DrawFn, value: list[Any], definitions: dict[str, Any], depth: int) -> Any:
    schema: dict[str, Any] = {"type": "array"}
    first = draw(st.integers(0, len(value)))
    if draw(st.booleans()):
        schema["prefixItems"] = [draw(schemas_around(v, definitions, depth)) for v in value[:first]]
        schema["items"] = len(value) > first
    elif value and draw(st.booleans()):
        schema["items"] = {"anyOf": [draw(schemas_around(v, definitions, depth)) for v in value]}
        schema["contains"] = {"anyOf": [draw(schemas_around(value[0], definitions, depth))]}
    if draw(st.booleans()):
        schema["minItems"] = draw(st.integers(0, len(value)))
    if draw(st.booleans()):
        schema["maxItems"] = draw(st.integers(len(value), len(value) + 3))
    if len({repr(v) for v in value}) == len(value) and not {0, 1} & set(
        map(_comparable_number, value)
    ):
        schema["uniqueItems"] = draw(st.booleans())
    return schema


def _comparable_number(value: Any) -> Any:
    return value if isinstance(value, int | float) else None


@st.composite
def _object(draw: st.DrawFn, value: dict[str, Any], definitions: dict[str, Any], depth: int) -> Any:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {k: draw(schemas_around(v, definitions, depth)) for k, v in value.items()},
        "required": draw(st.permutations(list(value))),
    }
    if draw(st.booleans()):
        schema["required"] = schema["required"][: draw(st.integers(0, len(value)))]
        schema["properties"]["optional"] = draw(st.sampled_from([False, True, {"type": "null"}]))
    match draw(st.integers(0, 7)):
        case 0:
            schema["additionalProperties"] = False
        case 1:
            schema["unevaluatedProperties"] = False
        case 2:
            schema["minProperties"] = draw(st.integers(0, len(value)))
        case 3:
            schema["maxProperties"] = draw(st.integers(len(value), len(value) + 2))
        case 4:
            schema["patternProperties"] = {"^x_": True, "^never[a-z]$": {"type": "integer"}}
        case 5:
            schema["propertyNames"] = {"maxLength": 12}
        case 6 if value:
            name = next(iter(value))
            schema["dependentRequired"] = {name: list(value)}
            schema["dependentSchemas"] = {name: {"required": [name]}}
    return schema


def _is_pattern(text: str) -> bool:
    try:
        re.compile(text)
    except re.error:
        return False
    return True


KEYWORDS: dict[str, st.SearchStrategy[Any]] = {
    "type": st.sampled_from(
        [
            "object",
            "array",
            "string",
            "integer",
            "number",
            "boolean",
            "null",
            ["object", "null"],
            "x",
        ]
    ),
    "minimum": NUMBERS,
    "maximum": NUMBERS,
    "exclusiveMinimum": NUMBERS,
    "exclusiveMaximum": NUMBERS,
    "multipleOf": st.sampled_from([0.01, 0.1, 3, 2.5, 0, -1, 1e300]),
    "minLength": st.integers(0, 40),
    "maxLength": st.integers(0, 40),
    "pattern": st.text("ab()[]{}^$.*+?|\\d1,-", max_size=8).filter(_is_pattern),
    "format": st.sampled_from(["date", "email", "uuid", "uri", "ipv6", "duration", "unknown"]),
    "minItems": st.integers(0, 6) | st.just(10**9),
    "maxItems": st.integers(0, 6),
    "uniqueItems": st.booleans(),
    "minProperties": st.integers(0, 6) | st.just(10**9),
    "maxProperties": st.integers(0, 6),
    "required": st.lists(NAMES, max_size=3) | st.just("a"),
    "enum": st.lists(SCALARS, max_size=4),
    "const": SCALARS,
    "default": SCALARS,
    "examples": st.lists(SCALARS, max_size=2),
    "minContains": st.integers(0, 3),
    "maxContains": st.integers(0, 3),
    "$ref": st.sampled_from(["#", "#/$defs/D", "#/properties/a", "#/nowhere", "other.json"]),
}
_SCHEMA_KEYWORDS = (
    "not",
    "items",
    "contains",
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "if",
    "then",
    "else",
)
_SCHEMA_LIST_KEYWORDS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SCHEMA_MAP_KEYWORDS = ("properties", "patternProperties", "$defs", "dependentSchemas")


def _with_inner(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    keywords = dict(KEYWORDS)
    keywords |= dict.fromkeys(_SCHEMA_KEYWORDS, inner)
    keywords |= dict.fromkeys(_SCHEMA_LIST_KEYWORDS, st.lists(inner, max_size=3))
    keywords |= dict.fromkeys(
        _SCHEMA_MAP_KEYWORDS, st.dictionaries(NAMES | st.just("D"), inner, max_size=3)
    )
    return _some_of(keywords)


@st.composite
def _some_of(draw: st.DrawFn, keywords: dict[str, st.SearchStrategy[Any]]) -> dict[str, Any]:
    chosen = draw(st.lists(st.sampled_from(sorted(keywords)), max_size=5, unique=True))
    return {key: draw(keywords[key]) for key in chosen}


ANY_SCHEMA = st.recursive(st.booleans() | _some_of(KEYWORDS), _with_inner, max_leaves=8)
