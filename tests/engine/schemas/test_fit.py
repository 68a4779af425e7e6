"""Validity of values in schemas, compared with `jsonschema`."""

from itertools import product
from typing import Any

import pytest
from jsonschema import Draft7Validator, Draft202012Validator

from scenarios_app.engine.schemas.fit import SchemaValidator, StepBudget
from scenarios_app.engine.schemas.keywords import References, SchemaError

VALUES: list[Any] = [
    None,
    True,
    0,
    1,
    1.0,
    2.5,
    "",
    "ab",
    "abcdef",
    [],
    [1],
    [1, 1.0],
    [1, "a", None],
]
VALUES += [{}, {"a": 1}, {"a": 1, "b": 2}, {"a": "x", "x_1": None}, {"a": 1, "b": 2, "c": 3}]
SCHEMAS: list[Any] = [
    *(True, False, {"type": "integer"}, {"type": ["number", "null"]}, {"const": 1}),
    *({"enum": ["ab", {"a": 1}]}, {"minLength": 1, "maxLength": 3}, {"pattern": "^a"}),
    *({"minimum": 1}, {"maximum": 1}, {"exclusiveMinimum": 1}, {"exclusiveMaximum": 1}),
    *({"multipleOf": 0.5}, {"multipleOf": 2}, {"minItems": 1, "maxItems": 1}),
    *({"uniqueItems": True}, {"items": {"type": "integer"}}, {"contains": {"type": "string"}}),
    *(
        {"prefixItems": [{"const": 1}], "items": False},
        {"contains": {"const": 1}, "maxContains": 1},
    ),
    *({"contains": {"const": 1}, "minContains": 0}, {"minProperties": 1, "maxProperties": 1}),
    *({"required": ["a"]}, {"dependentRequired": {"a": ["b"]}}, {"unevaluatedItems": False}),
    *({"propertyNames": {"maxLength": 1}}, {"additionalProperties": False}),
    {"properties": {"a": {"type": "integer"}}, "patternProperties": {"^x_": {"type": "null"}}},
    {"properties": {"a": {}}, "additionalProperties": {"const": 2}},
    {"dependentSchemas": {"a": {"required": ["b"]}}},
    {"allOf": [{"required": ["a"]}, {"required": ["b"]}]},
    {"anyOf": [{"type": "string"}, {"required": ["b"], "type": "object"}]},
    {"oneOf": [{"required": ["a"]}, {"required": ["b"]}, {"type": "null"}]},
    *({"not": {"type": "object"}}, {"if": {"type": "object"}, "then": {"required": ["b"]}}),
    {"if": {"required": ["a"]}, "else": {"type": "string"}},
    {"$ref": "#/$defs/A", "$defs": {"A": {"required": ["b"], "type": "object"}}},
    {"properties": {"a": {}}, "unevaluatedProperties": False},
    {"allOf": [{"properties": {"a": {}}}, True], "unevaluatedProperties": {"const": 2}},
    {"anyOf": [{"properties": {"a": {"const": 1}}}, {}], "unevaluatedProperties": False},
    {
        "$ref": "#/$defs/A",
        "$defs": {"A": {"properties": {"a": {}}}},
        "unevaluatedProperties": False,
    },
    {"oneOf": [{"additionalProperties": {"const": 1}}], "unevaluatedProperties": False},
    {
        "if": {"properties": {"a": {"const": 1}}},
        "then": {"properties": {"b": {}}},
        "else": {"properties": {"x_1": {}}},
        "unevaluatedProperties": False,
    },
    {
        "properties": {"a": {}},
        "dependentSchemas": {"b": {"properties": {"b": {}}}},
        "unevaluatedProperties": False,
    },
]
DRAFT_7: list[Any] = [
    {"items": [{"const": 1}], "additionalItems": {"const": "a"}},
    {"items": [{"const": 1}]},
    {"dependencies": {"a": ["b"], "b": {"required": ["c"]}}},
]


def is_valid(value: Any, schema: Any) -> bool:
    return SchemaValidator(References(schema), StepBudget()).is_valid(value, schema)


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
def test_validity_agrees_with_jsonschema(schema: Any) -> None:
    validator = Draft202012Validator(schema)
    different_results = [
        value for value in VALUES if is_valid(value, schema) != validator.is_valid(value)
    ]
    assert different_results == []


def test_validity_agrees_with_jsonschema_for_draft_7() -> None:
    for schema, value in product(DRAFT_7, VALUES):
        assert is_valid(value, schema) is Draft7Validator(schema).is_valid(value), (schema, value)


def test_exclusive_bounds_of_draft_4_are_supported() -> None:
    bounds = {"minimum": 1, "exclusiveMinimum": True, "maximum": 3, "exclusiveMaximum": True}
    assert [value for value in (1, 2, 3) if is_valid(value, bounds)] == [2]


def test_multiple_of_is_exact_for_huge_integers() -> None:
    assert is_valid(10**400, {"multipleOf": 0.5})
    assert not is_valid(10**400, {"multipleOf": 3})


@pytest.mark.parametrize("count", [True, -1, 1.5, float("inf"), "1"])
def test_count_that_is_no_whole_number_is_rejected(count: Any) -> None:
    with pytest.raises(SchemaError, match="'maxLength' must be a whole number from 0 on"):
        is_valid("a", {"maxLength": count})


def test_unevaluated_properties_are_validated_in_order() -> None:
    first_is_invalid = {"if": {"type": "null"}, "then": False, "else": "no schema"}
    value = {"first": None, **{f"p{number}": number for number in range(20)}}
    assert not is_valid(value, {"unevaluatedProperties": first_is_invalid})


def test_schema_that_refers_only_to_itself_is_an_error() -> None:
    with pytest.raises(SchemaError, match="nests without end"):
        is_valid(1, {"not": {"$ref": "#"}})
