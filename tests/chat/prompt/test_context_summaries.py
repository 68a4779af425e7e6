"""The request for a summary: its transcript and how it is shortened."""

from dataclasses import dataclass

import pytest

from chat_app.prompt.length import estimate_tokens
from chat_app.prompt.messages import PromptMessage
from chat_app.prompt.summaries import INSTRUCTIONS, SummaryTask, build_transcript, summary_request
from chat_app.values.events import ToolCall
from chat_app.values.model_call import (
    AssistantTurn,
    TextPart,
    ThinkingPart,
    ToolOutput,
    ToolResults,
    UserTurn,
)
from tests.chat.message_builders import answer, answer_with_tool, user

AMPLE_TOKENS = 100_000
INSTRUCTION_TOKENS = estimate_tokens([INSTRUCTIONS])


@dataclass(frozen=True)
class Profile:
    model_id: str = "gpt-4o"
    system_prompt: str = "be kind"
    temperature: float | None = 0.5
    max_tokens: int | None = 300
    enable_thinking: bool = True
    thinking_budget: int | None = 5000


def transcript_of(*messages: PromptMessage, so_far: str = "", tokens: int = AMPLE_TOKENS) -> str:
    return build_transcript(messages, so_far, tokens=tokens)


def test_summary_request_uses_the_profile_without_tools_and_thinking() -> None:
    request = summary_request(Profile(), SummaryTask(6, 7, "User: hello"))
    assert request.model == "gpt-4o"
    assert request.system_prompt == INSTRUCTIONS
    assert request.turns == (UserTurn("User: hello"),)
    assert (request.temperature, request.max_tokens) == (0.5, 300)
    assert (request.thinking_budget, request.tools) == (None, ())


def test_transcript_has_texts_calls_and_results_in_order() -> None:
    failed_call = PromptMessage(
        3,
        (
            AssistantTurn((ThinkingPart("hmm"), TextPart("I look."), ToolCall("b", "stock", "{}"))),
            ToolResults((ToolOutput("b", "stock", "Error: closed", is_error=True),)),
        ),
    )
    assert transcript_of(user(1), answer_with_tool(2), failed_call, so_far="they met") == (
        "Summary of what came before: they met\n\n"
        "User: question 1\n\n"
        'Assistant called weather: {"city":"Paris"}\n\n'
        "weather gave: Sunny\n\n"
        "Assistant: answer 2\n\n"
        "Assistant: I look.\n\n"
        "Assistant called stock: {}\n\n"
        "stock failed: Error: closed"
    )


def test_longest_entries_are_cut_in_the_middle_first() -> None:
    text = transcript_of(
        user(1),
        answer_with_tool(2, result="a" * 5000 + "b" * 5000),
        answer(3),
        tokens=INSTRUCTION_TOKENS + 100,
    )
    assert text.startswith('User: question 1\n\nAssistant called weather: {"city":"Paris"}\n\n')
    assert text.endswith("\n\nAssistant: answer 2\n\nAssistant: answer 3")
    tool_line = text.split("\n\n")[2]
    assert tool_line.startswith("weather gave: aaaa")
    assert tool_line.endswith("bbbb")
    assert tool_line.count("[…]") == 1
    assert estimate_tokens((INSTRUCTIONS, text)) in range(
        INSTRUCTION_TOKENS + 98, INSTRUCTION_TOKENS + 101
    )


def test_transcript_of_exactly_the_limit_is_not_cut() -> None:
    full_transcript = transcript_of(user(1), answer(2))
    tokens = estimate_tokens((INSTRUCTIONS, full_transcript)) + 1
    assert transcript_of(user(1), answer(2), tokens=tokens) == full_transcript


def test_middle_messages_are_left_out_of_a_long_transcript() -> None:
    messages = [user(number, f"{number}: " + "x" * 100) for number in range(100, 200)]
    lines = transcript_of(*messages, so_far="they met", tokens=INSTRUCTION_TOKENS + 200).split(
        "\n\n"
    )
    assert lines[0] == "Summary of what came before: they met"
    assert [line[:9] for line in lines[1:10]] == [f"User: {n}" for n in range(100, 109)]
    assert lines[10] == "[…]"
    assert [line[:9] for line in lines[11:]] == [f"User: {n}" for n in range(191, 200)]
    assert {len(line) for line in (*lines[1:10], *lines[11:])} == {40}


def test_transcript_within_the_limit_is_complete() -> None:
    messages = [user(number, "x") for number in range(100)]
    full_transcript = transcript_of(*messages)
    assert (
        transcript_of(*messages, tokens=INSTRUCTION_TOKENS + estimate_tokens([full_transcript]) + 1)
        == full_transcript
    )


@pytest.mark.parametrize("tokens", [100, 101, 120, 150, 400])
def test_transcript_is_cut_to_the_limit(tokens: int) -> None:
    messages = [user(number, "x" * number) for number in range(300)]
    text = transcript_of(*messages, so_far="s" * 1000, tokens=tokens)
    assert tokens - 10 <= estimate_tokens((INSTRUCTIONS, text)) <= tokens


@pytest.mark.parametrize("tokens", [-1, 0, 1, INSTRUCTION_TOKENS, 99])
def test_transcript_has_a_minimum_length(tokens: int) -> None:
    messages = [user(number, "x" * 1000) for number in range(50)]
    text = transcript_of(*messages, tokens=tokens)
    assert text == transcript_of(*messages, tokens=100) != ""
    assert estimate_tokens((INSTRUCTIONS, text)) in range(95, 101)


def test_transcript_of_no_messages_is_empty() -> None:
    assert transcript_of(tokens=0) == ""


def test_cutting_is_the_same_every_time() -> None:
    messages = [user(1, "abc" * 1000), answer_with_tool(2, "xyz" * 900), answer(3, "é" * 50)]
    assert len({transcript_of(*messages, tokens=INSTRUCTION_TOKENS + 200) for _ in range(5)}) == 1
