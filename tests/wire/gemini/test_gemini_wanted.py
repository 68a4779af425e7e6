"""What a tool configuration and a response schema mean to Google."""

from typing import Any

import pytest

from scenarios_app.engine.canonical import ANY_OBJECT, JsonFormat, ToolChoice
from scenarios_app.wire.gemini.request import json_schema
from tests.wire.gemini.gemini_cases import LEAST, parse

PLACE = "generationConfig"


@pytest.mark.parametrize(
    ("calling", "meant"),
    [
        (None, ToolChoice()),
        ({}, ToolChoice()),
        ({"functionCallingConfig": {"mode": "AUTO"}}, ToolChoice()),
        ({"functionCallingConfig": {"mode": "NONE"}}, ToolChoice("none")),
        (
            {"function_calling_config": {"mode": "ANY", "allowed_function_names": ["f"]}},
            ToolChoice("required", ("f",)),
        ),
    ],
)
def test_a_tool_configuration_has_one_meaning(calling: Any, meant: ToolChoice) -> None:
    assert parse({**LEAST, "toolConfig": calling}).choice == meant


@pytest.mark.parametrize(
    ("config", "meant"),
    [
        ({}, None),
        ({"responseMimeType": "text/plain"}, None),
        (
            {"responseMimeType": "application/json"},
            JsonFormat(ANY_OBJECT, f"{PLACE}.responseMimeType"),
        ),
        (
            {"responseMimeType": "text/x.enum", "responseSchema": {"type": "STRING"}},
            JsonFormat({"type": "string"}, f"{PLACE}.responseSchema", bare=True),
        ),
        (
            {"response_json_schema": {"type": "null"}},
            JsonFormat({"type": "null"}, f"{PLACE}.responseJsonSchema"),
        ),
        (
            {"responseJsonSchema": {"type": "OBJECT", "required": ["score"]}},
            JsonFormat({"type": "object", "required": ["score"]}, f"{PLACE}.responseJsonSchema"),
        ),
    ],
)
def test_a_response_schema_has_one_meaning(config: Any, meant: JsonFormat | None) -> None:
    assert parse({**LEAST, "generationConfig": config}).json == meant


def test_googles_schemas_are_json_schemas() -> None:
    google = {
        "type": "OBJECT",
        "properties": {
            "min_items": {"type": "ARRAY", "items": {"type": "STRING"}, "min_items": "2"},
            "b": {"any_of": [{"type": "NULL"}, {"type": "INTEGER"}], "maxLength": "x"},
        },
        "additionalProperties": False,
        "enum": ["A"],
        "not": 5,
        "prefixItems": [5],
    }
    assert json_schema(google) == {
        "type": "object",
        "properties": {
            "min_items": {"type": "array", "items": {"type": "string"}, "minItems": 2},
            "b": {"anyOf": [{"type": "null"}, {"type": "integer"}], "maxLength": "x"},
        },
        "additionalProperties": False,
        "enum": ["A"],
        "not": 5,
        "prefixItems": [5],
    }
