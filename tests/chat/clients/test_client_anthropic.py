"""Anthropic's events, and those of servers that resemble it."""

from typing import Any

import pytest

from chat_app.values.model_call import (
    CallArguments,
    CallStarted,
    Finished,
    TextPart,
    ThinkingPart,
    Usage,
)
from tests.chat.clients.claude_events import END, START, block, delta, message_end, stop, text
from tests.chat.clients.conftest import UNREADABLE


@pytest.fixture
def provider() -> str:
    return "anthropic"


def test_answer_has_its_text_and_tokens(receive: Any) -> None:
    received = receive(START, *text(0, "Hi"), *message_end())
    assert received.events == [Usage(325, 1), TextPart("Hi"), Finished("stop", 325, 9)]


def test_only_message_stop_ends_an_answer(receive: Any) -> None:
    received = receive(START, *text(0, "Hi"), *message_end()[:-1])
    assert (received.text, received.failure) == ("Hi", UNREADABLE)
    assert receive(END).finished == Finished("", 0, 0)


def test_tokens_of_the_prompt_come_before_the_text_of_a_stream_that_breaks_off(
    receive: Any,
) -> None:
    received = receive(START, *text(0, "Hi"))
    assert received.events == [Usage(325, 1), TextPart("Hi")]
    assert received.failure == UNREADABLE


def test_events_after_message_stop_are_ignored(receive: Any) -> None:
    received = receive(START, *text(0, "Hi"), *message_end(), *text(1, "more"), "{")
    assert (received.text, received.finished.reason) == ("Hi", "stop")


def test_a_signature_closes_its_block(receive: Any) -> None:
    received = receive(
        START,
        block(0, type="thinking", thinking="", signature=""),
        delta(0, type="thinking_delta", thinking="Hm"),
        delta(0, type="thinking_delta", thinking="."),
        delta(0, type="signature_delta", signature="sig-1"),
        stop(0),
        block(1, type="redacted_thinking", data="opaque"),
        stop(1),
        *text(2, "Hi"),
        *message_end(),
    )
    assert received.thinking == [
        ThinkingPart("Hm"),
        ThinkingPart("."),
        ThinkingPart(signature="sig-1"),
        ThinkingPart(redacted="opaque"),
    ]
    assert received.text == "Hi"


def test_thinking_may_have_no_signature(receive: Any) -> None:
    block_start = block(0, type="thinking", thinking="Hm.", signature="")
    assert receive(START, block_start, stop(0), *message_end()).thinking == [ThinkingPart("Hm.")]


def test_arguments_come_in_pieces(receive: Any) -> None:
    received = receive(
        START,
        block(0, type="tool_use", id="toolu_1", name="look", input={}),
        delta(0, type="input_json_delta", partial_json=""),
        delta(0, type="input_json_delta", partial_json='{"a":'),
        delta(0, type="input_json_delta", partial_json="1}"),
        stop(0),
        *message_end("tool_use"),
    )
    assert received.events == [
        Usage(325, 1),
        CallStarted("toolu_1", "look"),
        CallArguments("toolu_1", '{"a":'),
        CallArguments("toolu_1", "1}"),
        Finished("tool_calls", 325, 9),
    ]


def test_a_call_without_an_id_gets_one(receive: Any) -> None:
    block_start = block(2, type="tool_use", id="", name="look", input={})
    assert list(receive(START, block_start, stop(2), *message_end("tool_use")).calls) == [
        "call_1_2"
    ]


def test_server_tools_and_unknown_blocks_are_ignored(receive: Any) -> None:
    received = receive(
        START,
        block(0, type="server_tool_use", id="srvtoolu_1", name="web_search", input={}),
        delta(0, type="input_json_delta", partial_json='{"query":"x"}'),
        stop(0),
        block(1, type="web_search_tool_result", tool_use_id="srvtoolu_1", content=[]),
        stop(1),
        block(2, type="a_block_of_next_year", anything=1),
        delta(2, type="a_delta_of_next_year", anything=1),
        stop(2),
        block(3, type="text", text="Hi", citations=[]),
        delta(3, type="citations_delta", citation={"type": "char_location"}),
        stop(3),
        {"type": "an_event_of_next_year"},
        {"type": "ping"},
        *message_end(),
    )
    assert received.events == [Usage(325, 1), TextPart("Hi"), Finished("stop", 325, 9)]


def test_tokens_may_be_missing(receive: Any) -> None:
    start = {"type": "message_start", "message": {"id": "m", "role": "assistant"}}
    end = [{"type": "message_delta", "delta": {"stop_reason": "end_turn"}}, END]
    assert receive(start, *text(0, "Hi"), *end).finished == Finished("stop", 0, 0)
