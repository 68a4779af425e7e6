"""Arguments held against the schemas of clients, which may be of any kind."""

from typing import Any

import pytest

from scenarios_app.verdict.schema import outside

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
GOOGLE = {
    "type": "OBJECT",
    "properties": {"city": {"type": "STRING", "nullable": True}, "days": {"type": "INTEGER"}},
}
BOMB = {f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 10} for n in range(20)}


@pytest.mark.parametrize(
    ("schema", "arguments", "problem"),
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
    ],
)
def test_what_is_wrong_is_named_with_its_place(schema: Any, arguments: str, problem: str) -> None:
    found = outside(schema, arguments)
    assert found.startswith(problem) if problem else found == ""


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
        {"properties": {"city": {"pattern": "(?=x)"}}},
        {"$ref": "#/$defs/a0", "$defs": {**BOMB, "a20": {}}},
    ],
    ids=lambda schema: str(schema)[:30],
)
def test_where_a_schema_cannot_be_applied_nothing_is_claimed(schema: Any) -> None:
    assert outside(schema, '{"city": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"}') == ""


def test_no_pattern_backtracks() -> None:
    schema = {"properties": {"c": {"pattern": "^(a+)+$"}}}
    assert "does not match" in outside(schema, '{"c": "' + "a" * 60 + '!"}')


def test_of_masked_values_nothing_is_claimed() -> None:
    schema = {"properties": {"token": {"type": "integer"}}}
    assert outside(schema, '{"token": "***"}') == ""
    assert outside({"properties": {"apiKey": "***"}}, "{}") == ""


def test_a_long_value_is_not_told_whole() -> None:
    assert len(outside(CITY, '{"city": [' + ", ".join(["1"] * 1000) + "]}")) == 300
