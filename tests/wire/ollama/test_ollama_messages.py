"""Which result belongs to which call, where neither need have an id."""

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
    made = [{"function": {"name": name, "arguments": {"n": name}}} for name in names]
    return {"role": "assistant", "content": "", "tool_calls": made, **fields}


def result(content: str, **fields: Any) -> dict[str, Any]:
    return {"role": "tool", "content": content, **fields}


def results(*messages: dict[str, Any]) -> list[tuple[str, str, str]]:
    """The id, the name and the text of each result."""
    request = parse(HELLO, *messages)
    return [(r.tool_call_id, r.name, r.content) for r in request.tool_results]


def test_an_assistant_thinks_then_speaks_then_calls() -> None:
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


def test_a_message_may_come_without_content() -> None:
    assert parse({"role": "user"}).messages[0].parts == ()
    assert parse({"role": "assistant", "content": None}).messages[0].parts == ()
    assert parse({"role": "tool"}).messages[0].parts == (ToolResultPart("", "", ""),)


def test_a_call_may_come_without_arguments() -> None:
    asked = {"role": "assistant", "tool_calls": [{"function": {"name": "f"}}]}
    assert parse(asked).tool_calls == (ToolCallPart("call_1", "f", "{}"),)


def test_calls_are_numbered_through_the_conversation() -> None:
    request = parse(HELLO, calls("f", "g"), result("1"), result("2"), calls("h"))
    assert [call.id for call in request.tool_calls] == ["call_1", "call_2", "call_3"]


def test_results_without_anything_follow_their_calls() -> None:
    assert results(calls("f", "g"), result("1"), result("2")) == [
        ("call_1", "f", "1"),
        ("call_2", "g", "2"),
    ]


def test_a_name_finds_its_call_in_any_order() -> None:
    told = results(calls("f", "g"), result("2", tool_name="g"), result("1", tool_name="f"))
    assert told == [("call_2", "g", "2"), ("call_1", "f", "1")]


def test_of_calls_of_one_tool_the_first_open_one_is_answered() -> None:
    told = results(calls("f", "f"), result("1", tool_name="f"), result("2", tool_name="f"))
    assert told == [("call_1", "f", "1"), ("call_2", "f", "2")]


def test_results_belong_to_the_last_message_that_called() -> None:
    told = results(calls("f", "f"), result("1"), calls("f"), result("2", tool_name="f"))
    assert told == [("call_1", "f", "1"), ("call_3", "f", "2")]
    said = {"role": "assistant", "content": "Wait."}
    assert results(calls("f"), said, result("1")) == [("call_1", "f", "1")]


def test_an_id_goes_before_a_name() -> None:
    made = {
        "role": "assistant",
        "tool_calls": [
            {"id": "a", "function": {"name": "f", "arguments": {}}},
            {"id": "b", "type": "function", "function": {"name": "f", "arguments": {}}},
        ],
    }
    assert results(made, result("2", tool_call_id="b"), result("1", tool_call_id="a")) == [
        ("b", "f", "2"),
        ("a", "f", "1"),
    ]
    renamed = results(made, result("2", tool_call_id="b", tool_name="other"))
    assert renamed == [("b", "other", "2")]


def test_an_id_that_a_client_made_up_finds_a_call_without_one() -> None:
    told = results(
        calls("f", "g"),
        result("1", tool_call_id="made-up-1"),
        result("2", tool_call_id="made-up-2", tool_name="g"),
    )
    assert told == [("call_1", "f", "1"), ("call_2", "g", "2")]


def test_a_result_without_a_call_stays_what_it_says_it_is() -> None:
    assert results(result("1", tool_name="f")) == [("", "f", "1")]
    assert results(calls("f"), result("1", tool_name="g")) == [("", "g", "1")]
    own = {
        "role": "assistant",
        "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": {}}}],
    }
    assert results(own, result("1", tool_call_id="x")) == [("x", "", "1")]
    assert results(calls("f"), result("1"), result("2")) == [("call_1", "f", "1"), ("", "", "2")]
