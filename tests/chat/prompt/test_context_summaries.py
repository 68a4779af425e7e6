"""The request for a summary: what it tells, and how it is cut down."""

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
from tests.chat.past import answer, looked_up, user

ROOMY = 100_000
OWN = estimate_tokens([INSTRUCTIONS])


@dataclass(frozen=True)
class Profile:
    model_id: str = "gpt-4o"
    system_prompt: str = "be kind"
    temperature: float | None = 0.5
    max_tokens: int | None = 300
    enable_thinking: bool = True
    thinking_budget: int | None = 5000


def transcript_of(*messages: PromptMessage, so_far: str = "", tokens: int = ROOMY) -> str:
    return build_transcript(messages, so_far, tokens=tokens)


def test_the_profiles_own_model_is_asked_without_tools_and_thinking() -> None:
    request = summary_request(Profile(), SummaryTask(6, 7, "User: hello"))
    assert request.model == "gpt-4o"
    assert request.system_prompt == INSTRUCTIONS
    assert request.turns == (UserTurn("User: hello"),)
    assert (request.temperature, request.max_tokens) == (0.5, 300)
    assert (request.thinking_budget, request.tools) == (None, ())


def test_everything_said_and_done_is_told_in_order() -> None:
    failed = PromptMessage(
        3,
        (
            AssistantTurn((ThinkingPart("hmm"), TextPart("I look."), ToolCall("b", "stock", "{}"))),
            ToolResults((ToolOutput("b", "stock", "Error: closed", is_error=True),)),
        ),
    )
    assert transcript_of(user(1), looked_up(2), failed, so_far="they met") == (
        "Summary of what came before: they met\n\n"
        "User: question 1\n\n"
        'Assistant called weather: {"city":"Paris"}\n\n'
        "weather gave: Sunny\n\n"
        "Assistant: answer 2\n\n"
        "Assistant: I look.\n\n"
        "Assistant called stock: {}\n\n"
        "stock failed: Error: closed"
    )


def test_the_longest_are_cut_first_and_in_their_middles() -> None:
    text = transcript_of(
        user(1), looked_up(2, result="a" * 5000 + "b" * 5000), answer(3), tokens=OWN + 100
    )
    assert text.startswith('User: question 1\n\nAssistant called weather: {"city":"Paris"}\n\n')
    assert text.endswith("\n\nAssistant: answer 2\n\nAssistant: answer 3")
    gave = text.split("\n\n")[2]
    assert gave.startswith("weather gave: aaaa")
    assert gave.endswith("bbbb")
    assert gave.count("[…]") == 1
    assert estimate_tokens((INSTRUCTIONS, text)) in range(OWN + 98, OWN + 101)


def test_transcript_of_exactly_the_limit_is_not_cut() -> None:
    whole = transcript_of(user(1), answer(2))
    tokens = estimate_tokens((INSTRUCTIONS, whole)) + 1
    assert transcript_of(user(1), answer(2), tokens=tokens) == whole


def test_of_too_many_the_middle_ones_are_left_out() -> None:
    messages = [user(number, f"{number}: " + "x" * 100) for number in range(100, 200)]
    lines = transcript_of(*messages, so_far="they met", tokens=OWN + 200).split("\n\n")
    assert lines[0] == "Summary of what came before: they met"
    assert [line[:9] for line in lines[1:10]] == [f"User: {n}" for n in range(100, 109)]
    assert lines[10] == "[…]"
    assert [line[:9] for line in lines[11:]] == [f"User: {n}" for n in range(191, 200)]
    assert {len(line) for line in (*lines[1:10], *lines[11:])} == {40}


def test_short_ones_are_not_left_out_where_nothing_is_cut() -> None:
    messages = [user(number, "x") for number in range(100)]
    whole = transcript_of(*messages)
    assert transcript_of(*messages, tokens=OWN + estimate_tokens([whole]) + 1) == whole


@pytest.mark.parametrize("tokens", [100, 101, 120, 150, 400])
def test_however_much_there_is_it_is_cut_to_fit(tokens: int) -> None:
    messages = [user(number, "x" * number) for number in range(300)]
    text = transcript_of(*messages, so_far="s" * 1000, tokens=tokens)
    assert tokens - 10 <= estimate_tokens((INSTRUCTIONS, text)) <= tokens


@pytest.mark.parametrize("tokens", [-1, 0, 1, OWN, 99])
def test_a_tiny_limit_leaves_something_to_summarise(tokens: int) -> None:
    messages = [user(number, "x" * 1000) for number in range(50)]
    text = transcript_of(*messages, tokens=tokens)
    assert text == transcript_of(*messages, tokens=100) != ""
    assert estimate_tokens((INSTRUCTIONS, text)) in range(95, 101)


def test_nothing_is_told_as_nothing() -> None:
    assert transcript_of(tokens=0) == ""


def test_cutting_is_the_same_every_time() -> None:
    messages = [user(1, "abc" * 1000), looked_up(2, "xyz" * 900), answer(3, "é" * 50)]
    assert len({transcript_of(*messages, tokens=OWN + 200) for _ in range(5)}) == 1
