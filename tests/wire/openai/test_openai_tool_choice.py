"""Parsing of tool choice and response format of chat completions and Responses."""

from typing import Any

import pytest

from scenarios_app.engine.canonical import ANY_OBJECT, JsonFormat, ToolChoice
from scenarios_app.wire.openai.fields import to_json_format, to_tool_choice

FUNCTION_CHOICE: Any = {"type": "function", "function": {"name": "f"}}
FLAT_FUNCTION_CHOICE: Any = {"type": "function", "name": "g"}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, ToolChoice()),
        ("auto", ToolChoice()),
        ("none", ToolChoice("none")),
        ("required", ToolChoice("required")),
        ("any", ToolChoice("required")),
        (FUNCTION_CHOICE, ToolChoice("required", ("f",))),
        (FLAT_FUNCTION_CHOICE, ToolChoice("required", ("g",))),
        ({"name": "old"}, ToolChoice("required", ("old",))),
        ({"type": "custom", "custom": {"name": "c"}}, ToolChoice("required", ("c",))),
        ({"type": "mcp", "server_label": "s", "name": "t"}, ToolChoice("required", ("s",))),
        ({"type": "web_search"}, ToolChoice("required", ("web_search",))),
        ({}, ToolChoice("required")),
        (
            {
                "type": "allowed_tools",
                "allowed_tools": {"mode": "required", "tools": [FUNCTION_CHOICE, 5]},
            },
            ToolChoice("required", ("f",)),
        ),
        (
            {"type": "allowed_tools", "mode": "auto", "tools": [FLAT_FUNCTION_CHOICE]},
            ToolChoice("auto", ("g",)),
        ),
    ],
)
def test_tool_choice_is_parsed(value: Any, expected: ToolChoice) -> None:
    assert to_tool_choice(value) == expected


@pytest.mark.parametrize(
    ("value", "has_schema"),
    [
        ({"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "null"}}}, True),
        ({"type": "json_schema", "name": "n", "schema": {"type": "null"}}, True),
        ({"type": "json_schema", "json_schema": {"name": "n"}}, False),
        ({"type": "json_object"}, False),
    ],
)
def test_response_format_is_parsed(value: Any, has_schema: bool) -> None:
    expected = (
        JsonFormat({"type": "null"}, "f", name="n") if has_schema else JsonFormat(ANY_OBJECT, "f")
    )
    assert to_json_format(value, "f") == expected


@pytest.mark.parametrize("value", [None, {"type": "text"}, {"type": "grammar", "grammar": "x"}])
def test_other_formats_are_not_json(value: Any) -> None:
    assert to_json_format(value, "response_format") is None
