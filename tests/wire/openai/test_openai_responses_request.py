"""Parsing of requests to the Responses API: fields and input items."""

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
from tests.wire.openai.responses_cases import CALL_1, RESULT_1, catch_error, parse, read_messages

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


def test_empty_request_has_the_defaults() -> None:
    request = parse()
    assert (request.provider, request.route, request.model) == ("openai", "/v1/responses", "gpt-4o")
    assert (request.messages, request.tools, request.stream) == ((), (), False)
    assert (request.temperature, request.top_p, request.max_tokens) == (None, None, None)
    assert (request.turn, request.n, request.reasoning) == (1, 1, False)


def test_fields_of_a_request_are_read() -> None:
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
def test_text_without_a_format_has_no_response_format(text: Any) -> None:
    assert parse(text=text).response_format is None


@pytest.mark.parametrize(
    ("reasoning", "expected"),
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
def test_effort_or_summary_switches_reasoning(reasoning: Any, expected: bool) -> None:
    assert parse(reasoning=reasoning).reasoning is expected


def test_input_text_is_a_user_message_after_the_instructions() -> None:
    assert read_messages(input="Hello") == [("user", "Hello")]
    assert read_messages(input="Hello", instructions="Be brief.") == [
        ("system", "Be brief."),
        ("user", "Hello"),
    ]


@pytest.mark.parametrize("content", ["Hello", [{"type": "input_text", "text": "Hello"}]])
@pytest.mark.parametrize("kind", [{}, {"type": "message"}])
def test_message_item_is_read_in_each_form(content: Any, kind: dict[str, str]) -> None:
    item = {**kind, "role": "user", "content": content}
    assert read_messages(input=[item]) == [("user", "Hello")]


@pytest.mark.parametrize("role", ["system", "developer"])
def test_developer_role_means_system(role: str) -> None:
    assert read_messages(input=[{"role": role, "content": "x"}]) == [("system", "x")]


def test_parts_without_text_become_opaque_parts() -> None:
    content = [
        {"type": "input_text", "text": "See"},
        {"type": "input_image", "image_url": "data:"},
        {"type": "input_file", "file_id": "f"},
    ]
    (message,) = parse(input=[{"role": "user", "content": content}]).messages
    assert message.parts == (TextPart("See"), OpaquePart("input_image"), OpaquePart("input_file"))


def test_consecutive_output_items_are_one_message() -> None:
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


def test_result_between_calls_separates_the_turns() -> None:
    assert parse(input=[USER, CALL_1, RESULT_1, CALL_1, RESULT_1]).turn == 3


def test_short_assistant_messages_are_joined() -> None:
    items = [{"role": "assistant", "content": "Hi"}, {"role": "assistant", "content": "there"}]
    assert read_messages(input=items) == [("assistant", "Hi\nthere")]


def test_refusal_is_read() -> None:
    content = [{"type": "refusal", "refusal": "No."}]
    (message,) = parse(input=[{"role": "assistant", "content": content}]).messages
    assert message.parts == (RefusalPart("No."),)


def test_reasoning_is_read_from_the_summary_or_the_content() -> None:
    content = [{"type": "reasoning_text", "text": "long"}]
    items = [{"type": "reasoning", "id": "r", "summary": [], "content": content}]
    (message,) = parse(input=items).messages
    assert message.parts == (ReasoningPart("long"),)
    (message,) = parse(input=[{**REASONING, "content": content}]).messages
    assert message.parts == (ReasoningPart("a\nb", signature="sealed"),)


def test_custom_tool_calls_and_results_are_read() -> None:
    items = [
        {"type": "custom_tool_call", "call_id": "c", "name": "sql", "input": "select 1"},
        {"type": "custom_tool_call_output", "call_id": "c", "output": "1"},
    ]
    request = parse(input=items)
    assert request.tool_calls == (ToolCallPart("c", "sql", "select 1", custom=True),)
    assert request.tool_results == (ToolResultPart("c", "sql", "1"),)


def test_result_of_parts_without_a_call_id_is_read() -> None:
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


def test_compaction_items_are_ignored() -> None:
    items = [{"type": "compaction_trigger"}, USER, {"type": "compaction", "encrypted_content": "x"}]
    assert read_messages(input=items) == [("user", "Hello")]


def test_ignored_items_do_not_separate_a_turn() -> None:
    assert parse(input=[REASONING, {"type": "compaction_trigger"}, ANSWER]).turn == 2


def test_tools_of_every_type_are_read() -> None:
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


def test_additional_tools_item_adds_tools() -> None:
    tools_item = {
        "type": "additional_tools",
        "role": "developer",
        "tools": [{"type": "web_search"}],
    }
    request = parse(input=[USER, tools_item], tools=[{"type": "function", "name": "f"}])
    assert [tool.name for tool in request.tools] == ["f", "web_search"]


@pytest.mark.parametrize(
    ("body", "param"),
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
def test_invalid_value_is_rejected_with_its_path(body: dict[str, Any], param: str) -> None:
    error = catch_error(**body)
    assert (error.status, error.param) == (400, param)
