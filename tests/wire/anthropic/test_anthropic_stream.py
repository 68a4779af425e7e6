"""Anthropic streams: exact events, and the same content as the unstreamed body."""

import json
from typing import Any

import httpx2
import pytest
from anthropic import Anthropic
from hypothesis import given, settings
from hypothesis import strategies as st

from scenarios_app.engine.canonical import CanonicalResponse, Choice, ErrorAnswer, Usage
from scenarios_app.engine.parts import (
    AnswerPart,
    FinishReason,
    PartDelta,
    PartEnd,
    PartStart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
)
from scenarios_app.wire.anthropic.wire import WIRE
from tests.support.hypothesis_profiles import example_count
from tests.wire.anthropic.anthropic_cases import (
    MESSAGES,
    MINIMAL_BODY,
    parse,
    read_stream,
    render,
    response,
    stream,
    transport,
)
from tests.wire.response_strategies import ARGUMENTS, REASONS, TEXTS, choice_strategy

parts = st.one_of(
    st.builds(TextPart, TEXTS),
    st.builds(RefusalPart, TEXTS),
    st.builds(ReasoningPart, TEXTS, signature=st.none() | TEXTS),
    st.builds(ReasoningPart, st.just(""), redacted=TEXTS),
    st.builds(ToolCallPart, TEXTS, TEXTS, ARGUMENTS | st.just("")),
)
choices = choice_strategy(parts)
usages = st.builds(Usage, *(st.integers(0, 999),) * 4)


def test_a_text_stream_is_exactly_the_providers() -> None:
    assert stream(response(TextPart("Hi all"))).decode() == (
        "event: message_start\n"
        'data: {"type":"message_start","message":{"id":"msg_ab12","type":"message",'
        '"role":"assistant","model":"claude-x","content":[],"stop_reason":null,'
        '"stop_sequence":null,"stop_details":null,"usage":{"input_tokens":9,'
        '"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"cache_creation":'
        '{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":0},"output_tokens":1,'
        '"service_tier":"standard","inference_geo":"global"}}}\n'
        "\n"
        "event: content_block_start\n"
        'data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n'
        "\n"
        "event: ping\n"
        'data: {"type":"ping"}\n'
        "\n"
        "event: content_block_delta\n"
        'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi a"}}'
        "\n"
        "\n"
        "event: content_block_delta\n"
        'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"ll"}}\n'
        "\n"
        "event: content_block_stop\n"
        'data: {"type":"content_block_stop","index":0}\n'
        "\n"
        "event: message_delta\n"
        'data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null,'
        '"stop_details":null},"usage":{"input_tokens":9,"cache_creation_input_tokens":0,'
        '"cache_read_input_tokens":0,"output_tokens":2,'
        '"output_tokens_details":{"thinking_tokens":0}}}\n'
        "\n"
        "event: message_stop\n"
        'data: {"type":"message_stop"}\n'
        "\n"
    )


def test_thinking_ends_with_one_signature() -> None:
    deltas = _read_deltas(response(ReasoningPart("Hm, well", signature="sig")))
    assert deltas == [
        {"type": "thinking_delta", "thinking": "Hm, "},
        {"type": "thinking_delta", "thinking": "well"},
        {"type": "signature_delta", "signature": "sig"},
    ]


def test_thinking_without_a_scripted_signature_ends_with_an_empty_one() -> None:
    assert _read_deltas(response(ReasoningPart("Hm")))[-1] == {
        "type": "signature_delta",
        "signature": "",
    }


def test_a_thinking_block_begins_empty() -> None:
    (start, *_) = _read_events(response(ReasoningPart("Hm", signature="s")), "content_block_start")
    assert start["content_block"] == {"type": "thinking", "thinking": "", "signature": ""}


def test_redacted_thinking_has_no_deltas() -> None:
    events = read_stream(stream(response(ReasoningPart("", redacted="x=="))))
    names = [name for name, _ in events]
    assert names[1:4] == ["content_block_start", "ping", "content_block_stop"]
    assert events[1][1]["content_block"] == {"type": "redacted_thinking", "data": "x=="}


def test_redacted_thinking_never_shows_its_text() -> None:
    part = ReasoningPart("secret", redacted="x==")
    encoder = MESSAGES.encode(parse(MINIMAL_BODY), response(part))
    encoder.event(PartStart(0, 0, part))
    assert encoder.event(PartDelta(0, 0, part, "secret")) == b""


def test_a_tool_call_begins_with_an_empty_fragment() -> None:
    answer = response(ToolCallPart("toolu_1", "f", '{"city":1}'), reason="tool_calls")
    (start,) = _read_events(answer, "content_block_start")
    assert start["content_block"] == {
        "type": "tool_use",
        "id": "toolu_1",
        "name": "f",
        "input": {},
        "caller": {"type": "direct"},
    }
    assert _read_deltas(answer) == [
        {"type": "input_json_delta", "partial_json": ""},
        {"type": "input_json_delta", "partial_json": '{"ci'},
        {"type": "input_json_delta", "partial_json": 'ty":'},
        {"type": "input_json_delta", "partial_json": "1}"},
    ]


def test_broken_arguments_are_streamed_as_they_are() -> None:
    deltas = _read_deltas(response(ToolCallPart("toolu_1", "f", '{"ci'), reason="tool_calls"))
    assert "".join(delta["partial_json"] for delta in deltas) == '{"ci'


def test_blocks_are_numbered_across_choices_and_do_not_overlap() -> None:
    answer = CanonicalResponse(
        "ab12",
        0,
        "claude-x",
        (
            Choice((TextPart("a"), TextPart(""), TextPart("b")), "stop"),
            Choice((TextPart("c"),), "length"),
        ),
        Usage(1, 2),
    )
    events = read_stream(stream(answer))
    blocks = [
        (name.removeprefix("content_block_"), data["index"])
        for name, data in events
        if name.startswith("content_block_")
    ]
    assert blocks == [(name, i) for i in range(3) for name in ("start", "delta", "stop")]
    assert [name for name, _ in events].count("message_delta") == 1
    assert events[-2][1]["delta"]["stop_reason"] == "max_tokens"


def test_single_ping_follows_the_start_of_the_first_block() -> None:
    names = [name for name, _ in read_stream(stream(response(TextPart("a"), TextPart("b"))))]
    assert names.index("ping") == 2
    assert names.count("ping") == 1


def test_empty_part_sends_no_events() -> None:
    part = TextPart("")
    encoder = MESSAGES.encode(parse(MINIMAL_BODY), response(part))
    events = (PartStart(0, 0, part), PartDelta(0, 0, part, ""), PartEnd(0, 0, part))
    assert [encoder.event(event) for event in events] == [b"", b"", b""]


def test_a_line_separator_in_a_text_is_escaped() -> None:
    answer = response(TextPart("a\u2028b"))
    assert len(stream(answer).decode().splitlines()) == stream(answer).count(b"\n")
    assert "".join(delta["text"] for delta in _read_deltas(answer)) == "a\u2028b"


def test_line_separators_in_refusals_metadata_and_errors_are_escaped() -> None:
    text = "a\u2028b\u2029c\x85d"
    stream_text = stream(response(RefusalPart(text), metadata={"note": text})).decode()
    stream_text += WIRE.stream_error(ErrorAnswer(500, text), events_sent=1).decode()
    assert stream_text.splitlines() == stream_text.split("\n")[:-1]
    assert read_stream(stream_text.encode())[-3][1]["delta"]["stop_details"]["explanation"] == text


def test_closing_usage_is_cumulative() -> None:
    (delta,) = _read_events(response(TextPart("a"), usage=Usage(100, 50, 20, 10)), "message_delta")
    assert delta["usage"] == {
        "input_tokens": 90,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 10,
        "output_tokens": 50,
        "output_tokens_details": {"thinking_tokens": 20},
    }


def test_stop_reason_is_only_in_the_last_delta() -> None:
    answer = response(TextPart("a"), metadata={"stop_reason": "pause_turn", "container": None})
    (start,) = _read_events(answer, "message_start")
    (delta,) = _read_events(answer, "message_delta")
    assert start["message"]["stop_reason"] is None
    assert "container" in start["message"]
    assert delta["delta"] == {
        "stop_reason": "pause_turn",
        "stop_sequence": None,
        "stop_details": None,
    }


def test_malformed_event_is_framed_and_invalid_json() -> None:
    name, data = WIRE.malformed_event.removesuffix(b"\n\n").split(b"\n")
    assert name == b"event: content_block_delta"
    with pytest.raises(json.JSONDecodeError):
        json.loads(data.removeprefix(b"data: "))


@settings(max_examples=example_count(200), deadline=None)
@given(st.lists(choices, min_size=1, max_size=2).map(tuple), usages, st.integers(1, 9))
def test_stream_adds_up_to_the_body(
    drawn_choices: tuple[Choice, ...], usage: Usage, delta_chars: int
) -> None:
    answer = CanonicalResponse("ab12", 0, "claude-x", drawn_choices, usage)
    message: dict[str, Any] = {}
    inputs: dict[int, str] = {}
    for name, data in read_stream(stream(answer, delta_chars)):
        _accumulate(message, inputs, name, data)
    for index, joined in inputs.items():
        message["content"][index]["input"] = json.loads(joined or "{}")
    assert message == render(answer)


@settings(max_examples=example_count(60), deadline=None)
@given(st.lists(parts, max_size=5).map(tuple), st.sampled_from(REASONS))
def test_sdk_accumulates_a_stream_to_the_message(
    drawn_parts: tuple[AnswerPart, ...], reason: FinishReason
) -> None:
    answer = response(*drawn_parts, reason=reason)
    with Anthropic(
        api_key="k", base_url="http://test", http_client=_client(answer), max_retries=0
    ) as client:
        for messages in (client.messages, client.beta.messages):
            message = messages.create(**MINIMAL_BODY)
            with messages.stream(**MINIMAL_BODY) as streamed:
                final = streamed.get_final_message()
            assert _without_added_fields(final) == _without_added_fields(message)


def _client(answer: CanonicalResponse) -> Any:
    return httpx2.Client(transport=transport(answer))


def _without_added_fields(message: Any) -> dict[str, Any]:
    """Return a message's fields without those that the SDK's accumulator adds."""
    body = message.to_dict(exclude_none=True)
    for block in body["content"]:
        block.pop("parsed_output", None)
    return body


def _accumulate(
    message: dict[str, Any], inputs: dict[int, str], name: str, data: dict[str, Any]
) -> None:
    assert data["type"] == name
    match name:
        case "message_start":
            message.update(data["message"])
        case "content_block_start":
            assert data["index"] == len(message["content"])
            message["content"].append(data["content_block"])
        case "content_block_delta":
            assert data["index"] == len(message["content"]) - 1
            block, delta = message["content"][-1], data["delta"]
            match delta["type"]:
                case "input_json_delta":
                    inputs[data["index"]] = inputs.get(data["index"], "") + delta["partial_json"]
                case "signature_delta":
                    block["signature"] = delta["signature"]
                case kind:
                    key = kind.removesuffix("_delta")
                    block[key] += delta[key]
        case "message_delta":
            message.update(data["delta"])
            message["usage"].update(data["usage"])


def _read_events(answer: CanonicalResponse, event_name: str) -> list[dict[str, Any]]:
    return [data for name, data in read_stream(stream(answer)) if name == event_name]


def _read_deltas(answer: CanonicalResponse) -> list[dict[str, Any]]:
    return [data["delta"] for data in _read_events(answer, "content_block_delta")]
