"""Unstreamed Anthropic responses: blocks, stop reasons, usage, and types that the SDK accepts."""

from typing import Any

import pytest
from anthropic.types import Message
from anthropic.types.beta import BetaMessage

from scenarios_app.engine.canonical import CanonicalResponse, Choice, Usage
from scenarios_app.engine.parts import (
    FinishReason,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
)
from tests.wire.anthropic.anthropic_cases import render, response


def test_text_response_has_exact_fields() -> None:
    assert render(response(TextPart("Hi"))) == {
        "id": "msg_ab12",
        "type": "message",
        "role": "assistant",
        "model": "claude-x",
        "content": [{"type": "text", "text": "Hi"}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "stop_details": None,
        "usage": {
            "input_tokens": 9,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
            "output_tokens": 2,
            "service_tier": "standard",
            "inference_geo": "global",
            "output_tokens_details": {"thinking_tokens": 0},
        },
    }


DIRECT = {"type": "direct"}


def test_blocks_stand_in_the_order_of_the_parts() -> None:
    answer = response(
        ReasoningPart("Hm.", signature="sig"),
        ReasoningPart("unsigned"),
        ReasoningPart("", redacted="x=="),
        TextPart("Let me see."),
        ToolCallPart("toolu_1", "f", '{"b": 1, "a": [2]}'),
        ToolCallPart("toolu_2", "g", ""),
        TextPart("Done."),
        reason="tool_calls",
    )
    assert render(answer)["content"] == [
        {"type": "thinking", "thinking": "Hm.", "signature": "sig"},
        {"type": "thinking", "thinking": "unsigned", "signature": ""},
        {"type": "redacted_thinking", "data": "x=="},
        {"type": "text", "text": "Let me see."},
        {
            **{"type": "tool_use", "id": "toolu_1", "name": "f"},
            **{"input": {"b": 1, "a": [2]}, "caller": DIRECT},
        },
        {"type": "tool_use", "id": "toolu_2", "name": "g", "input": {}, "caller": DIRECT},
        {"type": "text", "text": "Done."},
    ]


def test_empty_parts_make_no_blocks() -> None:
    answer = response(TextPart(""), ReasoningPart(""), RefusalPart(""))
    assert render(answer)["content"] == []


def test_thinking_without_text_keeps_its_signature() -> None:
    (block,) = render(response(ReasoningPart("", signature="sig")))["content"]
    assert block == {"type": "thinking", "thinking": "", "signature": "sig"}


@pytest.mark.parametrize(
    "arguments", ["", "{", "nonsense", "[1,2]", '"text"', "null", '{"a":NaN}', "[" * 100_000]
)
def test_arguments_that_are_no_object_make_an_empty_input(arguments: str) -> None:
    answer = response(ToolCallPart("toolu_1", "f", arguments), reason="tool_calls")
    assert render(answer)["content"][0]["input"] == {}


@pytest.mark.parametrize(
    ("reason", "stop_reason"),
    [
        ("stop", "end_turn"),
        ("length", "max_tokens"),
        ("tool_calls", "tool_use"),
        ("content_filter", "refusal"),
    ],
)
def test_stop_reasons(reason: FinishReason, stop_reason: str) -> None:
    body = render(response(TextPart("x"), reason=reason, stop_sequence="not said"))
    assert (body["stop_reason"], body["stop_sequence"]) == (stop_reason, None)


def test_matched_stop_sequence_is_in_the_body() -> None:
    body = render(response(TextPart("x"), reason="stop_sequence", stop_sequence="END"))
    assert (body["stop_reason"], body["stop_sequence"]) == ("stop_sequence", "END")


def test_a_refusal_is_text_and_a_stop_reason() -> None:
    body = render(response(RefusalPart("I will not.")))
    assert body["content"] == [{"type": "text", "text": "I will not."}]
    assert body["stop_reason"] == "refusal"
    assert body["stop_details"] == {
        "type": "refusal",
        "category": None,
        "explanation": "I will not.",
    }


def test_a_filtered_answer_has_no_explanation() -> None:
    body = render(response(TextPart("x"), reason="content_filter"))
    assert body["stop_details"] == {"type": "refusal", "category": None, "explanation": None}


def test_truncated_refusal_stops_for_max_tokens() -> None:
    body = render(response(RefusalPart("I will"), reason="length"))
    assert body["stop_reason"] == "max_tokens"
    assert body["stop_details"] is None


def test_choices_become_one_message_with_the_last_stop_reason() -> None:
    answer = CanonicalResponse(
        "ab12",
        0,
        "claude-x",
        (
            Choice((TextPart("one"), TextPart("two")), "stop"),
            Choice((ToolCallPart("toolu_1", "f", "{}"),), "tool_calls"),
        ),
        Usage(1, 2),
    )
    body = render(answer)
    assert [block["type"] for block in body["content"]] == ["text", "text", "tool_use"]
    assert body["stop_reason"] == "tool_use"


def test_cached_tokens_are_counted_beside_the_input() -> None:
    usage = render(response(TextPart("x"), usage=Usage(100, 5, 3, 30)))["usage"]
    assert usage["input_tokens"] == 70
    assert usage["cache_read_input_tokens"] == 30
    assert usage["output_tokens_details"] == {"thinking_tokens": 3}


def test_input_tokens_are_not_negative_if_more_are_cached() -> None:
    usage = render(response(TextPart("x"), usage=Usage(10, 5, 0, 30)))["usage"]
    assert (usage["input_tokens"], usage["cache_read_input_tokens"]) == (0, 30)


def test_metadata_adds_fields_and_replaces_only_the_stop_reason() -> None:
    container = {"id": "c1", "expires_at": "2026-01-01T00:00:00Z"}
    metadata = {"container": container, "stop_reason": "pause_turn", "id": "no", "usage": {}}
    body = render(response(TextPart("x"), metadata=metadata))
    assert body["container"] == container
    assert body["stop_reason"] == "pause_turn"
    assert body["id"] == "msg_ab12"
    assert body["usage"]["output_tokens"] == 2


@pytest.mark.parametrize("model", [Message, BetaMessage])
def test_the_sdks_types_accept_every_kind_of_answer(model: Any) -> None:
    parts = (
        ReasoningPart("Hm."),
        ReasoningPart("", redacted="x=="),
        RefusalPart("No."),
        TextPart("Text."),
        ToolCallPart("toolu_1", "f", "broken"),
    )
    reasons: tuple[FinishReason, ...] = (
        "stop",
        "length",
        "tool_calls",
        "content_filter",
        "stop_sequence",
    )
    for reason in reasons:
        body = render(response(*parts, reason=reason, stop_sequence="END", usage=Usage(9, 8, 7, 6)))
        message = model.model_validate(body, strict=True)
        assert message.to_dict(exclude_unset=True) == body
