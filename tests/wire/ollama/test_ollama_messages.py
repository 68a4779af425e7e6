"""Assignment of tool results to calls, with and without ids."""

from typing import Any

import pytest

from scenarios_app.engine.parts import (
    OpaquePart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from tests.wire.ollama.ollama_cases import HELLO, parse


def calls(*names: str, **fields: Any) -> dict[str, Any]:
    tool_calls = [{"function": {"name": name, "arguments": {"n": name}}} for name in names]
    return {"role": "assistant", "content": "", "tool_calls": tool_calls, **fields}


def result(content: str, **fields: Any) -> dict[str, Any]:
    return {"role": "tool", "content": content, **fields}


def results(*messages: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return id, name and text of each result of a parsed request."""
    request = parse(HELLO, *messages)
    return [(r.tool_call_id, r.name, r.content) for r in request.tool_results]


def test_assistant_parts_are_thinking_text_images_and_calls() -> None:
    message = parse(HELLO, calls("f", content="Look.", thinking="Hm.", images=["AA=="])).messages[1]
    assert message.parts == (
        ReasoningPart("Hm."),
        TextPart("Look."),
        OpaquePart("image"),
        ToolCallPart("call_1", "f", '{"n":"f"}'),
    )


@pytest.mark.parametrize("role", ["system", "user", "assistant", "tool", "User", "ASSISTANT"])
def test_roles_are_read_in_any_case(role: str) -> None:
    assert parse({"role": role, "content": "x"}).messages[0].role == role.lower()


def test_content_is_optional() -> None:
    assert parse({"role": "user"}).messages[0].parts == ()
    assert parse({"role": "assistant", "content": None}).messages[0].parts == ()
    assert parse({"role": "tool"}).messages[0].parts == (ToolResultPart("", "", ""),)


def test_arguments_are_optional() -> None:
    message = {"role": "assistant", "tool_calls": [{"function": {"name": "f"}}]}
    assert parse(message).tool_calls == (ToolCallPart("call_1", "f", "{}"),)


def test_calls_are_numbered_through_the_conversation() -> None:
    request = parse(HELLO, calls("f", "g"), result("1"), result("2"), calls("h"))
    assert [call.id for call in request.tool_calls] == ["call_1", "call_2", "call_3"]


def test_results_without_id_or_name_follow_the_order_of_calls() -> None:
    assert results(calls("f", "g"), result("1"), result("2")) == [
        ("call_1", "f", "1"),
        ("call_2", "g", "2"),
    ]


def test_result_is_assigned_by_name_in_any_order() -> None:
    assigned = results(calls("f", "g"), result("2", tool_name="g"), result("1", tool_name="f"))
    assert assigned == [("call_2", "g", "2"), ("call_1", "f", "1")]


def test_results_of_one_tool_are_assigned_in_order() -> None:
    assigned = results(calls("f", "f"), result("1", tool_name="f"), result("2", tool_name="f"))
    assert assigned == [("call_1", "f", "1"), ("call_2", "f", "2")]


def test_results_are_assigned_to_the_last_message_with_calls() -> None:
    assigned = results(calls("f", "f"), result("1"), calls("f"), result("2", tool_name="f"))
    assert assigned == [("call_1", "f", "1"), ("call_3", "f", "2")]
    text_message = {"role": "assistant", "content": "Wait."}
    assert results(calls("f"), text_message, result("1")) == [("call_1", "f", "1")]


def test_id_takes_precedence_over_name() -> None:
    assistant_message = {
        "role": "assistant",
        "tool_calls": [
            {"id": "a", "function": {"name": "f", "arguments": {}}},
            {"id": "b", "type": "function", "function": {"name": "f", "arguments": {}}},
        ],
    }
    assert results(
        assistant_message, result("2", tool_call_id="b"), result("1", tool_call_id="a")
    ) == [
        ("b", "f", "2"),
        ("a", "f", "1"),
    ]
    renamed = results(assistant_message, result("2", tool_call_id="b", tool_name="other"))
    assert renamed == [("b", "other", "2")]


def test_unknown_id_is_assigned_to_a_call_without_one() -> None:
    assigned = results(
        calls("f", "g"),
        result("1", tool_call_id="made-up-1"),
        result("2", tool_call_id="made-up-2", tool_name="g"),
    )
    assert assigned == [("call_1", "f", "1"), ("call_2", "g", "2")]


def test_result_without_a_call_keeps_its_name_and_id() -> None:
    assert results(result("1", tool_name="f")) == [("", "f", "1")]
    assert results(calls("f"), result("1", tool_name="g")) == [("", "g", "1")]
    call_with_id = {
        "role": "assistant",
        "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": {}}}],
    }
    assert results(call_with_id, result("1", tool_call_id="x")) == [("x", "", "1")]
    assert results(calls("f"), result("1"), result("2")) == [("call_1", "f", "1"), ("", "", "2")]
