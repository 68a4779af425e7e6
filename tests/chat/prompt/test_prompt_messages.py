"""Messages of a prompt: complete answers only, one of each comparison."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from chat_app.prompt.messages import (
    PastMessage,
    PromptMessage,
    prompt_messages,
    to_stored_part,
    to_stored_round,
    turns_of,
)
from chat_app.values.events import ToolCall
from chat_app.values.model_call import (
    AssistantPart,
    AssistantTurn,
    TextPart,
    ThinkingPart,
    ToolOutput,
    ToolResults,
    Turn,
    UserTurn,
)

CALL = ToolCall("a", "weather", '{"city": "Paris"}')
OTHER = ToolCall("b", "stock", "{}")
RESULT = ToolOutput("a", "weather", "Sunny")
FAILED_RESULT = ToolOutput("b", "stock", "Error: closed", is_error=True)


def user(number: int) -> PastMessage:
    return PastMessage(number, "user", f"question {number}")


def assistant_message(number: int, *, branch: str = "", status: str = "complete") -> PastMessage:
    text = f"answer {number}"
    rounds = [to_stored_round((TextPart(text),), ())]
    return PastMessage(number, "assistant", text, rounds, status, "openai", branch)


def numbers(past: Sequence[PastMessage], preferences: Mapping[int, str] | None = None) -> list[int]:
    selected = prompt_messages(past, "openai", preferences=preferences or {})
    return [message.number for message in selected]


def turns_of_stored_answer(*rounds: dict[str, Any], provider: str = "openai") -> tuple[Turn, ...]:
    """Store an answer as JSON and return its turns in a prompt."""
    stored_rounds = json.loads(json.dumps(rounds))
    message = PastMessage(2, "assistant", "shown", stored_rounds, "complete", "openai")
    return turns_of(prompt_messages([message], provider, preferences={}))


def test_messages_become_turns_in_order() -> None:
    assert prompt_messages([user(1), assistant_message(2), user(3)], "openai", preferences={}) == (
        PromptMessage(1, (UserTurn("question 1"),)),
        PromptMessage(2, (AssistantTurn((TextPart("answer 2"),)),)),
        PromptMessage(3, (UserTurn("question 3"),)),
    )


@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_a_partial_answer_is_left_out_and_its_question_stays(status: str) -> None:
    past = [user(1), assistant_message(2, status=status), user(3), user(4)]
    assert numbers(past) == [1, 3, 4]
    assert turns_of(prompt_messages(past, "openai", preferences={})) == (
        UserTurn("question 1"),
        UserTurn("question 3"),
        UserTurn("question 4"),
    )


@pytest.mark.parametrize(
    ("preference", "expected_number"), [("a", 2), ("b", 3), ("tie", 2), ("", 2), (None, 2)]
)
@pytest.mark.parametrize("swapped", [False, True])
def test_preferred_answer_of_a_comparison_is_kept(
    preference: str | None, expected_number: int, swapped: bool
) -> None:
    first, second = ("b", "a") if swapped else ("a", "b")
    past = [
        user(1),
        assistant_message(2, branch=first),
        assistant_message(3, branch=second),
        user(4),
    ]
    preferences = {} if preference is None else {1: preference}
    assert numbers(past, preferences) == [1, 5 - expected_number if swapped else expected_number, 4]


@pytest.mark.parametrize("preference", ["a", "b", "tie", ""])
@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_successful_branch_of_a_comparison_is_kept(preference: str, status: str) -> None:
    past = [
        user(1),
        assistant_message(2, branch="a", status=status),
        assistant_message(3, branch="b"),
    ]
    assert numbers(past, {1: preference}) == [1, 3]


def test_failed_comparison_is_left_out() -> None:
    past = [
        user(1),
        assistant_message(2, branch="a", status="failed"),
        assistant_message(3, branch="b", status="failed"),
        user(4),
    ]
    assert numbers(past, {1: "a"}) == [1, 4]


def test_every_comparison_has_its_own_vote() -> None:
    past = [
        *(user(1), assistant_message(2, branch="a"), assistant_message(3, branch="b")),
        *(user(4), assistant_message(5, branch="a"), assistant_message(6, branch="b")),
        *(user(7), assistant_message(8)),
    ]
    assert numbers(past, {1: "b", 4: "a", 7: "b"}) == [1, 3, 4, 5, 7, 8]


def test_rounds_become_turns_with_their_results() -> None:
    assert turns_of_stored_answer(
        to_stored_round(
            (ThinkingPart("hmm", "sig"), TextPart("I look."), CALL, OTHER), (FAILED_RESULT, RESULT)
        ),
        to_stored_round((TextPart("Sunny."),), ()),
    ) == (
        AssistantTurn((ThinkingPart("hmm", "sig"), TextPart("I look."), CALL, OTHER)),
        ToolResults((RESULT, FAILED_RESULT)),
        AssistantTurn((TextPart("Sunny."),)),
    )


def test_thinking_is_sent_to_its_provider_only() -> None:
    parts = (ThinkingPart("hmm", "sig"), ThinkingPart(redacted="c2VjcmV0"), TextPart("Hello"))
    rounds = to_stored_round(parts, ())
    assert turns_of_stored_answer(rounds) == (AssistantTurn(parts),)
    assert turns_of_stored_answer(rounds, provider="anthropic") == (
        AssistantTurn((TextPart("Hello"),)),
    )


def test_answer_without_sendable_parts_is_left_out() -> None:
    assert (
        turns_of_stored_answer(to_stored_round((ThinkingPart("hmm"),), ()), provider="google") == ()
    )
    assert turns_of_stored_answer(to_stored_round((), ())) == ()


def test_a_call_without_a_result_is_left_out() -> None:
    assert turns_of_stored_answer(to_stored_round((CALL, OTHER), (RESULT,))) == (
        AssistantTurn((CALL,)),
        ToolResults((RESULT,)),
    )
    assert turns_of_stored_answer(to_stored_round((TextPart("I look."), CALL), ())) == (
        AssistantTurn((TextPart("I look."),)),
    )
    assert turns_of_stored_answer(to_stored_round((CALL,), ())) == ()


def test_a_result_without_a_call_is_left_out() -> None:
    assert turns_of_stored_answer(to_stored_round((TextPart("Hello"),), (RESULT,))) == (
        AssistantTurn((TextPart("Hello"),)),
    )


def test_an_answer_that_was_stored_without_rounds_is_its_text() -> None:
    past = [PastMessage(1, "assistant", "Hello"), PastMessage(2, "assistant", "")]
    assert prompt_messages(past, "openai", preferences={}) == (
        PromptMessage(1, (AssistantTurn((TextPart("Hello"),)),)),
    )


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (TextPart("Hello"), {"text": "Hello"}),
        (
            ThinkingPart("hmm", "sig", "c2Vj"),
            {"thinking": "hmm", "signature": "sig", "redacted": "c2Vj"},
        ),
        (
            CALL,
            {"tool_call": {"id": "a", "name": "weather", "arguments": '{"city": "Paris"}'}},
        ),
    ],
)
def test_parts_are_stored_as_json(part: AssistantPart, expected: dict[str, Any]) -> None:
    assert to_stored_part(part) == expected
    assert to_stored_round([part], [FAILED_RESULT]) == {
        "parts": [expected],
        "results": [
            {
                "tool_call_id": "b",
                "name": "stock",
                "content": "Error: closed",
                "is_error": True,
            }
        ],
    }
