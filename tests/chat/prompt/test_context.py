"""The sandwich: when a conversation is shortened, to what, and how long a summary lasts."""

from dataclasses import replace
from typing import Any

import pytest

from chat_app.prompt.context import ContextPlan, Summary
from chat_app.prompt.length import estimate_tokens
from chat_app.prompt.messages import PromptMessage, turns_of
from chat_app.prompt.summaries import INSTRUCTIONS
from chat_app.values.model_call import Tool, UserTurn
from tests.chat.past import looked_up, plan, talk, texts, user

SUMMARY = "[Summary of the messages that came here]\nthey talked"
# Twelve messages of 40 characters are 120 tokens.
TWELVE = talk(12)


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
    done = context_plan.with_summary("they talked")
    assert texts(done.turns) == [
        *(f"message {number}" for number in range(1, 6)),
        SUMMARY,
        *(f"message {number}" for number in range(8, 13)),
    ]
    assert done.turns[5] == UserTurn(SUMMARY)
    assert done.state == Summary("sandwich", "they talked", 6, 7, 7)
    assert done.task is None


@pytest.mark.parametrize(("limit", "shortened"), [(172, False), (171, True)])
def test_it_is_shortened_above_seventy_percent_of_the_limit(limit: int, shortened: bool) -> None:
    context_plan = plan(TWELVE, limit=limit)
    assert context_plan.inputs.estimate_tokens(context_plan.turns) == 120
    assert (context_plan.task is not None) is shortened


def test_exactly_seventy_percent_is_not_above() -> None:
    done = plan(talk(14, size=20), limit=100)
    assert done.inputs.estimate_tokens(done.turns) == 70
    assert plan(talk(14, size=20), limit=100).task is None


@pytest.mark.parametrize("count", range(2, 11))
def test_it_is_shortened_however_few_messages_there_are(count: int) -> None:
    messages = talk(count, size=3_200)
    context_plan = plan(messages, limit=1_000 * count)
    assert context_plan.task is not None
    done = with_summary(context_plan)
    assert done.inputs.estimate_tokens(done.turns) <= 500 * count
    assert done.turns[-1] == turns_of(messages)[-1]
    assert texts(done.turns).count(SUMMARY) == 1


def test_of_one_message_there_is_nothing_to_summarise() -> None:
    context_plan = plan(talk(1, size=4_000), limit=1_000)
    assert (len(context_plan.turns), context_plan.state, context_plan.task) == (1, None, None)
    assert plan([], limit=1).turns == ()


def test_the_request_for_a_summary_takes_no_more_of_the_limit_than_that() -> None:
    context_plan = plan(talk(20, size=1000), limit=1000)
    assert context_plan.task is not None
    assert estimate_tokens((INSTRUCTIONS, context_plan.task.transcript)) in range(680, 701)


def test_until_the_summary_is_made_all_of_it_can_be_sent() -> None:
    context_plan = plan(TWELVE)
    assert context_plan.turns == turns_of(TWELVE)
    assert context_plan.state is None


def test_a_users_message_that_is_too_long_by_itself_is_sent_all_the_same() -> None:
    messages = [*TWELVE, user(13, "x" * 4_000)]
    done = with_summary(plan(messages, limit=900))
    assert done.turns == turns_of(messages[-1:])
    assert done.inputs.estimate_tokens(done.turns) == 1_000


def test_the_ends_shrink_to_the_last_message_and_the_summary_with_them() -> None:
    messages = [*talk(11, size=400), user(12, "x" * 3_000)]
    done = with_summary(plan(messages, limit=1_000), "they talked " * 100)
    assert done.turns[-1] == UserTurn("x" * 3_000)
    [summary] = done.turns[:-1]
    assert isinstance(summary, UserTurn)
    assert summary.text.startswith(SUMMARY) and "[…]" in summary.text
    assert done.inputs.estimate_tokens(done.turns) in range(840, 851)
    # The stored summary is complete, because another model may use more of it.
    assert summary_of(done).summary == ("they talked " * 100).strip()


def test_the_first_message_goes_before_the_last_but_one() -> None:
    done = with_summary(plan([user(1), *talk(8, first=2, size=400), user(10)], limit=300))
    assert done.turns[0] == UserTurn("question 1")
    assert texts(done.turns)[1] == SUMMARY
    assert done.turns[2:] == (*turns_of(talk(8, first=2, size=400))[-1:], UserTurn("question 10"))


def test_a_middle_that_a_summary_would_not_shorten_is_sent() -> None:
    messages = [user(1, "x"), user(2, "y"), user(3, "z" * 300)]
    context_plan = plan(messages, limit=100)
    assert (context_plan.turns, context_plan.task) == (turns_of(messages), None)


@pytest.mark.parametrize("text", ["", " \n"])
def test_without_a_summary_all_of_it_is_sent(text: str) -> None:
    done = plan(TWELVE).with_summary(text)
    assert (done.turns, done.state, done.task) == (turns_of(TWELVE), None, None)


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


def test_everything_that_is_sent_counts() -> None:
    tool = Tool("f" * 4, "d" * 8, {"type": "object"})
    context_plan = plan([looked_up(1, result="r" * 400)], system_prompt="s" * 40, tools=[tool])
    call = len("weather" + '{"city":"Paris"}' + "answer 1")
    assert context_plan.inputs.estimate_tokens(context_plan.turns) == -(
        -(40 + 4 + 8 + len('{"type":"object"}') + 400 + call) // 4
    )


def test_a_kept_summary_is_used_again() -> None:
    state = summary_of(with_summary(plan(TWELVE)))
    again = plan(TWELVE, state=state)
    assert again == with_summary(plan(TWELVE))


def test_newer_messages_follow_a_summary_while_they_fit() -> None:
    state = summary_of(with_summary(plan(TWELVE, limit=171)))
    context_plan = plan(talk(14), limit=190, state=state)
    assert texts(context_plan.turns) == [
        *(f"message {number}" for number in range(1, 6)),
        SUMMARY,
        *(f"message {number}" for number in range(8, 15)),
    ]
    assert (context_plan.state, context_plan.task) == (state, None)


def test_a_summary_is_extended_once_they_do_not_fit() -> None:
    state = summary_of(with_summary(plan(TWELVE)))
    context_plan = plan(talk(14), state=state)
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
    assert SUMMARY in texts(context_plan.turns)
    assert context_plan.state == state

    done = with_summary(context_plan, "more talk")
    assert done.state == Summary("sandwich", "more talk", 6, 9, 9)
    assert len(done.turns) == 11


def test_a_failed_extension_leaves_the_older_summary() -> None:
    state = summary_of(with_summary(plan(TWELVE)))
    done = plan(talk(14), state=state).with_summary("")
    assert done.state == state
    assert len(done.turns) == 13


def test_a_summary_is_kept_while_it_is_not_needed() -> None:
    state = summary_of(with_summary(plan(TWELVE)))
    context_plan = plan(TWELVE, limit=1000, state=state)
    assert context_plan.turns == turns_of(TWELVE)
    assert context_plan.state == state


@pytest.mark.parametrize(
    "messages",
    [
        pytest.param(talk(7), id="the range has come to its end"),
        pytest.param(talk(6) + talk(7, first=8), id="one was deleted within the range"),
        pytest.param(talk(3) + talk(10, first=5), id="one was deleted before the range"),
        pytest.param(talk(5), id="most were deleted"),
        pytest.param([], id="all were deleted"),
    ],
)
def test_a_summary_whose_range_fits_no_longer_is_gone(messages: list[PromptMessage]) -> None:
    state = summary_of(with_summary(plan(TWELVE)))
    context_plan = plan(messages, state=state)
    assert context_plan.state is None
    assert SUMMARY not in texts(context_plan.turns)


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
def test_a_summary_of_something_else_is_gone(changes: dict[str, Any]) -> None:
    state = replace(summary_of(with_summary(plan(TWELVE))), **changes)
    context_plan = plan(TWELVE, state=state)
    assert context_plan.state is None
    assert context_plan.task is not None


def test_another_strategy_drops_the_summary() -> None:
    state = summary_of(with_summary(plan(TWELVE)))
    assert plan(TWELVE, state=state, strategy="full").state is None


def test_messages_are_known_by_their_numbers_not_their_places() -> None:
    gaps = [*talk(4), user(7), *talk(7, first=9)]
    done = with_summary(plan(gaps, limit=155))
    assert summary_of(done) == Summary("sandwich", "they talked", 9, 10, 7)
    assert plan(gaps, limit=155, state=done.state) == done


def test_messages_before_an_older_summary_are_told_before_it() -> None:
    """A longer message came: the ends that were sent until now are too long for it."""
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
    done = with_summary(context_plan, "all of it")
    assert summary_of(done) == Summary("sandwich", "all of it", 1, 12, 12)
    assert plan(messages, limit=400, state=done.state) == done


def test_beyond_the_limit_the_middle_is_left_out_until_there_is_a_summary() -> None:
    messages = talk(12, size=400)
    context_plan = plan(messages, limit=1_000)
    assert context_plan.task is not None
    assert "[The messages that came here are left out]" in texts(context_plan.turns)
    assert context_plan.inputs.estimate_tokens(context_plan.turns) <= 500
    failed = context_plan.with_summary("")
    assert (failed.turns, failed.state, failed.task) == (context_plan.turns, None, None)


def test_an_older_summary_is_said_where_newer_messages_are_left_out() -> None:
    state = summary_of(with_summary(plan(talk(12, size=400), limit=1_000)))
    context_plan = plan(talk(40, size=400), limit=1_000, state=state)
    assert f"{SUMMARY}\n\n[The messages that came here are left out]" in texts(context_plan.turns)
    assert context_plan.state == state


def test_a_call_stays_with_its_result() -> None:
    messages = [looked_up(number) if number % 2 == 0 else user(number) for number in range(1, 14)]
    done = with_summary(plan(messages, limit=100))
    assert texts(done.turns).count("AssistantTurn") == texts(done.turns).count("ToolResults") == 4
    assert done.turns == (
        *turns_of(messages[:5]),
        UserTurn(SUMMARY),
        *turns_of(messages[8:]),
    )
