"""Requests for OpenAI's Responses, read field by field and item by item."""

from typing import Any

import pytest

from scenarios_app.engine.canonical import Json, Message, Tool
from scenarios_app.engine.parts import (
    OpaquePart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from tests.wire.openai.responses_cases import CALL_1, RESULT_1, parse, refusal_of, said

USER = {"role": "user", "content": "Hello"}
ANSWER = {
    "type": "message",
    "id": "msg_1",
    "status": "completed",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "Hi", "annotations": []}],
}
REASONING = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "a"}, {"type": "summary_text", "text": "b"}],
    "encrypted_content": "sealed",
}


def test_an_empty_request_is_one() -> None:
    request = parse()
    assert (request.provider, request.route, request.model) == ("openai", "/v1/responses", "gpt-4o")
    assert (request.messages, request.tools, request.stream) == ((), (), False)
    assert (request.temperature, request.top_p, request.max_tokens) == (None, None, None)
    assert (request.turn, request.n, request.reasoning) == (1, 1, False)


def test_the_fields_of_a_request() -> None:
    request = parse(
        model="o3",
        stream=True,
        temperature=0.5,
        top_p=1,
        max_output_tokens=99,
        metadata={"team": "qa"},
        tool_choice={"type": "function", "name": "f"},
        text={"format": {"type": "json_schema", "name": "n", "schema": {}}, "verbosity": "low"},
    )
    assert (request.model, request.stream) == ("o3", True)
    assert (request.temperature, request.top_p, request.max_tokens) == (0.5, 1.0, 99)
    assert request.metadata == {"team": "qa"}
    assert request.tool_choice == {"type": "function", "name": "f"}
    assert request.response_format == {"type": "json_schema", "name": "n", "schema": {}}


@pytest.mark.parametrize("text", [None, {}, {"format": None}, {"verbosity": "low"}])
def test_without_a_format_there_is_none(text: Any) -> None:
    assert parse(text=text).response_format is None


@pytest.mark.parametrize(
    ("reasoning", "thinks"),
    [
        (None, False),
        ({}, False),
        ({"effort": None, "summary": None}, False),
        ({"effort": "none"}, False),
        ({"effort": "none", "summary": "auto"}, False),
        ({"effort": "low"}, True),
        ({"summary": "auto"}, True),
        ({"generate_summary": "concise"}, True),
    ],
)
def test_thinking_is_asked_for_by_effort_or_summary(reasoning: Any, thinks: bool) -> None:
    assert parse(reasoning=reasoning).reasoning is thinks


def test_a_text_is_a_user_message_and_instructions_stand_before_it() -> None:
    assert said(input="Hello") == [("user", "Hello")]
    assert said(input="Hello", instructions="Be brief.") == [
        ("system", "Be brief."),
        ("user", "Hello"),
    ]


@pytest.mark.parametrize("content", ["Hello", [{"type": "input_text", "text": "Hello"}]])
@pytest.mark.parametrize("kind", [{}, {"type": "message"}])
def test_a_message_is_given_in_several_forms(content: Any, kind: dict[str, str]) -> None:
    item = {**kind, "role": "user", "content": content}
    assert said(input=[item]) == [("user", "Hello")]


@pytest.mark.parametrize("role", ["system", "developer"])
def test_system_and_developer_are_one(role: str) -> None:
    assert said(input=[{"role": role, "content": "x"}]) == [("system", "x")]


def test_parts_that_are_no_text_are_carried() -> None:
    content = [
        {"type": "input_text", "text": "See"},
        {"type": "input_image", "image_url": "data:"},
        {"type": "input_file", "file_id": "f"},
    ]
    (message,) = parse(input=[{"role": "user", "content": content}]).messages
    assert message.parts == (TextPart("See"), OpaquePart("input_image"), OpaquePart("input_file"))


def test_the_items_of_one_answer_are_one_message() -> None:
    items = [USER, REASONING, ANSWER, CALL_1, RESULT_1, {"role": "user", "content": "And?"}]
    request = parse(input=items)
    assert [message.role for message in request.messages] == ["user", "assistant", "tool", "user"]
    assert request.messages[1].parts == (
        ReasoningPart("a\nb", signature="sealed"),
        TextPart("Hi"),
        ToolCallPart("c1", "f", "{}"),
    )
    assert request.messages[2] == Message("tool", (ToolResultPart("c1", "f", "done"),))
    assert request.turn == 2


def test_a_result_between_them_makes_two_answers() -> None:
    assert parse(input=[USER, CALL_1, RESULT_1, CALL_1, RESULT_1]).turn == 3


def test_an_answer_is_given_back_in_the_short_form_too() -> None:
    items = [{"role": "assistant", "content": "Hi"}, {"role": "assistant", "content": "there"}]
    assert said(input=items) == [("assistant", "Hi\nthere")]


def test_a_refusal_comes_back() -> None:
    content = [{"type": "refusal", "refusal": "No."}]
    (message,) = parse(input=[{"role": "assistant", "content": content}]).messages
    assert message.parts == (RefusalPart("No."),)


def test_thinking_comes_back_by_its_summary_or_else_its_text() -> None:
    content = [{"type": "reasoning_text", "text": "long"}]
    items = [{"type": "reasoning", "id": "r", "summary": [], "content": content}]
    (message,) = parse(input=items).messages
    assert message.parts == (ReasoningPart("long"),)
    (message,) = parse(input=[{**REASONING, "content": content}]).messages
    assert message.parts == (ReasoningPart("a\nb", signature="sealed"),)


def test_custom_tools_are_called_with_text() -> None:
    items = [
        {"type": "custom_tool_call", "call_id": "c", "name": "sql", "input": "select 1"},
        {"type": "custom_tool_call_output", "call_id": "c", "output": "1"},
    ]
    request = parse(input=items)
    assert request.tool_calls == (ToolCallPart("c", "sql", "select 1", custom=True),)
    assert request.tool_results == (ToolResultPart("c", "sql", "1"),)


def test_a_result_may_be_parts_and_may_name_no_call() -> None:
    output = [
        {"type": "input_text", "text": "a"},
        {"type": "input_image", "image_url": "x"},
        {"type": "input_text", "text": "b"},
    ]
    (result,) = parse(input=[{"type": "function_call_output", "output": output}]).tool_results
    assert result == ToolResultPart("", "", "a\nb")


@pytest.mark.parametrize(
    "kind",
    ["web_search_call", "computer_call", "mcp_call", "mcp_list_tools", "mcp_approval_request"],
)
def test_hosted_tool_items_belong_to_the_assistant_message(kind: str) -> None:
    (message,) = parse(input=[{"type": kind, "id": "x"}]).messages
    assert message == Message("assistant", (OpaquePart(kind),))


@pytest.mark.parametrize("kind", ["computer_call_output", "mcp_approval_response"])
def test_output_for_a_hosted_tool_is_a_tool_message(kind: str) -> None:
    (message,) = parse(input=[{"type": kind, "call_id": "x", "output": {}}]).messages
    assert message == Message("tool", (OpaquePart(kind),))


def test_items_that_steer_the_api_are_passed_over() -> None:
    items = [{"type": "compaction_trigger"}, USER, {"type": "compaction", "encrypted_content": "x"}]
    assert said(input=items) == [("user", "Hello")]


def test_they_do_not_part_an_answer() -> None:
    assert parse(input=[REASONING, {"type": "compaction_trigger"}, ANSWER]).turn == 2


def test_tools_of_every_kind_are_offered() -> None:
    form: Json = {"type": "grammar", "syntax": "lark", "definition": "x"}
    inner = [
        {"type": "function", "name": "near", "parameters": []},
        {"type": "custom", "name": "raw", "description": "d", "format": form},
    ]
    request = parse(
        tools=[
            {"type": "function", "name": "f", "description": "d", "parameters": {"type": "object"}},
            {"type": "custom", "name": "c", "format": form},
            {"type": "web_search"},
            {"type": "mcp", "server_label": "tickets"},
            {"type": "namespace", "name": "n", "tools": inner},
        ]
    )
    assert request.tools == (
        Tool("f", "d", {"type": "object"}),
        Tool("c", "", form, "custom"),
        Tool("web_search", kind="hosted"),
        Tool("tickets", kind="hosted"),
        Tool("near", namespace="n"),
        Tool("raw", "d", form, "custom", "n"),
    )


def test_an_item_may_bring_tools_along() -> None:
    added = {"type": "additional_tools", "role": "developer", "tools": [{"type": "web_search"}]}
    request = parse(input=[USER, added], tools=[{"type": "function", "name": "f"}])
    assert [tool.name for tool in request.tools] == ["f", "web_search"]


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"model": 1}, "model"),
        ({"input": 1}, "input"),
        ({"input": ["x"]}, "input[0]"),
        ({"input": [{"role": "critic", "content": "x"}]}, "input[0].role"),
        ({"input": [{"type": "message", "content": "x"}]}, "input[0].role"),
        ({"input": [{"role": "user"}]}, "input[0].content"),
        ({"input": [{"role": "user", "content": 1}]}, "input[0].content"),
        ({"input": [{"role": "user", "content": [{"text": "x"}]}]}, "input[0].content[0].type"),
        (
            {"input": [{"role": "user", "content": [{"type": "input_text"}]}]},
            "input[0].content[0].text",
        ),
        ({"input": [{"type": "function_call", "name": "f"}]}, "input[0].call_id"),
        ({"input": [{**CALL_1, "arguments": {}}]}, "input[0].arguments"),
        ({"input": [{"type": "function_call_output", "call_id": "c"}]}, "input[0].output"),
        ({"input": [{"type": 1}]}, "input[0].type"),
        ({"input": [{}]}, "input[0].id"),
        ({"instructions": ["x"]}, "instructions"),
        ({"tools": {}}, "tools"),
        ({"tools": [{"name": "f"}]}, "tools[0].type"),
        ({"tools": [{"type": "function"}]}, "tools[0].name"),
        ({"tools": [{"type": "mcp"}]}, "tools[0].server_label"),
        ({"tool_choice": 1}, "tool_choice"),
        ({"text": "x"}, "text"),
        ({"text": {"format": {}}}, "text.format.type"),
        ({"reasoning": "high"}, "reasoning"),
        ({"reasoning": {"effort": 1}}, "reasoning.effort"),
        ({"metadata": {"a": 1}}, "metadata.a"),
        ({"stream": "yes"}, "stream"),
        ({"max_output_tokens": 1.5}, "max_output_tokens"),
        ({"conversation": {}}, "conversation.id"),
        ({"conversation": 1}, "conversation"),
        ({"previous_response_id": 1}, "previous_response_id"),
        ({"store": "no"}, "store"),
        ({"background": 1}, "background"),
        ({"include": {}}, "include"),
    ],
)
def test_invalid_value_is_rejected_with_its_path(body: dict[str, Any], place: str) -> None:
    refused = refusal_of(**body)
    assert (refused.status, refused.param) == (400, place)
