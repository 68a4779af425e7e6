"""Streams of the Responses API, event by event."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from scenarios_app.engine.canonical import ErrorAnswer
from scenarios_app.engine.parts import (
    AnswerPart,
    Citation,
    FinishReason,
    PartDelta,
    ReasoningPart,
    RefusalPart,
    ServerToolResultPart,
    ServerToolUsePart,
    TextPart,
    ToolCallPart,
)
from scenarios_app.wire.openai.responses.wire import WIRE
from tests.wire.openai.responses_answers import CALL, HEX, answer
from tests.wire.openai.responses_cases import CREATE, parse, parse_events, render, stream


def stream_item_events(*parts: AnswerPart, size: int = 3, **body: Any) -> list[dict[str, Any]]:
    """Return the events between opening and last; check the last against the unstreamed body."""
    request, response = parse(**body), answer(parts)
    created, in_progress, *between, last = parse_events(stream(request, response, [size]))
    assert (created["type"], in_progress["type"]) == ("response.created", "response.in_progress")
    response_body = render(request, response)
    assert response_body.pop("billing") == {"payer": "developer"}
    assert last["response"] == response_body
    for event in between:
        del event["sequence_number"]
        if event["type"].endswith(".delta"):
            assert len(event.pop("obfuscation")) == 16 - len(event["delta"])
    return between


def stream_event_types(*parts: AnswerPart, **body: Any) -> list[str]:
    return [event["type"].removeprefix("response.") for event in stream_item_events(*parts, **body)]


def test_text_stream_has_exact_events() -> None:
    empty = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
    item = {"type": "message", "id": f"msg_{HEX}00", "role": "assistant"}
    position = {"output_index": 0, "item_id": f"msg_{HEX}00", "content_index": 0}
    part = {**empty, "text": "Hello"}
    assert stream_item_events(TextPart("Hello")) == [
        {
            "type": "response.output_item.added",
            "output_index": 0,
            "item": {**item, "status": "in_progress", "content": []},
        },
        {"type": "response.content_part.added", **position, "part": empty},
        {"type": "response.output_text.delta", **position, "delta": "Hel", "logprobs": []},
        {"type": "response.output_text.delta", **position, "delta": "lo", "logprobs": []},
        {"type": "response.output_text.done", **position, "text": "Hello", "logprobs": []},
        {"type": "response.content_part.done", **position, "part": part},
        {
            "type": "response.output_item.done",
            "output_index": 0,
            "item": {**item, "status": "completed", "content": [part]},
        },
    ]


def test_stream_begins_with_a_response_in_progress() -> None:
    created, in_progress, *_ = parse_events(stream(parse(), answer((TextPart("Hi"),), x=1)))
    initial = created["response"]
    assert initial == in_progress["response"]
    assert (initial["status"], initial["output"], initial["usage"]) == ("in_progress", [], None)
    assert (initial["error"], initial["completed_at"], initial["x"]) == (None, None, 1)


def test_background_stream_is_queued_first() -> None:
    request = parse(background=True)
    created, queued, in_progress, *_, delta, _, _, _, _ = parse_events(
        stream(request, answer((TextPart("Hi"),)))
    )
    states = [event["response"]["status"] for event in (created, queued, in_progress)]
    assert states == ["queued", "queued", "in_progress"]
    assert (queued["type"], in_progress["type"]) == ("response.queued", "response.in_progress")
    assert "obfuscation" not in delta and delta["delta"] == "Hi"


def test_unscripted_reasoning_item_is_added_and_done_immediately() -> None:
    added, done, text, *_ = stream_item_events(TextPart("Hi"), model="o3")
    assert [event["type"] for event in (added, done)] == [
        "response.output_item.added",
        "response.output_item.done",
    ]
    assert added["item"] == done["item"]
    assert (added["output_index"], text["output_index"]) == (0, 1)


def test_obfuscation_can_be_switched_off() -> None:
    request = parse(stream_options={"include_obfuscation": False})
    events = parse_events(stream(request, answer((TextPart("Hi"),))))
    assert not any("obfuscation" in event for event in events)


def test_function_call_is_streamed_as_arguments() -> None:
    added, *deltas, done, item_done = stream_item_events(CALL, size=4)
    assert (added["item"]["arguments"], added["item"]["status"]) == ("", "in_progress")
    assert [event["delta"] for event in deltas] == ['{"a"', ":1}"]
    assert {event["type"] for event in deltas} == {"response.function_call_arguments.delta"}
    assert done == {
        "type": "response.function_call_arguments.done",
        "output_index": 0,
        "item_id": f"fc_{HEX}00",
        "name": "f",
        "arguments": '{"a":1}',
    }
    assert item_done["item"]["arguments"] == '{"a":1}'


def test_custom_tool_call_is_streamed_as_input() -> None:
    _, *deltas, done, _ = stream_item_events(replace(CALL, custom=True))
    assert "".join(event["delta"] for event in deltas) == '{"a":1}'
    assert {event["type"] for event in deltas} == {"response.custom_tool_call_input.delta"}
    assert (done["type"], done["input"]) == ("response.custom_tool_call_input.done", '{"a":1}')


def test_reasoning_is_streamed_as_a_summary() -> None:
    assert stream_event_types(ReasoningPart("Hm.", signature="sig")) == [
        "output_item.added",
        "reasoning_summary_part.added",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.done",
        "reasoning_summary_part.done",
        "output_item.done",
    ]
    added, part, delta, text, done, item_done = stream_item_events(
        ReasoningPart("Hm.", signature="sig")
    )
    assert (added["item"]["summary"], added["item"]["encrypted_content"]) == ([], "sig")
    assert part["part"] == {"type": "summary_text", "text": ""}
    assert (delta["delta"], delta["summary_index"]) == ("Hm.", 0)
    assert (text["text"], done["part"]["text"]) == ("Hm.", "Hm.")
    assert item_done["item"]["encrypted_content"] == "sig"


def test_encrypted_reasoning_has_no_summary_events() -> None:
    assert stream_event_types(ReasoningPart("", redacted="sealed")) == [
        "output_item.added",
        "output_item.done",
    ]


def test_refusal_is_streamed_as_refusal_deltas() -> None:
    added, part, *deltas, done, part_done, _ = stream_item_events(RefusalPart("Nope"))
    assert part["part"] == {"type": "refusal", "refusal": ""}
    assert [event["delta"] for event in deltas] == ["Nop", "e"]
    assert {event["type"] for event in deltas} == {"response.refusal.delta"}
    assert "logprobs" not in deltas[0]
    assert (done["type"], done["refusal"]) == ("response.refusal.done", "Nope")
    assert part_done["part"] == {"type": "refusal", "refusal": "Nope"}
    assert added["item"]["content"] == []


def test_annotations_follow_the_text() -> None:
    part = TextPart("Hi", (Citation("https://a"), Citation("https://b")))
    annotation_events = [
        e for e in stream_item_events(part) if e["type"] == "response.output_text.annotation.added"
    ]
    assert [(e["annotation_index"], e["annotation"]["url"]) for e in annotation_events] == [
        (0, "https://a"),
        (1, "https://b"),
    ]
    assert stream_event_types(part)[2:5] == [
        "output_text.delta",
        *["output_text.annotation.added"] * 2,
    ]


def test_web_search_has_an_event_for_each_state() -> None:
    assert stream_event_types(ServerToolUsePart("srv", "web_search_20250305", '{"query":"x"}')) == [
        "output_item.added",
        "web_search_call.in_progress",
        "web_search_call.searching",
        "web_search_call.completed",
        "output_item.done",
    ]


def test_parts_without_an_output_item_send_nothing() -> None:
    parts = (
        ServerToolUsePart("srv", "bash_code_execution", '{"code":"1"}'),
        ServerToolResultPart("srv", "bash_code_execution", "1"),
    )
    assert stream_item_events(*parts) == []


def test_left_out_part_adds_no_deltas_to_the_previous_item() -> None:
    events = stream_item_events(TextPart("a"), ServerToolUsePart("srv", "x", '{"code":"1"}'))
    assert [event["delta"] for event in events if "delta" in event] == ["a"]


def test_delta_of_an_empty_part_sends_nothing() -> None:
    part = TextPart("")
    encoder = CREATE.encode(parse(), answer((part,)))
    encoder.opening()
    assert encoder.event(PartDelta(0, 0, part, "")) == b""


def test_items_are_numbered_across_choices() -> None:
    response = answer((TextPart("a"), CALL), (TextPart("b"),))
    output_indexes = [
        event["output_index"]
        for event in parse_events(stream(parse(), response))
        if event["type"] == "response.output_item.added"
    ]
    assert output_indexes == [0, 1, 2]


@pytest.mark.parametrize(
    ("finish", "metadata", "last"),
    [
        ("stop", {}, "response.completed"),
        ("length", {}, "response.incomplete"),
        ("content_filter", {}, "response.incomplete"),
        ("stop", {"status": "failed"}, "response.failed"),
        ("stop", {"status": "cancelled"}, "response.completed"),
    ],
)
def test_last_event_has_the_type_of_the_status(
    finish: FinishReason, metadata: dict[str, Any], last: str
) -> None:
    events = parse_events(stream(parse(), answer((TextPart("a"),), finish=finish, **metadata)))
    assert events[-1]["type"] == last
    assert events[0]["response"]["status"] == "in_progress"


def test_error_event_is_flat_and_numbered() -> None:
    error = ErrorAnswer(500, "Bro\u2028ken.", code="fell_over", param="input")
    stream_bytes = WIRE.stream_error(error, events_sent=7)
    assert "\u2028".encode() not in stream_bytes
    assert stream_bytes.startswith(b"event: error\ndata: {") and stream_bytes.endswith(b"}\n\n")
    (event,) = _parse_data_lines(stream_bytes)
    assert event == {
        "type": "error",
        "sequence_number": 7,
        "code": "fell_over",
        "message": "Bro\u2028ken.",
        "param": "input",
    }


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ErrorAnswer(500, "x"), "server_error"),
        (ErrorAnswer(429, "x"), "rate_limit_exceeded"),
        (ErrorAnswer(400, "x", type="odd"), "odd"),
        (ErrorAnswer(400, "x"), "invalid_request_error"),
    ],
)
def test_error_event_always_has_a_code(error: ErrorAnswer, code: str) -> None:
    (event,) = _parse_data_lines(WIRE.stream_error(error, events_sent=0))
    assert event["code"] == code


def test_line_separators_are_escaped() -> None:
    stream_bytes = stream(
        parse(), answer((TextPart("a\u2028b"), ToolCallPart("c", "f\u2029", "{}")))
    )
    assert "\u2028" not in stream_bytes.decode() and "\u2029" not in stream_bytes.decode()


def _parse_data_lines(stream_bytes: bytes) -> list[dict[str, Any]]:
    return [
        json.loads(line[6:]) for line in stream_bytes.split(b"\n") if line.startswith(b"data: ")
    ]


def test_error_has_openais_envelope() -> None:
    error = json.loads(WIRE.error(ErrorAnswer(400, "M", param="p"), request_id="r"))["error"]
    assert error == {"message": "M", "type": "invalid_request_error", "param": "p", "code": None}
