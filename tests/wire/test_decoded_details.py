"""Rare shapes of recorded responses: each is decoded or reported as lost, and none raises."""

import json

import pytest

from scenarios_app.wire.anthropic import decode as anthropic
from scenarios_app.wire.decoded import DecodedChoice, parse_events
from scenarios_app.wire.openai import chat_decode as chat
from scenarios_app.wire.openai.responses import decode as responses


def chat_stream(*deltas: object, **choice: object) -> DecodedChoice:
    """Return the decoded first choice of a chat stream with these deltas."""
    events = [{"choices": [{"index": 0, "delta": delta, **choice}]} for delta in deltas]
    decoded = chat.decode_stream(events)
    assert decoded is not None
    return decoded.choices[0]


def test_tool_call_with_a_result_keeps_it() -> None:
    choice = DecodedChoice()
    choice.add_call("f", "{}", result="done")
    assert choice.parts == [{"tool_call": {"name": "f", "result": "done"}}]


def test_stream_has_only_the_objects_of_a_list() -> None:
    assert parse_events(b' [1, {"a": 2}, null]') == [{"a": 2}]
    assert parse_events(b"[1") == []


@pytest.mark.parametrize("value", ["NaN", "1e999", '"\\ud83d"', "9" * 400, "[" * 60 + "]" * 60])
def test_response_with_a_value_that_documents_cannot_contain_is_not_decoded(value: str) -> None:
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": f'{{"a":{value}}}'}
    assert responses.DECODER.decode(json.dumps({"output": [call]}).encode()) is None


def test_anthropic_delta_that_is_no_object_is_skipped() -> None:
    start = {"type": "content_block_start", "index": 0}
    decoded = anthropic.decode_stream(
        [
            {"type": "message_start", "message": {"usage": {}}},
            {**start, "content_block": {"type": "text", "text": "Hi"}},
            {"type": "content_block_delta", "index": 0, "delta": 7},
        ]
    )
    assert decoded is not None
    assert decoded.choices[0].parts == [{"text": "Hi"}]
    assert decoded.choices[0].lost == set()


def test_logprobs_of_a_chat_stream_are_reported_as_lost() -> None:
    choice = chat_stream({"content": "Hi"}, logprobs={"content": []})
    assert (choice.parts, choice.lost) == ([{"text": "Hi"}], {"logprobs"})


def test_chat_chunk_without_delta_and_text_adds_nothing() -> None:
    assert chat_stream({"content": "Hi"}, None).parts == [{"text": "Hi"}]


def test_chat_tool_call_without_a_function_is_reported_as_lost() -> None:
    call = {"id": "c", "type": "custom", "custom": {}}
    message = {"content": None, "tool_calls": [call]}
    decoded = chat.decode_body({"choices": [{"message": message, "finish_reason": "stop"}]})
    assert decoded is not None
    assert (decoded.choices[0].parts, decoded.choices[0].lost) == ([], {"custom"})


def test_chat_thinking_parts_in_a_row_become_one_reasoning() -> None:
    thinking = [{"type": "thinking", "thinking": [{"text": text}]} for text in ("H", "m.")]
    assert chat_stream({"content": thinking}).parts == [{"reasoning": "Hm."}]


def test_chat_deltas_with_lists_are_joined_and_null_changes_nothing() -> None:
    first, second = ({"type": "text", "text": text} for text in ("a", "b"))
    choice = chat_stream({"content": [first]}, {"content": [second], "audio": None, "n": 1})
    assert choice.parts == [{"text": "ab"}]


def test_chat_arguments_that_are_no_text_stay_as_they_came() -> None:
    start = {"index": 0, "id": "c", "function": {"name": "f", "arguments": {"a": 1}}}
    piece = {"index": 0, "function": {"arguments": "x"}}
    choice = chat_stream({"tool_calls": [start]}, {"tool_calls": [piece]})
    assert choice.parts == [{"tool_call": {"id": "c", "name": "f", "arguments": {"a": 1}}}]


def test_truncated_responses_stream_does_not_repeat_a_finished_message() -> None:
    message = {"type": "message", "content": [{"type": "output_text", "text": "Hi"}]}
    decoded = responses.decode_stream(
        [
            {"type": "response.output_text.delta", "delta": "Hi"},
            {"type": "response.output_item.done", "item": message},
        ]
    )
    assert decoded is not None
    assert decoded.choices[0].parts == [{"text": "Hi"}]


def test_responses_reasoning_without_text_adds_no_part() -> None:
    decoded = responses.decode_body({"output": [{"type": "reasoning", "summary": []}]})
    assert decoded is not None
    assert (decoded.choices[0].parts, decoded.choices[0].lost) == ([], set())


def test_responses_content_of_an_unknown_type_is_reported_as_lost() -> None:
    message = {"type": "message", "content": [{"type": "output_audio"}]}
    decoded = responses.decode_body({"output": [message]})
    assert decoded is not None
    assert decoded.choices[0].lost == {"output_audio"}
