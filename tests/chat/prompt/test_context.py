"""The sandwich strategy: when and how a conversation is shortened, and reuse of its summary."""

from dataclasses import replace
from typing import Any

import pytest

from chat_app.prompt.context import ContextPlan, Summary
from chat_app.prompt.length import estimate_tokens
from chat_app.prompt.messages import PromptMessage, turns_of
from chat_app.prompt.summaries import INSTRUCTIONS
from chat_app.values.model_call import Tool, UserTurn
from tests.chat.message_builders import (
    alternating_messages,
    answer_with_tool,
    plan,
    turn_labels,
    user,
)

SUMMARY = "[Summary of the messages that came here]\nthey talked"
# Twelve messages of 40 characters are 120 tokens.
TWELVE = alternating_messages(12)


def with_summary(context_plan: ContextPlan, text: str = "they talked") -> ContextPlan:
    assert context_plan.task is not None
    return context_plan.with_summary(text)


def summary_of(context_plan: ContextPlan) -> Summary:
    assert context_plan.state is not None
    return context_plan.state


def test_ch_t7_a_long_conversation_is_its_ends_and_a_summary() -> None:
    context_plan = plan(TWELVE)
    assert context_plan.task is not None
    assert (context_plan.task.first, context_plan.task.last) == (6, 7)
    assert context_plan.task.transcript.startswith("Assistant: message 6 ")
    final_plan = context_plan.with_summary("they talked")
    assert turn_labels(final_plan.turns) == [
        *(f"message {number}" for number in range(1, 6)),
        SUMMARY,
        *(f"message {number}" for number in range(8, 13)),
    ]
    assert final_plan.turns[5] == UserTurn(SUMMARY)
    assert final_plan.state == Summary("sandwich", "they talked", 6, 7, 7)
    assert final_plan.task is None


@pytest.mark.parametrize(("limit", "shortened"), [(172, False), (171, True)])
def test_conversation_is_shortened_above_seventy_percent_of_the_limit(
    limit: int, shortened: bool
) -> None:
    context_plan = plan(TWELVE, limit=limit)
    assert context_plan.inputs.estimate_tokens(context_plan.turns) == 120
    assert (context_plan.task is not None) is shortened


def test_exactly_seventy_percent_is_not_above() -> None:
    final_plan = plan(alternating_messages(14, size=20), limit=100)
    assert final_plan.inputs.estimate_tokens(final_plan.turns) == 70
    assert plan(alternating_messages(14, size=20), limit=100).task is None


@pytest.mark.parametrize("count", range(2, 11))
def test_conversation_is_shortened_even_with_few_messages(count: int) -> None:
    messages = alternating_messages(count, size=3_200)
    context_plan = plan(messages, limit=1_000 * count)
    assert context_plan.task is not None
    final_plan = with_summary(context_plan)
    assert final_plan.inputs.estimate_tokens(final_plan.turns) <= 500 * count
    assert final_plan.turns[-1] == turns_of(messages)[-1]
    assert turn_labels(final_plan.turns).count(SUMMARY) == 1


def test_single_message_is_not_summarised() -> None:
    context_plan = plan(alternating_messages(1, size=4_000), limit=1_000)
    assert (len(context_plan.turns), context_plan.state, context_plan.task) == (1, None, None)
    assert plan([], limit=1).turns == ()


def test_summary_request_is_within_seventy_percent_of_the_limit() -> None:
    context_plan = plan(alternating_messages(20, size=1000), limit=1000)
    assert context_plan.task is not None
    assert estimate_tokens((INSTRUCTIONS, context_plan.task.transcript)) in range(680, 701)


def test_everything_is_sent_before_the_summary_exists() -> None:
    context_plan = plan(TWELVE)
    assert context_plan.turns == turns_of(TWELVE)
    assert context_plan.state is None


def test_message_longer_than_the_limit_is_sent() -> None:
    messages = [*TWELVE, user(13, "x" * 4_000)]
    final_plan = with_summary(plan(messages, limit=900))
    assert final_plan.turns == turns_of(messages[-1:])
    assert final_plan.inputs.estimate_tokens(final_plan.turns) == 1_000


def test_the_ends_shrink_to_the_last_message_and_the_summary_with_them() -> None:
    messages = [*alternating_messages(11, size=400), user(12, "x" * 3_000)]
    final_plan = with_summary(plan(messages, limit=1_000), "they talked " * 100)
    assert final_plan.turns[-1] == UserTurn("x" * 3_000)
    [summary] = final_plan.turns[:-1]
    assert isinstance(summary, UserTurn)
    assert summary.text.startswith(SUMMARY) and "[…]" in summary.text
    assert final_plan.inputs.estimate_tokens(final_plan.turns) in range(840, 851)
    # The stored summary is complete, because another model may use more of it.
    assert summary_of(final_plan).summary == ("they talked " * 100).strip()


def test_first_message_is_kept_before_the_last_but_one() -> None:
    final_plan = with_summary(
        plan([user(1), *alternating_messages(8, first=2, size=400), user(10)], limit=300)
    )
    assert final_plan.turns[0] == UserTurn("question 1")
    assert turn_labels(final_plan.turns)[1] == SUMMARY
    assert final_plan.turns[2:] == (
        *turns_of(alternating_messages(8, first=2, size=400))[-1:],
        UserTurn("question 10"),
    )


def test_middle_shorter_than_a_summary_is_sent() -> None:
    messages = [user(1, "x"), user(2, "y"), user(3, "z" * 300)]
    context_plan = plan(messages, limit=100)
    assert (context_plan.turns, context_plan.task) == (turns_of(messages), None)


@pytest.mark.parametrize("text", ["", " \n"])
def test_everything_is_sent_if_the_summary_is_empty(text: str) -> None:
    final_plan = plan(TWELVE).with_summary(text)
    assert (final_plan.turns, final_plan.state, final_plan.task) == (turns_of(TWELVE), None, None)


def test_unrequested_summary_changes_nothing() -> None:
    context_plan = plan(TWELVE, limit=1000)
    assert context_plan.with_summary("they talked") == context_plan


def test_the_strategy_full_sends_everything() -> None:
    context_plan = plan(TWELVE, strategy="full", limit=1)
    assert (context_plan.turns, context_plan.state, context_plan.task) == (
        turns_of(TWELVE),
        None,
        None,
    )


def test_estimate_counts_everything_that_is_sent() -> None:
    tool = Tool("f" * 4, "d" * 8, {"type": "object"})
    context_plan = plan(
        [answer_with_tool(1, result="r" * 400)], system_prompt="s" * 40, tools=[tool]
    )
    call = len("weather" + '{"city":"Paris"}' + "answer 1")
    assert context_plan.inputs.estimate_tokens(context_plan.turns) == -(
        -(40 + 4 + 8 + len('{"type":"object"}') + 400 + call) // 4
    )


def test_stored_summary_is_reused() -> None:
    state = summary_of(with_summary(plan(TWELVE)))
    next_plan = plan(TWELVE, state=state)
    assert next_plan == with_summary(plan(TWELVE))


def test_newer_messages_follow_a_summary_while_they_fit() -> None:
    state = summary_of(with_summary(plan(TWELVE, limit=171)))
    context_plan = plan(alternating_messages(14), limit=190, state=state)
    assert turn_labels(context_plan.turns) == [
        *(f"message {number}" for number in range(1, 6)),
        SUMMARY,
        *(f"message {number}" for number in range(8, 15)),
    ]
    assert (context_plan.state, context_plan.task) == (state, None)


def test_summary_is_extended_when_newer_messages_do_not_fit() -> None:
    state = summary_of(with_summary(plan(TWELVE)))
    context_plan = plan(alternating_messages(14), state=state)
    assert context_plan.task is not None
    assert (context_plan.task.first, context_plan.task.last) == (6, 9)
    assert context_plan.task.transcript.startswith("Summary of what came before: they talked\n\n")
    assert [
        number for number in range(1, 15) if f"message {number} " in context_plan.task.transcript
    ] == [
        8,
        9,
    ]
    # Without a new summary, the older one is used.
    assert SUMMARY in turn_labels(context_plan.turns)
    assert context_plan.state == state

    final_plan = with_summary(context_plan, "more talk")
    assert final_plan.state == Summary("sandwich", "more talk", 6, 9, 9)
    assert len(final_plan.turns) == 11


def test_a_failed_extension_leaves_the_older_summary() -> None:
    state = summary_of(with_summary(plan(TWELVE)))
    final_plan = plan(alternating_messages(14), state=state).with_summary("")
    assert final_plan.state == state
    assert len(final_plan.turns) == 13


def test_unneeded_summary_is_kept() -> None:
    state = summary_of(with_summary(plan(TWELVE)))
    context_plan = plan(TWELVE, limit=1000, state=state)
    assert context_plan.turns == turns_of(TWELVE)
    assert context_plan.state == state


@pytest.mark.parametrize(
    "messages",
    [
        pytest.param(alternating_messages(7), id="the range has come to its end"),
        pytest.param(
            alternating_messages(6) + alternating_messages(7, first=8),
            id="one was deleted within the range",
        ),
        pytest.param(
            alternating_messages(3) + alternating_messages(10, first=5),
            id="one was deleted before the range",
        ),
        pytest.param(alternating_messages(5), id="most were deleted"),
        pytest.param([], id="all were deleted"),
    ],
)
def test_summary_with_an_outdated_range_is_dropped(messages: list[PromptMessage]) -> None:
    state = summary_of(with_summary(plan(TWELVE)))
    context_plan = plan(messages, state=state)
    assert context_plan.state is None
    assert SUMMARY not in turn_labels(context_plan.turns)


@pytest.mark.parametrize(
    "changes",
    [
        {"first": 70},
        {"first": 8},
        {"last": 8},
        {"last": 70},
        {"message_count": 8},
        {"message_count": 6},
        {"message_count": 0},
        {"message_count": 12, "last": 12},
        {"strategy": "other"},
    ],
)
def test_inconsistent_summary_is_dropped(changes: dict[str, Any]) -> None:
    state = replace(summary_of(with_summary(plan(TWELVE))), **changes)
    context_plan = plan(TWELVE, state=state)
    assert context_plan.state is None
    assert context_plan.task is not None


def test_another_strategy_drops_the_summary() -> None:
    state = summary_of(with_summary(plan(TWELVE)))
    assert plan(TWELVE, state=state, strategy="full").state is None


def test_summary_range_uses_message_numbers() -> None:
    gaps = [*alternating_messages(4), user(7), *alternating_messages(7, first=9)]
    final_plan = with_summary(plan(gaps, limit=155))
    assert summary_of(final_plan) == Summary("sandwich", "they talked", 9, 10, 7)
    assert plan(gaps, limit=155, state=final_plan.state) == final_plan


def test_transcript_puts_earlier_messages_before_the_summary() -> None:
    """A long message arrives, so the ends sent until now no longer fit."""
    state = summary_of(with_summary(plan(TWELVE)))
    messages = [*TWELVE, user(13, "x" * 700)]
    context_plan = plan(messages, limit=400, state=state)
    assert context_plan.task is not None
    utterances = context_plan.task.transcript.split("\n\n")
    assert (context_plan.task.first, context_plan.task.last) == (1, 12)
    assert [
        line.split(" ")[2] for line in utterances if line.startswith(("User", "Assistant"))
    ] == [
        *map(str, range(1, 6)),
        *map(str, range(8, 13)),
    ]
    assert utterances[5] == "Summary of what followed: they talked"
    final_plan = with_summary(context_plan, "all of it")
    assert summary_of(final_plan) == Summary("sandwich", "all of it", 1, 12, 12)
    assert plan(messages, limit=400, state=final_plan.state) == final_plan


def test_beyond_the_limit_the_middle_is_left_out_until_there_is_a_summary() -> None:
    messages = alternating_messages(12, size=400)
    context_plan = plan(messages, limit=1_000)
    assert context_plan.task is not None
    assert "[The messages that came here are left out]" in turn_labels(context_plan.turns)
    assert context_plan.inputs.estimate_tokens(context_plan.turns) <= 500
    plan_without_summary = context_plan.with_summary("")
    assert (plan_without_summary.turns, plan_without_summary.state, plan_without_summary.task) == (
        context_plan.turns,
        None,
        None,
    )


def test_older_summary_is_sent_where_newer_messages_are_left_out() -> None:
    state = summary_of(with_summary(plan(alternating_messages(12, size=400), limit=1_000)))
    context_plan = plan(alternating_messages(40, size=400), limit=1_000, state=state)
    assert f"{SUMMARY}\n\n[The messages that came here are left out]" in turn_labels(
        context_plan.turns
    )
    assert context_plan.state == state


def test_a_call_stays_with_its_result() -> None:
    messages = [
        answer_with_tool(number) if number % 2 == 0 else user(number) for number in range(1, 14)
    ]
    final_plan = with_summary(plan(messages, limit=100))
    assert (
        turn_labels(final_plan.turns).count("AssistantTurn")
        == turn_labels(final_plan.turns).count("ToolResults")
        == 4
    )
    assert final_plan.turns == (
        *turns_of(messages[:5]),
        UserTurn(SUMMARY),
        *turns_of(messages[8:]),
    )
