"""Parsing of Anthropic's tool choice, output format and keywords in schema descriptions."""

from typing import Any

import pytest
from anthropic import transform_schema
from pydantic import BaseModel, Field

from scenarios_app.engine.canonical import ANY_OBJECT, JsonFormat, Tool, ToolChoice
from scenarios_app.wire.anthropic.request import with_described_keywords
from tests.wire.anthropic.anthropic_cases import MINIMAL_BODY, parse


@pytest.mark.parametrize(
    ("value", "tool_choice"),
    [
        ({"type": "auto"}, ToolChoice()),
        ({"type": "any", "disable_parallel_tool_use": True}, ToolChoice("required")),
        ({"type": "tool", "name": "f"}, ToolChoice("required", ("f",))),
        ({"type": "none"}, ToolChoice("none")),
        ({"type": 5}, ToolChoice()),
        (None, ToolChoice()),
    ],
)
def test_tool_choice_is_parsed(value: Any, tool_choice: ToolChoice) -> None:
    assert parse({**MINIMAL_BODY, "tool_choice": value}).choice == tool_choice


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        ({"type": "json_schema", "schema": {"type": "null"}}, {"type": "null"}),
        ({"type": "json_schema"}, ANY_OBJECT),
    ],
)
def test_output_format_is_parsed(value: Any, schema: Any) -> None:
    json_format = JsonFormat(schema, "output_config.format")
    assert parse({**MINIMAL_BODY, "output_config": {"format": value}}).json == json_format
    assert parse({**MINIMAL_BODY, "output_config": {"format": {"type": "text"}}}).json is None


def test_anthropics_tools_are_hosted() -> None:
    tools = [{"name": "f"}, {"type": "custom", "name": "g"}, {"type": "web_search_1", "name": "w"}]
    kinds = [tool.kind for tool in parse({**MINIMAL_BODY, "tools": tools}).tools]
    assert kinds == ["function", "function", "hosted"]
    assert parse({**MINIMAL_BODY, "tools": tools[:1]}).tools == (Tool("f"),)


def test_deferred_tool_is_offered_before_and_after_a_search_refers_to_it() -> None:
    rate = {"name": "get_exchange_rate", "input_schema": {"type": "object"}, "defer_loading": True}
    search = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
    offer = {**MINIMAL_BODY, "tools": [rate, search]}
    use = {"type": "tool_use", "id": "t1", "name": "find_tools", "input": {}}
    reference = {"type": "tool_reference", "tool_name": "get_exchange_rate"}
    tool_result = {"type": "tool_result", "tool_use_id": "t1", "content": [reference]}
    messages = [
        {"role": "user", "content": "1 USD?"},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [tool_result]},
    ]
    for request in (parse(offer), parse({**offer, "messages": messages})):
        assert [(tool.name, tool.kind) for tool in request.tools] == [
            ("get_exchange_rate", "function"),
            ("tool_search_tool_bm25", "hosted"),
        ]


class Sized(BaseModel):
    number: int = Field(ge=2, lt=10, description="how many")
    code: str = Field(pattern="^[A-Z]{2,3}, x$", max_length=9)
    items: list[float] = Field(min_length=2, max_length=5)


def test_schema_keywords_in_descriptions_are_read() -> None:
    schema: Any = with_described_keywords(transform_schema(Sized))
    number, code, items = (schema["properties"][name] for name in ("number", "code", "items"))
    assert (number["minimum"], number["exclusiveMaximum"]) == (2, 10)
    assert (code["pattern"], code["maxLength"]) == ("^[A-Z]{2,3}, x$", 9)
    assert (items["minItems"], items["maxItems"]) == (2, 5)


def test_other_descriptions_are_not_read_as_keywords() -> None:
    description = "{minLength: many, maxLength: inf, uniqueItems: True, format: date, default: {}}"
    assert with_described_keywords({"description": description}) == {
        "description": description,
        "uniqueItems": True,
        "format": "date",
    }
    for schema in ({"description": "a {b}"}, {"description": {"type": "string"}}, [5]):
        assert with_described_keywords(schema) == schema
