"""Unstreamed Gemini responses: candidates, finish reasons, usage and citations."""

from base64 import b64encode
from typing import Any

import pytest

from scenarios_app.engine.canonical import Choice, Usage
from scenarios_app.engine.parts import (
    Citation,
    FinishReason,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
)
from tests.wire.gemini.gemini_cases import render, response, response_of_choices

SIGNATURE = b64encode(b"sig").decode()


def render_candidate(answer: Any) -> dict[str, Any]:
    (candidate,) = render(answer)["candidates"]
    return dict(candidate)


def render_parts(answer: Any) -> list[dict[str, Any]]:
    content = render_candidate(answer)["content"]
    assert content["role"] == "model"
    return list(content["parts"])


def test_text_response_has_exact_fields() -> None:
    assert render(response(TextPart("Hi"))) == {
        "candidates": [
            {
                "content": {"parts": [{"text": "Hi"}], "role": "model"},
                "finishReason": "STOP",
                "index": 0,
            }
        ],
        "usageMetadata": {
            "promptTokenCount": 9,
            "candidatesTokenCount": 2,
            "totalTokenCount": 11,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 9}],
            "serviceTier": "standard",
        },
        "modelVersion": "gemini-x",
        "responseId": "ab12",
    }


def test_parts_keep_their_order() -> None:
    answer = response(
        ReasoningPart("Hm.", signature="sig"),
        ReasoningPart("unsigned"),
        TextPart("Let me see."),
        ToolCallPart("c-1", "f", '{"b": 1, "a": [2]}'),
        TextPart("Done."),
        reason="tool_calls",
    )
    assert render_parts(answer) == [
        {"text": "Hm.", "thought": True, "thoughtSignature": SIGNATURE},
        {"text": "unsigned", "thought": True},
        {"text": "Let me see."},
        {"functionCall": {"id": "c-1", "name": "f", "args": {"b": 1, "a": [2]}}},
        {"text": "Done."},
    ]


def test_the_first_call_after_thinking_carries_its_signature() -> None:
    answer = response(
        ReasoningPart("Hm.", signature="sig"),
        TextPart("Let me see."),
        ToolCallPart("c-1", "f", "{}"),
        ToolCallPart("c-2", "g", "{}"),
        ReasoningPart("And then?", signature="sig"),
        ToolCallPart("c-3", "h", "{}"),
    )
    signatures = [part.get("thoughtSignature") for part in render_parts(answer)]
    assert signatures == [SIGNATURE, None, SIGNATURE, None, SIGNATURE, SIGNATURE]


def test_encrypted_thinking_is_a_signature_without_text() -> None:
    answer = response(ReasoningPart("", redacted="c2VjcmV0"), ToolCallPart("c-1", "f", "{}"))
    thought, call = render_parts(answer)
    assert thought == {"text": "", "thought": True, "thoughtSignature": "c2VjcmV0"}
    assert call["thoughtSignature"] == "c2VjcmV0"


@pytest.mark.parametrize("arguments", ["", '{"a": ', "[1]", '"x"', "1", "null", "[" * 99_999])
def test_invalid_arguments_become_an_empty_object(arguments: str) -> None:
    (call,) = render_parts(response(ToolCallPart("c-1", "f", arguments)))
    assert call["functionCall"]["args"] == {}


@pytest.mark.parametrize(
    "empty", [(), (TextPart(""),), (RefusalPart(""), ReasoningPart("", redacted=""))]
)
def test_response_without_content_has_an_empty_text(empty: Any) -> None:
    assert render_parts(response(*empty)) == [{"text": ""}]


@pytest.mark.parametrize(
    ("reason", "finish_reason"),
    [
        ("stop", "STOP"),
        ("tool_calls", "STOP"),
        ("stop_sequence", "STOP"),
        ("length", "MAX_TOKENS"),
        ("content_filter", "SAFETY"),
    ],
)
def test_finish_reason_is_translated(reason: FinishReason, finish_reason: str) -> None:
    assert render_candidate(response(TextPart("x"), reason=reason))["finishReason"] == finish_reason


def test_refusal_is_a_text_with_the_finish_reason_safety() -> None:
    candidate = render_candidate(response(RefusalPart("I will not.")))
    assert candidate["content"]["parts"] == [{"text": "I will not."}]
    assert candidate["finishReason"] == "SAFETY"
    assert (
        render_candidate(response(RefusalPart("No"), reason="length"))["finishReason"]
        == "MAX_TOKENS"
    )


BLOCKED = {"promptFeedback": {"blockReason": "SAFETY"}}


def test_scripted_block_reason_leaves_no_candidates() -> None:
    answer = response(TextPart("never said"), metadata=BLOCKED, usage=Usage(9, 5))
    assert render(answer) == {
        **BLOCKED,
        "usageMetadata": {
            "promptTokenCount": 9,
            "totalTokenCount": 9,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 9}],
            "serviceTier": "standard",
        },
        "modelVersion": "gemini-x",
        "responseId": "ab12",
    }


@pytest.mark.parametrize("feedback", [{"safetyRatings": []}, {"blockReason": None}, None])
def test_feedback_without_a_reason_blocks_nothing(feedback: Any) -> None:
    body = render(response(TextPart("x"), metadata={"promptFeedback": feedback}))
    assert body["promptFeedback"] == feedback
    assert len(body["candidates"]) == 1


def test_each_choice_is_a_candidate() -> None:
    first, second = Choice((TextPart("a"),), "stop"), Choice((TextPart("b"),), "length")
    candidates = render(response_of_choices(first, second))["candidates"]
    assert [(c["index"], c["content"]["parts"], c["finishReason"]) for c in candidates] == [
        (0, [{"text": "a"}], "STOP"),
        (1, [{"text": "b"}], "MAX_TOKENS"),
    ]


def test_consecutive_choices_are_one_candidates_parts_in_order() -> None:
    call = Choice((ToolCallPart("c-1", "f", "{}"),), "tool_calls")
    text = Choice((ReasoningPart("Hm."), TextPart("b")), "length")
    candidate = render_candidate(
        response_of_choices(call, Choice((), "stop"), text, consecutive=True)
    )
    part_keys = [next(iter(part)) for part in candidate["content"]["parts"]]
    assert part_keys == ["functionCall", "text", "text"]
    assert candidate["finishReason"] == "MAX_TOKENS"


def test_thoughts_are_counted_beside_the_candidates() -> None:
    usage = Usage(100, 50, 20, 10, cache_read_tokens=5)
    assert render(response(TextPart("x"), usage=usage))["usageMetadata"] == {
        "promptTokenCount": 100,
        "candidatesTokenCount": 30,
        "thoughtsTokenCount": 20,
        "cachedContentTokenCount": 15,
        "totalTokenCount": 150,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 100}],
        "cacheTokensDetails": [{"modality": "TEXT", "tokenCount": 15}],
        "serviceTier": "standard",
    }


def test_scripted_total_is_not_replaced() -> None:
    usage = Usage(1, 2, reasoning_tokens=3, total=99)
    usage_metadata = render(response(TextPart("x"), usage=usage))["usageMetadata"]
    assert (usage_metadata["candidatesTokenCount"], usage_metadata["totalTokenCount"]) == (0, 99)


def test_citation_offsets_are_in_bytes() -> None:
    answer = response(
        TextPart("Grüße. "),
        RefusalPart("Ä"),
        ReasoningPart("not counted"),
        TextPart(
            "Öl is oil.",
            (
                Citation("https://a.example", "A", "is oil"),
                Citation("https://b.example", None, "not there"),
                Citation("https://c.example"),
            ),
        ),
    )
    assert render_candidate(answer)["citationMetadata"]["citationSources"] == [
        {"startIndex": 15, "endIndex": 21, "uri": "https://a.example", "title": "A"},
        {"startIndex": 11, "endIndex": 22, "uri": "https://b.example"},
        {"startIndex": 11, "endIndex": 22, "uri": "https://c.example"},
    ]


def test_scripted_fields_go_to_the_body_or_the_candidate() -> None:
    metadata = {
        "finishReason": "MALFORMED_FUNCTION_CALL",
        "safetyRatings": [],
        "modelVersion": "other",
        "modelStatus": {},
        "candidates": [],
        "usageMetadata": {},
    }
    body = render(response(TextPart("x"), metadata=metadata))
    assert (body["modelVersion"], body["modelStatus"]) == ("other", {})
    assert body["usageMetadata"]["promptTokenCount"] == 9
    (candidate,) = body["candidates"]
    assert (candidate["finishReason"], candidate["safetyRatings"]) == (
        "MALFORMED_FUNCTION_CALL",
        [],
    )
    assert "finishReason" not in body
