"""Parsing of the messages of an OpenAI chat request."""

from typing import Any

import pytest

from scenarios_app.engine.canonical import Message
from scenarios_app.engine.parts import (
    OpaquePart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from scenarios_app.wire.errors import WireError
from tests.wire.openai.openai_cases import HELLO, catch_error, parse, parse_body

CALL = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
CUSTOM = {"id": "call_2", "type": "custom", "custom": {"name": "shell", "input": "ls -l"}}


def assistant(**fields: Any) -> dict[str, Any]:
    return {"role": "assistant", **fields}


@pytest.mark.parametrize(
    ("role", "canonical"), [("system", "system"), ("developer", "system"), ("user", "user")]
)
def test_text_message_has_its_canonical_role(role: str, canonical: str) -> None:
    (message,) = parse({"role": role, "content": "Hi"}).messages
    assert message == Message(canonical, (TextPart("Hi"),))


def test_content_may_be_parts() -> None:
    parts = [
        {"type": "text", "text": "Look:"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
        {"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}},
        {"type": "file", "file": {"file_id": "file-1"}},
        {"type": "something_new", "payload": 1},
        {"type": "text", "text": "well?"},
    ]
    request = parse({"role": "user", "content": parts})
    assert request.messages[0].parts == (
        TextPart("Look:"),
        OpaquePart("image_url"),
        OpaquePart("input_audio"),
        OpaquePart("file"),
        OpaquePart("something_new"),
        TextPart("well?"),
    )
    assert request.last_user_text == "Look:\nwell?"


def test_parts_of_an_assistant_message_keep_their_order() -> None:
    message = assistant(
        tool_calls=[CALL, CUSTOM],
        audio={"id": "audio_1"},
        refusal="I won't.",
        content=[{"type": "text", "text": "Well"}, {"type": "refusal", "refusal": "no"}],
        reasoning="Hm.",
        reasoning_content="Hm.",
    )
    assert parse(HELLO, message).messages[1].parts == (
        ReasoningPart("Hm."),
        TextPart("Well"),
        RefusalPart("no"),
        RefusalPart("I won't."),
        OpaquePart("audio"),
        ToolCallPart("call_1", "f", '{"a":1}'),
        ToolCallPart("call_2", "shell", "ls -l", custom=True),
    )


@pytest.mark.parametrize("name", ["reasoning", "reasoning_content"])
def test_reasoning_is_read_from_either_field(name: str) -> None:
    (_, message) = parse(HELLO, assistant(content="Hi", **{name: "Hm."})).messages
    assert message.parts == (ReasoningPart("Hm."), TextPart("Hi"))


def test_message_dumped_by_the_sdk_with_nulls_is_empty() -> None:
    dumped = assistant(
        content=None,
        refusal=None,
        annotations=[],
        audio=None,
        function_call=None,
        tool_calls=None,
        reasoning=None,
    )
    assert parse(HELLO, dumped).messages[1] == Message("assistant", ())


def test_a_tool_result_gets_the_name_of_its_call() -> None:
    request = parse(
        HELLO,
        assistant(tool_calls=[CALL, CUSTOM]),
        {"role": "tool", "tool_call_id": "call_2", "content": "total 0"},
        {"role": "tool", "tool_call_id": "call_1", "content": "1"},
        {"role": "tool", "tool_call_id": "call_9", "content": "?"},
    )
    assert request.tool_results == (
        ToolResultPart("call_2", "shell", "total 0"),
        ToolResultPart("call_1", "f", "1"),
        ToolResultPart("call_9", "", "?"),
    )
    assert [m.role for m in request.messages[2:]] == ["tool"] * 3


def test_a_tool_result_of_parts_is_their_text() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "x"}}]
    content = [*parts, {"type": "text", "text": "b"}]
    request = parse({"role": "tool", "tool_call_id": "call_1", "content": content})
    assert request.tool_results[0].content == "a\nb"


def test_legacy_results_are_assigned_to_calls_by_name() -> None:
    request = parse(
        HELLO,
        assistant(content=None, function_call={"name": "f", "arguments": "{}"}),
        {"role": "function", "name": "f", "content": "42"},
        {"role": "function", "name": "f", "content": None},
    )
    assert request.tool_calls == (ToolCallPart("f", "f", "{}"),)
    assert request.tool_results == (ToolResultPart("f", "f", "42"), ToolResultPart("f", "f", ""))
    assert request.turn == 2


@pytest.mark.parametrize(
    ("message", "param", "code"),
    [
        ("Hi", "messages[1]", "invalid_type"),
        ({"content": "Hi"}, "messages[1].role", "missing_required_parameter"),
        ({"role": 1, "content": "Hi"}, "messages[1].role", "invalid_type"),
        ({"role": "robot", "content": "Hi"}, "messages[1].role", "invalid_value"),
        ({"role": "user"}, "messages[1].content", "missing_required_parameter"),
        ({"role": "system", "content": None}, "messages[1].content", "missing_required_parameter"),
        ({"role": "user", "content": 5}, "messages[1].content", "invalid_type"),
        ({"role": "user", "content": {}}, "messages[1].content", "invalid_type"),
        ({"role": "user", "content": ["Hi"]}, "messages[1].content[0]", "invalid_type"),
        (
            {"role": "user", "content": [{"text": "Hi"}]},
            "messages[1].content[0].type",
            "missing_required_parameter",
        ),
        (
            {"role": "user", "content": [{"type": "text"}]},
            "messages[1].content[0].text",
            "missing_required_parameter",
        ),
        (
            {"role": "user", "content": [{"type": "image_url"}]},
            "messages[1].content[0].image_url",
            "missing_required_parameter",
        ),
        (
            {"role": "assistant", "content": [{"type": "refusal", "refusal": 1}]},
            "messages[1].content[0].refusal",
            "invalid_type",
        ),
        ({"role": "assistant", "reasoning": {}}, "messages[1].reasoning", "invalid_type"),
        ({"role": "assistant", "refusal": []}, "messages[1].refusal", "invalid_type"),
        ({"role": "assistant", "tool_calls": {}}, "messages[1].tool_calls", "invalid_type"),
        (
            {"role": "assistant", "tool_calls": [{**CALL, "id": None}]},
            "messages[1].tool_calls[0].id",
            "missing_required_parameter",
        ),
        (
            {"role": "assistant", "tool_calls": [CALL, {**CALL, "type": "magic"}]},
            "messages[1].tool_calls[1].type",
            "invalid_value",
        ),
        (
            {"role": "assistant", "tool_calls": [{**CALL, "function": {"name": "f"}}]},
            "messages[1].tool_calls[0].function.arguments",
            "missing_required_parameter",
        ),
        (
            {
                "role": "assistant",
                "tool_calls": [{**CALL, "function": {"name": "f", "arguments": {}}}],
            },
            "messages[1].tool_calls[0].function.arguments",
            "invalid_type",
        ),
        (
            {"role": "assistant", "tool_calls": [{**CUSTOM, "custom": {"name": "f"}}]},
            "messages[1].tool_calls[0].custom.input",
            "missing_required_parameter",
        ),
        (
            {"role": "assistant", "function_call": {"name": "f"}},
            "messages[1].function_call.arguments",
            "missing_required_parameter",
        ),
        (
            {"role": "tool", "content": "x"},
            "messages[1].tool_call_id",
            "missing_required_parameter",
        ),
        (
            {"role": "tool", "tool_call_id": "c"},
            "messages[1].content",
            "missing_required_parameter",
        ),
        ({"role": "function", "content": "x"}, "messages[1].name", "missing_required_parameter"),
    ],
)
def test_invalid_message_is_rejected_with_its_path(message: Any, param: str, code: str) -> None:
    error = catch_error(HELLO, message)
    assert (error.param, error.code) == (param, code)
    assert f"'{param}'" in error.message


def test_error_of_an_unknown_role_lists_the_known_ones() -> None:
    assert catch_error({"role": "robot", "content": ""}).message == (
        "Invalid value for 'messages[0].role': 'robot'. Supported values are "
        "'system', 'developer', 'user', 'assistant', 'tool' and 'function'."
    )


def test_a_conversation_needs_a_message() -> None:
    with pytest.raises(WireError) as raised:
        parse_body({"model": "gpt-4o", "messages": []})
    error = raised.value.answer
    assert (error.status, error.param, error.code) == (400, "messages", "empty_array")
