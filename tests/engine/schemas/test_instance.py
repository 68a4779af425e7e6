"""Values generated for hand-written JSON Schemas, and errors of unsatisfiable ones."""

import json
from typing import Any

import pytest
from jsonschema import Draft4Validator, Draft7Validator, Draft202012Validator, FormatChecker

from scenarios_app.engine.schemas.instance import make_instance
from scenarios_app.engine.schemas.keywords import SchemaError
from scenarios_app.engine.schemas.scalars import _FORMATS

KEYS = ("", "Hello", "What is the weather in Paris?", "k")
NODE = {
    "type": "object",
    "properties": {
        "value": {"type": "integer"},
        "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
    },
    "required": ["value", "children"],
}
TREE = {
    "anyOf": [
        {
            "type": "object",
            "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}},
            "required": ["left", "right"],
        },
        {"type": "integer"},
    ]
}

ANCHORED = {"$anchor": "a", "type": "integer"}


def nest_schema(schema: Any) -> Any:
    """Nest a schema so deep that its value must be small."""
    for _ in range(6):
        schema = {"type": "array", "minItems": 1, "items": schema}
    return {**schema, "$defs": {"A": {"type": "integer"}}}


def check_instances(schema: Any, validator: Any = Draft202012Validator) -> Any:
    """Check that the value generated for each key is valid; return the last value."""
    for key in KEYS:
        value = make_instance(schema, key)
        assert validator(schema, format_checker=FormatChecker()).is_valid(value), (schema, value)
    return value


@pytest.mark.parametrize(
    "schema",
    [
        {},
        True,
        {"type": "null"},
        {"type": ["null", "boolean"]},
        {"not": {"type": "string"}},
        {"not": {"not": {"type": "boolean"}}},
        {"enum": [None, "a", 1]},
        {"const": {"a": [1.0, None]}, "enum": [{"a": [1, None]}, 2]},
        {"type": "integer", "exclusiveMinimum": 3, "exclusiveMaximum": 5},
        {"type": "integer", "minimum": 5, "multipleOf": 7},
        {"type": "integer", "maximum": -5, "minimum": -(10**12)},
        {"type": "integer", "multipleOf": 10**400},
        {"type": "number", "multipleOf": 0.01, "minimum": 3, "maximum": 3.5},
        {"type": "number", "multipleOf": 0.01, "minimum": 10_000},
        {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1e-9},
        {"type": "number", "minimum": 0.5, "maximum": 0.5},
        {"type": "number", "minimum": 10**400, "maximum": 10**400 + 1},
        {"multipleOf": 1e300, "type": "integer", "minimum": 1},
        {"type": "integer", "minimum": 5, "maximum": 10**6},
        {"type": "array", "items": {"type": "boolean"}, "minItems": 40},
        {"type": "number", "maximum": 0},
        {"allOf": [{"multipleOf": 4}, {"multipleOf": 6}, {"type": "integer"}]},
        {"allOf": [{"properties": {"a": {"const": 1}}}, {"required": ["a"]}], "type": "object"},
        {"oneOf": [{"multipleOf": 3}, {"multipleOf": 5}], "type": "integer"},
        {"type": "array", "items": {"enum": [1, 2, 3]}, "uniqueItems": True, "minItems": 3},
        {"type": "array", "prefixItems": [{"type": "integer"}, {"const": "x"}], "items": False},
        {"type": "array", "contains": {"const": 7}, "minContains": 2, "maxContains": 2},
        {"prefixItems": [{"const": 1}], "contains": {"const": 2}, "maxItems": 2, "type": "array"},
        {
            "allOf": [{"contains": {"type": "object"}}, {"contains": {"maxProperties": 0}}],
            "items": {"const": {}},
            "uniqueItems": True,
            "type": "array",
        },
        {"type": "array", "unevaluatedItems": {"type": "boolean"}, "minItems": 2},
        {"type": "array", "maxItems": 0, "contains": True, "minContains": 0},
        {"type": "object", "minProperties": 3, "properties": {"a": {}, "b": {"type": "null"}}},
        {
            "type": "object",
            "minProperties": 3,
            "propertyNames": {"pattern": "^x_[a-z]+$"},
            "additionalProperties": {"type": "integer"},
        },
        {
            "type": "object",
            "minProperties": 2,
            "patternProperties": {"^n[0-9]$": {"type": "null"}},
            "additionalProperties": False,
        },
        {"type": "object", "maxProperties": 1, "properties": {"a": {}, "b": {}}, "required": ["b"]},
        {"properties": {"a": True, "b": False}, "dependentRequired": {"a": ["c"]}},
        {
            "properties": {"a": {"const": 1}},
            "dependentSchemas": {"a": {"required": ["z"], "properties": {"z": {"const": 2}}}},
        },
        {
            "type": "object",
            "properties": {"k": {"enum": [1, 2]}},
            "required": ["k"],
            "if": {"properties": {"k": {"const": 1}}},
            "then": {"required": ["one"]},
            "else": {"required": ["other"]},
        },
        {
            "type": "object",
            "allOf": [{"properties": {"a": {"const": 1}}, "required": ["a"]}],
            "properties": {"b": {"const": 2}},
            "unevaluatedProperties": False,
        },
        {
            "type": "object",
            "if": {"properties": {"a": {"const": 1}}, "required": ["a"]},
            "else": {"required": ["b"], "properties": {"b": {}}},
            "unevaluatedProperties": False,
        },
        {"$ref": "#/$defs/Node", "$defs": {"Node": NODE}},
        {"$ref": "#node", "$defs": {"N": {"$anchor": "node", "type": "boolean"}}},
        {"$ref": "urn:n#/items", "$defs": {"N": {"$id": "urn:n", "items": {"const": 1}}}},
        {"$ref": "#/%24defs/a~1b~0c", "$defs": {"a/b~c": {"const": 1}}},
        {"$ref": "#/allOf/1", "allOf": [{}, {"type": "integer"}]},
        TREE,
        {
            "allOf": [{"$ref": "#a"}, {"$ref": "#b"}],
            "$defs": {"A": ANCHORED, "B": {"$anchor": "b"}},
        },
        {"type": "integer", "minimum": 0, "maximum": 10**6, "not": {"minimum": 3}},
        {"type": "integer", "minimum": 0, "maximum": 10**6, "not": {"maximum": 10**6 - 3}},
        {"type": "integer", "maximum": 10**6, "minimum": 0, "enum": [7]},
        {"type": "object", "properties": {"a": {"const": 1}}, "unevaluatedProperties": False},
        {"type": "object", "minProperties": 1, "unevaluatedProperties": {"type": "null"}},
        nest_schema({"anyOf": [{"type": "object"}, {"items": {}}, {"$ref": "#/$defs/A"}, True]}),
        nest_schema({"oneOf": [{"allOf": [{"type": "object"}]}, {"type": "null"}, {"enum": [1]}]}),
        nest_schema({"type": ["array", "string"]}),
        {"examples": ["nothing", 5], "type": "integer"},
        {"type": "string", "example": "Paris", "default": "x"},
        {"type": "string", "minLength": 30, "maxLength": 31},
        {"type": "string", "maxLength": 3},
        {"type": "string", "maxLength": 0},
        {"type": "string", "format": "email", "minLength": 60, "maxLength": 60},
        {"type": "string", "format": "uri", "minLength": 1, "maxLength": 2083},
        {"type": "string", "pattern": "abc", "minLength": 9},
        {"type": "string", "pattern": "^abc", "minLength": 9},
        {"type": "string", "pattern": "abc$", "minLength": 9},
        {"type": "string", "pattern": "[a-z]+$", "minLength": 9},
        {"type": "string", "allOf": [{"pattern": "^[ab]{2}$"}, {"pattern": "a"}]},
    ],
    ids=lambda schema: json.dumps(schema)[:60],
)
def test_generated_value_is_valid(schema: Any) -> None:
    check_instances(schema)


def test_length_overrides_format() -> None:
    assert len(make_instance({"type": "string", "format": "date", "maxLength": 4}, "k")) == 4
    assert len(make_instance({"type": "string", "format": "email", "maxLength": 1}, "k")) == 1


# `jsonschema` only checks times without zones.
@pytest.mark.parametrize("name", sorted(_FORMATS.keys() - {"time"}))
def test_generated_value_has_its_format(name: str) -> None:
    check_instances({"type": "string", "format": name})


def test_older_drafts_are_supported() -> None:
    check_instances(
        {"items": [{"const": 1}], "additionalItems": False, "type": "array"}, Draft7Validator
    )
    check_instances({"dependencies": {"a": ["b"]}, "properties": {"a": {}}}, Draft7Validator)
    check_instances(
        {"dependencies": {"a": {"required": ["b"]}}, "properties": {"a": {}}}, Draft7Validator
    )
    low = {"type": "integer", "minimum": 3, "exclusiveMinimum": True}
    check_instances({**low, "maximum": 5, "exclusiveMaximum": True}, Draft4Validator)
    check_instances({"type": "integer", "maximum": 5, "exclusiveMaximum": True}, Draft4Validator)
    assert make_instance({"properties": {"a": {"required": True, "const": 1}}}, "k") == {"a": 1}


def test_nullable_value_is_generated_with_content() -> None:
    schema = {"properties": {"a": {"anyOf": [{"type": "null"}, {"const": 1}], "default": None}}}
    assert [make_instance(schema, key) for key in KEYS] == [{"a": 1}] * len(KEYS)
    assert make_instance({"type": "boolean", "default": None}, "k") in (True, False)


def test_generated_value_depends_on_the_key() -> None:
    schema = {"type": "array", "items": {"type": "number"}, "minItems": 5}
    values = [json.dumps(make_instance(schema, str(key))) for key in range(20)]
    assert values == [json.dumps(make_instance(schema, str(key))) for key in range(20)]
    assert len(set(values)) == 20


def test_value_of_a_widely_branching_schema_is_small() -> None:
    wide = {"type": "object", "properties": {f"p{i}": {"$ref": "#/$defs/W"} for i in range(60)}}
    value = make_instance({"$ref": "#/$defs/W", "$defs": {"W": wide}}, "k")
    assert len(json.dumps(value)) < 100_000


CHAINED_DEFINITIONS = {
    f"L{i}": {"properties": {"n": {"$ref": f"#/$defs/L{i + 1}"}}} for i in range(99)
}
CHAINED_DEFINITIONS = {
    name: {**link, "type": "object", "required": ["n"]}
    for name, link in CHAINED_DEFINITIONS.items()
} | {"L99": {"type": "null"}}


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        (False, "no value fits it."),
        ({"enum": []}, "no value fits it."),
        ({"type": "integer", "minimum": 5, "maximum": 3}, "no value fits it."),
        ({"type": "number", "minimum": 5, "maximum": 3}, "no value fits it."),
        ({"type": "integer", "minimum": 0, "maximum": 3, "not": {"minimum": 0}}, "no value fits"),
        ({"type": "integer", "minimum": 5.2, "maximum": 5.7}, "no value fits it."),
        ({"type": "string", "minLength": 5, "maxLength": 3}, "no value fits it."),
        ({"type": "array", "items": {"type": "null"}, "uniqueItems": True, "minItems": 2}, "no"),
        (
            {
                "type": "array",
                "prefixItems": [{"const": 1}],
                "contains": {"const": 2},
                "maxItems": 1,
            },
            "no",
        ),
        ({"type": "array", "contains": True, "minContains": 3, "maxItems": 2}, "no value"),
        ({"type": "object", "required": ["a", "b"], "maxProperties": 1}, "no value fits it."),
        ({"type": "object", "required": ["a"], "additionalProperties": False}, "no value fits it."),
        (
            {"type": "object", "minProperties": 1, "additionalProperties": False},
            "no value fits it.",
        ),
        ({"type": "object", "minProperties": 2, "propertyNames": {"const": "a"}}, "no value"),
        (
            {"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#"}}},
            "it nests without",
        ),
        ({"$ref": "#"}, "it nests without end."),
        ({"$ref": "#/$defs/L0", "$defs": CHAINED_DEFINITIONS}, "it nests deeper than 32 levels."),
        ({"allOf": [{"anyOf": [{}]}] * 101}, "it branches too often."),
        ({"type": "array", "minItems": 10**9}, "it takes too many steps"),
        ({"type": "array", "contains": {}, "minContains": 10**9}, "it takes too many steps"),
        ({"type": "object", "minProperties": 10**9}, "it takes too many steps"),
        (
            {"type": "array", "minItems": 9_999, "items": {"type": "array"}},
            "it takes too many steps",
        ),
        ({"type": "string", "minLength": 10**9}, "'minLength' asks for more than 100000"),
        ({"type": "string", "pattern": "^(((a{99}){99}){99})$"}, "'pattern' asks for more than"),
        ({"type": "string", "pattern": "(){999999999}"}, "'pattern' asks for more than"),
        ({"$ref": "#/$defs/X"}, "reference '#/$defs/X' cannot be resolved."),
        ({"$ref": "#/type", "type": "object"}, "reference '#/type' cannot be resolved."),
        ({"$ref": "#/allOf/9", "allOf": [{}]}, "reference '#/allOf/9' cannot be resolved."),
        ({"$ref": "#lost"}, "reference '#lost' cannot be resolved."),
        ({"$ref": "https://a.example/s.json"}, "reference 'https://a.example/s.json' cannot"),
        ({"properties": {"a": {"$ref": "#/lost"}}, "type": "string"}, "reference '#/lost' cannot"),
        ({"$ref": 5}, "'$ref' must be a string."),
        (5, "a schema must be an object."),
        ({"anyOf": [5]}, "a schema must be an object."),
        ({"not": 5}, "a schema must be an object."),
        ({"anyOf": []}, "'anyOf' and 'oneOf' must not be empty."),
        ({"anyOf": {}}, "'anyOf' must be an array."),
        ({"properties": []}, "'properties' must be an object."),
        ({"required": "a"}, "'required' must be an array of strings."),
        ({"type": "words"}, "'words' is not a valid type."),
        ({"type": 5}, "'type' must be a string or an array of strings."),
        ({"type": "string", "minLength": "5"}, "'minLength' must be a whole number from 0 on."),
        ({"type": "string", "maxLength": True}, "'maxLength' must be a whole number from 0 on."),
        ({"type": "string", "pattern": 5}, "'pattern' must be a string."),
        ({"type": "integer", "minimum": "5"}, "'minimum' must be a number."),
        ({"type": "integer", "multipleOf": 0}, "'multipleOf' must be above 0."),
        ({"const": 1, "multipleOf": 0}, "'multipleOf' must be above 0."),
    ],
    ids=lambda value: json.dumps(value)[:50],
)
def test_unsatisfiable_schema_is_rejected_with_the_reason(schema: Any, reason: str) -> None:
    with pytest.raises(SchemaError) as error:
        make_instance(schema, "key")
    assert error.value.message.startswith(reason)


def test_error_has_the_path_of_the_unsatisfiable_schema() -> None:
    unsatisfiable = {"type": "integer", "minimum": 5, "maximum": 3}
    object_schema = {"type": "object", "properties": {"b": unsatisfiable}, "required": ["b"]}
    array_schema = {"type": "array", "items": object_schema, "minItems": 1}
    with pytest.raises(SchemaError) as error:
        make_instance(
            {"type": "object", "properties": {"a": array_schema}, "required": ["a"]}, "key"
        )
    assert error.value.path == ("a", "0", "b")
