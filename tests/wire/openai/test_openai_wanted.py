"""What a tool choice and a response format mean, on chat and Responses."""

from typing import Any

import pytest

from scenarios_app.engine.canonical import ANY_OBJECT, JsonFormat, ToolChoice
from scenarios_app.wire.openai.fields import to_json_format, to_tool_choice

NAMED: Any = {"type": "function", "function": {"name": "f"}}
FLAT: Any = {"type": "function", "name": "g"}


@pytest.mark.parametrize(
    ("sent", "meant"),
    [
        (None, ToolChoice()),
        ("auto", ToolChoice()),
        ("none", ToolChoice("none")),
        ("required", ToolChoice("required")),
        ("any", ToolChoice("required")),
        (NAMED, ToolChoice("required", ("f",))),
        (FLAT, ToolChoice("required", ("g",))),
        ({"name": "old"}, ToolChoice("required", ("old",))),
        ({"type": "custom", "custom": {"name": "c"}}, ToolChoice("required", ("c",))),
        ({"type": "mcp", "server_label": "s", "name": "t"}, ToolChoice("required", ("s",))),
        ({"type": "web_search"}, ToolChoice("required", ("web_search",))),
        ({}, ToolChoice("required")),
        (
            {
                "type": "allowed_tools",
                "allowed_tools": {"mode": "required", "tools": [NAMED, 5]},
            },
            ToolChoice("required", ("f",)),
        ),
        ({"type": "allowed_tools", "mode": "auto", "tools": [FLAT]}, ToolChoice("auto", ("g",))),
    ],
)
def test_a_tool_choice_has_one_meaning(sent: Any, meant: ToolChoice) -> None:
    assert to_tool_choice(sent) == meant


@pytest.mark.parametrize(
    ("sent", "schema"),
    [
        ({"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "null"}}}, True),
        ({"type": "json_schema", "name": "n", "schema": {"type": "null"}}, True),
        ({"type": "json_schema", "json_schema": {"name": "n"}}, False),
        ({"type": "json_object"}, False),
    ],
)
def test_a_response_format_has_one_meaning(sent: Any, schema: bool) -> None:
    wanted = JsonFormat({"type": "null"}, "f", name="n") if schema else JsonFormat(ANY_OBJECT, "f")
    assert to_json_format(sent, "f") == wanted


@pytest.mark.parametrize("sent", [None, {"type": "text"}, {"type": "grammar", "grammar": "x"}])
def test_other_formats_want_no_json(sent: Any) -> None:
    assert to_json_format(sent, "response_format") is None
