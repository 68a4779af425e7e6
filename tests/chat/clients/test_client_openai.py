"""OpenAI's chunks as its own servers send them, and as the many that resemble them do."""

from typing import Any

import pytest

from chat_app.values.model_call import (
    CallArguments,
    CallStarted,
    Finished,
    TextPart,
    ThinkingPart,
)
from tests.chat.clients.conftest import UNREADABLE
from tests.chat.clients.openai_chunks import CALLED, DONE, STOP, call, chunk


@pytest.fixture
def provider() -> str:
    return "openai"


@pytest.mark.parametrize("end", [[DONE], []])
def test_a_finish_reason_ends_an_answer_with_and_without_done(receive: Any, end: list[str]) -> None:
    received = receive(chunk(content="Hi"), STOP, *end)
    assert received.events == [TextPart("Hi"), Finished("stop")]


def test_done_alone_ends_nothing(receive: Any) -> None:
    received = receive(chunk(content="Hi"), DONE)
    assert (received.text, received.failed) == ("Hi", UNREADABLE)


def test_nothing_but_done_is_no_answer(receive: Any) -> None:
    assert receive(DONE).failed == UNREADABLE
    assert receive().failed == UNREADABLE
    assert receive({"choices": []}, DONE).failed == UNREADABLE


@pytest.mark.parametrize(
    "usage",
    [
        {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 6, "total_tokens": 11}},
        {"usage": {"prompt_tokens": 5, "completion_tokens": 6, "total_tokens": 11}},
    ],
)
def test_tokens_come_after_the_end_or_never(receive: Any, usage: Any) -> None:
    assert receive(STOP, usage, DONE).finished == Finished("stop", 5, 6)
    assert receive(STOP, DONE).finished == Finished("stop", 0, 0)


@pytest.mark.parametrize(
    "delta",
    [
        {"reasoning": "Hm."},
        {"reasoning_content": "Hm."},
        {"reasoning": "Hm.", "reasoning_content": "Hm."},
        {"reasoning": None, "reasoning_content": "Hm.", "content": None},
    ],
)
def test_thinking_by_either_name_is_thought_once(receive: Any, delta: dict[str, Any]) -> None:
    received = receive(chunk(**delta), chunk(content="Hi"), STOP)
    assert received.events[:2] == [ThinkingPart("Hm."), TextPart("Hi")]


def test_a_call_is_begun_once_and_its_arguments_follow(receive: Any) -> None:
    received = receive(
        call(0, "call_a", name="look", arguments=""),
        call(0, None, arguments='{"a":'),
        call(0, "call_a", name="look", arguments="1}"),
        CALLED,
    )
    assert received.events == [
        CallStarted("call_a", "look"),
        CallArguments("call_a", '{"a":'),
        CallArguments("call_a", "1}"),
        Finished("tool_calls"),
    ]


def test_calls_that_come_in_turns_stay_apart(receive: Any) -> None:
    received = receive(
        call(0, "call_a", name="look", arguments="["),
        call(1, "call_b", name="hear", arguments="{"),
        call(0, None, arguments="]"),
        call(1, None, arguments="}"),
        CALLED,
    )
    assert received.calls == {"call_a": ("look", "[]"), "call_b": ("hear", "{}")}


def test_arguments_wait_for_the_name(receive: Any) -> None:
    received = receive(call(0, "call_a", arguments="{"), call(0, None, name="look"), CALLED)
    assert received.events[:2] == [CallStarted("call_a", "look"), CallArguments("call_a", "{")]


def test_an_id_may_come_after_the_call(receive: Any) -> None:
    received = receive(call(0, None, arguments="{}"), call(0, "call_a", name="look"), CALLED)
    assert received.calls == {"call_a": ("look", "{}")}


def test_a_call_without_an_id_gets_one_that_is_the_same_each_time(receive: Any) -> None:
    said = [call(0, None, name="look", arguments="{}"), call(1, "", name="hear"), CALLED]
    ids = list(receive(*said).calls)
    assert ids == ["call_1_0", "call_1_1"]
    assert list(receive(*said).calls) == ids


@pytest.mark.parametrize("index", [0, None])
def test_calls_that_are_all_numbered_alike_differ_by_id(receive: Any, index: int | None) -> None:
    received = receive(
        call(index, "call_a", name="look", arguments="{}"),
        call(index, "call_b", name="look", arguments="{}"),
        CALLED,
    )
    assert received.calls == {"call_a": ("look", "{}"), "call_b": ("look", "{}")}


def test_a_call_without_a_name_is_none(receive: Any) -> None:
    assert receive(call(0, "call_a", arguments="{}"), CALLED).failed == UNREADABLE


def test_later_choices_wait_for_earlier_ones(receive: Any) -> None:
    received = receive(
        chunk(1, content="three "),
        chunk(0, content="one "),
        chunk(1, content="four"),
        chunk(0, content="two "),
        chunk(1, finish="stop"),
        chunk(0, finish="stop"),
    )
    assert [e.text for e in received.events if isinstance(e, TextPart)] == [
        *("one ", "two ", "three ", "four")
    ]


def test_the_calls_of_each_choice_count_from_their_own_zero(receive: Any) -> None:
    first, second = call(0, "call_a", name="look"), call(0, "call_b", name="hear")
    second["choices"][0]["index"] = 1
    received = receive(first, CALLED, second, chunk(1, finish="stop"))
    assert list(received.calls) == ["call_a", "call_b"]
    assert received.finished.reason == "tool_calls"


def test_a_choice_that_began_has_to_end(receive: Any) -> None:
    received = receive(STOP, chunk(1, content="more"), DONE)
    assert received.failed == UNREADABLE


def test_choices_may_be_numbered_with_gaps(receive: Any) -> None:
    received = receive(chunk(3, content="b"), chunk(3, finish="stop"), chunk(0, content="a"), STOP)
    assert received.text == "ab"


@pytest.mark.parametrize("harmless", [{}, {"choices": None}, {"id": 1, "object": "other"}])
def test_a_chunk_that_says_nothing_is_passed_over(receive: Any, harmless: Any) -> None:
    assert receive(harmless, chunk(content="Hi"), STOP).text == "Hi"
