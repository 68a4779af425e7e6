"""Tool arguments are validated against schemas of clients, also hostile ones."""

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from scenarios_app.verdict.schema import find_schema_error
from tests.engine.schemas.test_fit import SCHEMAS as EXAMPLES
from tests.engine.schemas.test_fit import VALUES

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
GOOGLE = {
    "type": "OBJECT",
    "properties": {"city": {"type": "STRING", "nullable": True}, "days": {"type": "INTEGER"}},
}
# `true` and `false` are no schemas of a tool.
SCHEMAS = [schema for schema in EXAMPLES if isinstance(schema, dict)]
BOMB = {f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 10} for n in range(20)}


@pytest.mark.parametrize(
    ("schema", "arguments", "error"),
    [
        (CITY, '{"city": "Paris"}', ""),
        (CITY, "{}", "'city' is a required property"),
        (CITY, "", "'city' is a required property"),
        (CITY, '{"city": 3}', "city: 3 is not of type 'string'"),
        (CITY, '{"city": "Par', "the text is no JSON"),
        (GOOGLE, '{"city": null, "days": 2}', ""),
        (GOOGLE, '{"days": "two"}', "days: 'two' is not of type 'integer'"),
        ({"properties": {"l": {"items": {"type": "number"}}}}, '{"l": [1, "x"]}', "l[1]: 'x' is"),
        ({"properties": {"c": {"pattern": "^[a-z]+$"}}}, '{"c": "X"}', "c: 'X' does not match"),
        ({"properties": {"type": {"type": "string"}}}, '{"type": 1}', "type: 1 is not of type"),
        ({"additionalProperties": False}, '{"a": 1}', "no property 'a' is allowed"),
        (
            {"patternProperties": {"^x": {"type": "null"}}},
            '{"x1": 2}',
            "x1: 2 is not of type 'null'",
        ),
        ({"properties": {"a": {"enum": [1, 2]}}}, '{"a": 3}', "a: 3 is not one of [1, 2]"),
        ({"properties": {"a": {"minimum": 1}}}, '{"a": 0}', "a: 0 is less than the minimum of 1"),
        (
            {"properties": {"a": {"anyOf": [{"type": "null"}]}}},
            '{"a": 0}',
            "a: 0 does not fit anyOf",
        ),
        (
            {"properties": {"a": {"$ref": "#/$defs/c"}}, "$defs": {"c": CITY}},
            '{"a": {}}',
            "a: 'city'",
        ),
        ({"if": {"required": ["a"]}, "then": {"required": ["b"]}}, '{"a": 1}', "'b' is a required"),
        (
            {"allOf": [True, {"maxProperties": 0}]},
            '{"a": 1}',
            "{'a': 1} does not fit maxProperties",
        ),
        ({"properties": {"a": False}}, '{"a": 1}', "no property 'a' is allowed"),
        ({"properties": {"a": {"const": {"type": "A"}}}}, '{"a": {"type": "A"}}', ""),
        ({"properties": {"a": {"enum": [{"type": "A"}]}}}, '{"a": {"type": "A"}}', ""),
        ({"properties": {"const": {"type": "STRING"}}}, '{"const": 1}', "const: 1 is not of type"),
        (
            {"additionalProperties": {"type": "string"}},
            '{"\\ud800": 1}',
            "\\ud800: 1 is not of type",
        ),
    ],
)
def test_invalid_arguments_are_reported_with_their_path(
    schema: Any, arguments: str, error: str
) -> None:
    actual = find_schema_error(schema, arguments)
    assert actual.startswith(error) if error else actual == ""


@pytest.mark.parametrize("value", ["NaN", "1e999", '"\\ud800"'])
def test_value_that_cannot_be_checked_is_no_error(value: str) -> None:
    schema = {"properties": {"a": {"pattern": "^a", "maximum": 1}}}
    assert find_schema_error(schema, f'{{"a": {value}}}') == ""


@pytest.mark.parametrize(
    "schema",
    [
        None,
        True,
        "text",
        {"type": "nonsense"},
        {"$ref": "http://127.0.0.1:9/schema.json"},
        {"$ref": "#/$defs/none"},
        {"$ref": "#"},
        {"patternProperties": {"(a+)+$": {"type": "number"}}},
        {"not": {"properties": {"city": {"pattern": "(?=x)"}}}},
        {"unevaluatedProperties": False},
        {"$dynamicRef": "#none"},
        {"properties": {"city": {"pattern": "(?=x)"}}},
        {"$ref": "#/$defs/a0", "$defs": {**BOMB, "a20": {}}},
    ],
    ids=lambda schema: str(schema)[:30],
)
def test_schema_that_cannot_be_applied_reports_no_error(schema: Any) -> None:
    assert find_schema_error(schema, '{"city": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"}') == ""


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
def test_every_value_that_does_not_fit_has_an_error(schema: Any) -> None:
    judge = Draft202012Validator(schema)
    for value in VALUES:
        error = find_schema_error(schema, json.dumps(value))
        assert bool(error) != judge.is_valid(value) or "unevaluated" in str(schema), (value, error)


def test_pattern_does_not_backtrack() -> None:
    schema = {"properties": {"c": {"pattern": "^(a+)+$"}}}
    assert "does not match" in find_schema_error(schema, '{"c": "' + "a" * 60 + '!"}')


def test_masked_values_report_no_error() -> None:
    schema = {"properties": {"token": {"type": "integer"}}}
    assert find_schema_error(schema, '{"token": "***"}') == ""
    assert find_schema_error({"properties": {"apiKey": "***"}}, "{}") == ""


def test_long_error_is_cut_to_300_characters() -> None:
    assert len(find_schema_error(CITY, '{"city": [' + ", ".join(["1"] * 1000) + "]}")) == 300
