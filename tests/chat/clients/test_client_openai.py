"""Chunks of OpenAI and of servers with a compatible API."""

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


def test_done_without_finish_reason_is_unreadable(receive: Any) -> None:
    received = receive(chunk(content="Hi"), DONE)
    assert (received.text, received.failure) == ("Hi", UNREADABLE)


def test_stream_without_choices_is_unreadable(receive: Any) -> None:
    assert receive(DONE).failure == UNREADABLE
    assert receive().failure == UNREADABLE
    assert receive({"choices": []}, DONE).failure == UNREADABLE


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
def test_thinking_by_either_name_is_received_once(receive: Any, delta: dict[str, Any]) -> None:
    received = receive(chunk(**delta), chunk(content="Hi"), STOP)
    assert received.events[:2] == [ThinkingPart("Hm."), TextPart("Hi")]


def test_call_starts_once_and_its_arguments_follow(receive: Any) -> None:
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


def test_interleaved_calls_are_separated(receive: Any) -> None:
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
    chunks = [call(0, None, name="look", arguments="{}"), call(1, "", name="hear"), CALLED]
    ids = list(receive(*chunks).calls)
    assert ids == ["call_1_0", "call_1_1"]
    assert list(receive(*chunks).calls) == ids


@pytest.mark.parametrize("index", [0, None])
def test_calls_that_are_all_numbered_alike_differ_by_id(receive: Any, index: int | None) -> None:
    received = receive(
        call(index, "call_a", name="look", arguments="{}"),
        call(index, "call_b", name="look", arguments="{}"),
        CALLED,
    )
    assert received.calls == {"call_a": ("look", "{}"), "call_b": ("look", "{}")}


def test_call_without_a_name_is_unreadable(receive: Any) -> None:
    assert receive(call(0, "call_a", arguments="{}"), CALLED).failure == UNREADABLE


def test_text_of_later_choices_follows_earlier_ones(receive: Any) -> None:
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


def test_call_indexes_are_per_choice(receive: Any) -> None:
    first, second = call(0, "call_a", name="look"), call(0, "call_b", name="hear")
    second["choices"][0]["index"] = 1
    received = receive(first, CALLED, second, chunk(1, finish="stop"))
    assert list(received.calls) == ["call_a", "call_b"]
    assert received.finished.reason == "tool_calls"


def test_unfinished_choice_is_unreadable(receive: Any) -> None:
    received = receive(STOP, chunk(1, content="more"), DONE)
    assert received.failure == UNREADABLE


def test_choices_may_be_numbered_with_gaps(receive: Any) -> None:
    received = receive(chunk(3, content="b"), chunk(3, finish="stop"), chunk(0, content="a"), STOP)
    assert received.text == "ab"


@pytest.mark.parametrize("harmless", [{}, {"choices": None}, {"id": 1, "object": "other"}])
def test_empty_chunk_is_ignored(receive: Any, harmless: Any) -> None:
    assert receive(harmless, chunk(content="Hi"), STOP).text == "Hi"
