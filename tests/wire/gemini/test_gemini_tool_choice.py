"""Parsing of Gemini's tool configuration and response schema."""

from typing import Any

import pytest

from scenarios_app.engine.canonical import ANY_OBJECT, JsonFormat, ToolChoice
from scenarios_app.wire.gemini.request import json_schema
from tests.wire.gemini.gemini_cases import MINIMAL_BODY, parse

PLACE = "generationConfig"


@pytest.mark.parametrize(
    ("tool_config", "tool_choice"),
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
def test_tool_config_is_parsed(tool_config: Any, tool_choice: ToolChoice) -> None:
    assert parse({**MINIMAL_BODY, "toolConfig": tool_config}).choice == tool_choice


@pytest.mark.parametrize(
    ("config", "json_format"),
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
def test_response_schema_is_parsed(config: Any, json_format: JsonFormat | None) -> None:
    assert parse({**MINIMAL_BODY, "generationConfig": config}).json == json_format


def test_googles_schema_becomes_a_json_schema() -> None:
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
