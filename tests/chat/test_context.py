"""The sandwich: when a conversation is shortened, to what, and how long a summary lasts."""

from dataclasses import replace
from typing import Any

import pytest

from chat_app.context import ContextPlan, Summary
from chat_app.prompt import PromptMessage, turns_of
from chat_app.request import Tool, UserTurn
from chat_app.summaries import INSTRUCTIONS
from chat_app.tokens import estimate
from tests.chat.past import looked_up, plan, talk, texts, user

SUMMARY = "[Summary of the messages that came here]\nthey talked"
# Twelve messages of 40 characters are 120 tokens.
TWELVE = talk(12)


def summarised(found: ContextPlan, text: str = "they talked") -> ContextPlan:
    assert found.task is not None
    return found.summarised(text)


def kept(found: ContextPlan) -> Summary:
    assert found.state is not None
    return found.state


def test_ch_t7_a_long_conversation_is_its_ends_and_a_summary() -> None:
    found = plan(TWELVE)
    assert found.task is not None
    assert (found.task.first, found.task.last) == (6, 7)
    assert found.task.transcript.startswith("Assistant: message 6 ")
    done = found.summarised("they talked")
    assert texts(done.turns) == [
        *(f"message {number}" for number in range(1, 6)),
        SUMMARY,
        *(f"message {number}" for number in range(8, 13)),
    ]
    assert done.turns[5] == UserTurn(SUMMARY)
    assert done.state == Summary("sandwich", "they talked", 6, 7, 12)
    assert done.task is None


@pytest.mark.parametrize(("limit", "shortened"), [(172, False), (171, True)])
def test_it_is_shortened_above_seventy_percent_of_the_limit(limit: int, shortened: bool) -> None:
    found = plan(TWELVE, limit=limit)
    assert found.estimated_tokens == 120
    assert (found.task is not None) is shortened


def test_exactly_seventy_percent_is_not_above() -> None:
    assert plan(talk(14, size=20), limit=100).estimated_tokens == 70
    assert plan(talk(14, size=20), limit=100).task is None


@pytest.mark.parametrize(("count", "shortened"), [(10, False), (11, True)])
def test_it_is_shortened_from_eleven_messages_on(count: int, shortened: bool) -> None:
    assert (plan(talk(count), limit=1).task is not None) is shortened


def test_the_request_for_a_summary_takes_no_more_of_the_limit_than_that() -> None:
    found = plan(talk(20, size=1000), limit=1000)
    assert found.task is not None
    assert estimate((INSTRUCTIONS, found.task.transcript)) in range(680, 701)


def test_until_the_summary_is_made_all_of_it_can_be_sent() -> None:
    found = plan(TWELVE)
    assert found.turns == turns_of(TWELVE)
    assert found.state is None


def test_what_is_still_too_long_is_sent_all_the_same() -> None:
    done = summarised(plan(TWELVE, limit=1))
    assert len(done.turns) == 11
    assert done.estimated_tokens > 1


@pytest.mark.parametrize("text", ["", " \n"])
def test_without_a_summary_all_of_it_is_sent(text: str) -> None:
    done = plan(TWELVE).summarised(text)
    assert (done.turns, done.state, done.task) == (turns_of(TWELVE), None, None)


def test_where_no_summary_is_wanted_none_is_taken() -> None:
    found = plan(TWELVE, limit=1000)
    assert found.summarised("they talked") == found


def test_the_strategy_full_sends_everything() -> None:
    found = plan(TWELVE, strategy="full", limit=1)
    assert (found.turns, found.state, found.task) == (turns_of(TWELVE), None, None)


def test_everything_that_is_sent_counts() -> None:
    tool = Tool("f" * 4, "d" * 8, {"type": "object"})
    found = plan([looked_up(1, result="r" * 400)], system_prompt="s" * 40, tools=[tool])
    call = len("weather" + '{"city":"Paris"}' + "answer 1")
    assert found.estimated_tokens == -(-(40 + 4 + 8 + len('{"type":"object"}') + 400 + call) // 4)


def test_counting_can_be_left_to_others() -> None:
    found = plan(TWELVE, count=lambda texts: len([text for text in texts if text]))
    assert found.estimated_tokens == 12
    assert found.task is None


def test_a_kept_summary_is_used_again() -> None:
    state = kept(summarised(plan(TWELVE)))
    again = plan(TWELVE, state=state)
    assert again == summarised(plan(TWELVE))


def test_newer_messages_follow_a_summary_while_they_fit() -> None:
    state = kept(summarised(plan(TWELVE, limit=171)))
    found = plan(talk(14), limit=190, state=state)
    assert texts(found.turns) == [
        *(f"message {number}" for number in range(1, 6)),
        SUMMARY,
        *(f"message {number}" for number in range(8, 15)),
    ]
    assert (found.state, found.task) == (state, None)


def test_a_summary_is_extended_once_they_do_not_fit() -> None:
    state = kept(summarised(plan(TWELVE)))
    found = plan(talk(14), state=state)
    assert found.task is not None
    assert (found.task.first, found.task.last) == (6, 9)
    assert found.task.transcript.startswith("Summary of what came before: they talked\n\n")
    assert [number for number in range(1, 15) if f"message {number} " in found.task.transcript] == [
        8,
        9,
    ]
    # Without it, the older summary still does.
    assert SUMMARY in texts(found.turns)
    assert found.state == state

    done = summarised(found, "more talk")
    assert done.state == Summary("sandwich", "more talk", 6, 9, 14)
    assert len(done.turns) == 11


def test_a_failed_extension_leaves_the_older_summary() -> None:
    state = kept(summarised(plan(TWELVE)))
    done = plan(talk(14), state=state).summarised("")
    assert done.state == state
    assert len(done.turns) == 13


def test_a_summary_is_kept_while_it_is_not_needed() -> None:
    state = kept(summarised(plan(TWELVE)))
    found = plan(TWELVE, limit=1000, state=state)
    assert found.turns == turns_of(TWELVE)
    assert found.state == state


@pytest.mark.parametrize(
    "messages",
    [
        pytest.param(talk(11), id="one was deleted at the end"),
        pytest.param(talk(6) + talk(7, first=8), id="one was deleted within the range"),
        pytest.param(talk(3) + talk(10, first=5), id="one was deleted before the range"),
        pytest.param(talk(5), id="most were deleted"),
        pytest.param([], id="all were deleted"),
    ],
)
def test_a_summary_whose_range_fits_no_longer_is_gone(messages: list[PromptMessage]) -> None:
    state = kept(summarised(plan(TWELVE)))
    found = plan(messages, state=state)
    assert found.state is None
    assert SUMMARY not in texts(found.turns)


@pytest.mark.parametrize(
    "changes",
    [
        {"first": 5},
        {"last": 8},
        {"message_count": 13},
        {"message_count": 11},
        {"message_count": 10},
        {"message_count": 0},
        {"message_count": 10, "last": 5},
        {"message_count": 3, "last": 10},
        {"strategy": "other"},
    ],
)
def test_a_summary_of_something_else_is_gone(changes: dict[str, Any]) -> None:
    state = replace(kept(summarised(plan(TWELVE))), **changes)
    found = plan(TWELVE, state=state)
    assert found.state is None
    assert found.task is not None


def test_another_strategy_drops_the_summary() -> None:
    state = kept(summarised(plan(TWELVE)))
    assert plan(TWELVE, state=state, strategy="full").state is None


def test_messages_are_known_by_their_numbers_not_their_places() -> None:
    gaps = [*talk(4), user(7), *talk(7, first=9)]
    done = summarised(plan(gaps))
    assert kept(done) == Summary("sandwich", "they talked", 9, 10, 12)
    assert plan(gaps, state=done.state) == done


def test_a_call_stays_with_its_result() -> None:
    messages = [looked_up(number) if number % 2 == 0 else user(number) for number in range(1, 14)]
    done = summarised(plan(messages, limit=1))
    assert texts(done.turns).count("AssistantTurn") == texts(done.turns).count("ToolResults") == 4
    assert done.turns == (
        *turns_of(messages[:5]),
        UserTurn(SUMMARY),
        *turns_of(messages[8:]),
    )
