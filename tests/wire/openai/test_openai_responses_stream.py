"""OpenAI's Responses as streams, event by event."""

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
from tests.wire.openai.responses_cases import CREATE, events_in, parse, render, stream


def played(*parts: AnswerPart, size: int = 3, **body: Any) -> list[dict[str, Any]]:
    """The events between the opening ones and the last, which the whole answer must equal."""
    request, response = parse(**body), answer(parts)
    created, in_progress, *between, last = events_in(stream(request, response, [size]))
    assert (created["type"], in_progress["type"]) == ("response.created", "response.in_progress")
    whole = render(request, response)
    assert whole.pop("billing") == {"payer": "developer"}
    assert last["response"] == whole
    for event in between:
        del event["sequence_number"]
        if event["type"].endswith(".delta"):
            assert len(event.pop("obfuscation")) == 16 - len(event["delta"])
    return between


def types(*parts: AnswerPart, **body: Any) -> list[str]:
    return [event["type"].removeprefix("response.") for event in played(*parts, **body)]


def test_a_text_is_these_events() -> None:
    empty = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
    item = {"type": "message", "id": f"msg_{HEX}00", "role": "assistant"}
    place = {"output_index": 0, "item_id": f"msg_{HEX}00", "content_index": 0}
    part = {**empty, "text": "Hello"}
    assert played(TextPart("Hello")) == [
        {
            "type": "response.output_item.added",
            "output_index": 0,
            "item": {**item, "status": "in_progress", "content": []},
        },
        {"type": "response.content_part.added", **place, "part": empty},
        {"type": "response.output_text.delta", **place, "delta": "Hel", "logprobs": []},
        {"type": "response.output_text.delta", **place, "delta": "lo", "logprobs": []},
        {"type": "response.output_text.done", **place, "text": "Hello", "logprobs": []},
        {"type": "response.content_part.done", **place, "part": part},
        {
            "type": "response.output_item.done",
            "output_index": 0,
            "item": {**item, "status": "completed", "content": [part]},
        },
    ]


def test_a_stream_begins_with_an_answer_that_says_nothing_yet() -> None:
    created, in_progress, *_ = events_in(stream(parse(), answer((TextPart("Hi"),), x=1)))
    begun = created["response"]
    assert begun == in_progress["response"]
    assert (begun["status"], begun["output"], begun["usage"]) == ("in_progress", [], None)
    assert (begun["error"], begun["completed_at"], begun["x"]) == (None, None, 1)


def test_a_stream_in_the_background_waits_for_its_turn() -> None:
    request = parse(background=True)
    created, queued, begun, *_, delta, _, _, _, _ = events_in(
        stream(request, answer((TextPart("Hi"),)))
    )
    states = [event["response"]["status"] for event in (created, queued, begun)]
    assert states == ["queued", "queued", "in_progress"]
    assert (queued["type"], begun["type"]) == ("response.queued", "response.in_progress")
    assert "obfuscation" not in delta and delta["delta"] == "Hi"


def test_thinking_that_nobody_scripted_comes_first_and_at_once() -> None:
    added, done, text, *_ = played(TextPart("Hi"), model="o3")
    assert [event["type"] for event in (added, done)] == [
        "response.output_item.added",
        "response.output_item.done",
    ]
    assert added["item"] == done["item"]
    assert (added["output_index"], text["output_index"]) == (0, 1)


def test_deltas_hide_nothing_where_that_is_asked_for() -> None:
    request = parse(stream_options={"include_obfuscation": False})
    events = events_in(stream(request, answer((TextPart("Hi"),))))
    assert not any("obfuscation" in event for event in events)


def test_a_call_flows_as_arguments() -> None:
    added, *deltas, done, ended = played(CALL, size=4)
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
    assert ended["item"]["arguments"] == '{"a":1}'


def test_a_custom_tools_call_flows_as_input() -> None:
    _, *deltas, done, _ = played(replace(CALL, custom=True))
    assert "".join(event["delta"] for event in deltas) == '{"a":1}'
    assert {event["type"] for event in deltas} == {"response.custom_tool_call_input.delta"}
    assert (done["type"], done["input"]) == ("response.custom_tool_call_input.done", '{"a":1}')


def test_thinking_flows_as_a_summary() -> None:
    assert types(ReasoningPart("Hm.", signature="sig")) == [
        "output_item.added",
        "reasoning_summary_part.added",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.done",
        "reasoning_summary_part.done",
        "output_item.done",
    ]
    added, part, delta, text, done, ended = played(ReasoningPart("Hm.", signature="sig"))
    assert (added["item"]["summary"], added["item"]["encrypted_content"]) == ([], "sig")
    assert part["part"] == {"type": "summary_text", "text": ""}
    assert (delta["delta"], delta["summary_index"]) == ("Hm.", 0)
    assert (text["text"], done["part"]["text"]) == ("Hm.", "Hm.")
    assert ended["item"]["encrypted_content"] == "sig"


def test_thinking_that_is_sealed_has_no_summary() -> None:
    assert types(ReasoningPart("", redacted="sealed")) == ["output_item.added", "output_item.done"]


def test_a_refusal_flows_as_refusal() -> None:
    added, part, *deltas, done, whole, _ = played(RefusalPart("Nope"))
    assert part["part"] == {"type": "refusal", "refusal": ""}
    assert [event["delta"] for event in deltas] == ["Nop", "e"]
    assert {event["type"] for event in deltas} == {"response.refusal.delta"}
    assert "logprobs" not in deltas[0]
    assert (done["type"], done["refusal"]) == ("response.refusal.done", "Nope")
    assert whole["part"] == {"type": "refusal", "refusal": "Nope"}
    assert added["item"]["content"] == []


def test_sources_follow_the_text() -> None:
    part = TextPart("Hi", (Citation("https://a"), Citation("https://b")))
    added = [e for e in played(part) if e["type"] == "response.output_text.annotation.added"]
    assert [(e["annotation_index"], e["annotation"]["url"]) for e in added] == [
        (0, "https://a"),
        (1, "https://b"),
    ]
    assert types(part)[2:5] == [
        "output_text.delta",
        *["output_text.annotation.added"] * 2,
    ]


def test_a_web_search_goes_through_its_states() -> None:
    assert types(ServerToolUsePart("srv", "web_search_20250305", '{"query":"x"}')) == [
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
    assert played(*parts) == []


def test_nothing_flows_under_the_item_before_it() -> None:
    sent = played(TextPart("a"), ServerToolUsePart("srv", "x", '{"code":"1"}'))
    assert [event["delta"] for event in sent if "delta" in event] == ["a"]


def test_a_delta_of_an_empty_part_is_nothing() -> None:
    part = TextPart("")
    encoder = CREATE.encode(parse(), answer((part,)))
    encoder.opening()
    assert encoder.event(PartDelta(0, 0, part, "")) == b""


def test_items_are_numbered_over_all_choices() -> None:
    response = answer((TextPart("a"), CALL), (TextPart("b"),))
    added = [
        event["output_index"]
        for event in events_in(stream(parse(), response))
        if event["type"] == "response.output_item.added"
    ]
    assert added == [0, 1, 2]


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
def test_the_last_event_says_how_it_ended(
    finish: FinishReason, metadata: dict[str, Any], last: str
) -> None:
    events = events_in(stream(parse(), answer((TextPart("a"),), finish=finish, **metadata)))
    assert events[-1]["type"] == last
    assert events[0]["response"]["status"] == "in_progress"


def test_an_error_inside_is_flat_and_numbered() -> None:
    error = ErrorAnswer(500, "Bro\u2028ken.", code="fell_over", param="input")
    sent = WIRE.stream_error(error, events_sent=7)
    assert "\u2028".encode() not in sent
    assert sent.startswith(b"event: error\ndata: {") and sent.endswith(b"}\n\n")
    (event,) = _decoded(sent)
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
def test_an_error_inside_always_has_a_code(error: ErrorAnswer, code: str) -> None:
    (event,) = _decoded(WIRE.stream_error(error, events_sent=0))
    assert event["code"] == code


def test_line_separators_are_escaped() -> None:
    sent = stream(parse(), answer((TextPart("a\u2028b"), ToolCallPart("c", "f\u2029", "{}"))))
    assert "\u2028" not in sent.decode() and "\u2029" not in sent.decode()


def _decoded(sent: bytes) -> list[dict[str, Any]]:
    return [json.loads(line[6:]) for line in sent.split(b"\n") if line.startswith(b"data: ")]


def test_an_error_has_the_envelope_of_all_of_openais() -> None:
    told = json.loads(WIRE.error(ErrorAnswer(400, "M", param="p"), request_id="r"))["error"]
    assert told == {"message": "M", "type": "invalid_request_error", "param": "p", "code": None}
