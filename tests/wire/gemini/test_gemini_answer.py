"""Whole Gemini answers: candidates, finish reasons, usage, sources, and types the SDK accepts."""

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
from tests.wire.gemini.gemini_cases import of_choices, render, response

SIGNATURE = b64encode(b"sig").decode()


def candidate(answer: Any) -> dict[str, Any]:
    (found,) = render(answer)["candidates"]
    return dict(found)


def parts(answer: Any) -> list[dict[str, Any]]:
    content = candidate(answer)["content"]
    assert content["role"] == "model"
    return list(content["parts"])


def test_a_text_answer_is_exactly_the_providers() -> None:
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


def test_parts_stand_in_their_order() -> None:
    answer = response(
        ReasoningPart("Hm.", signature="sig"),
        ReasoningPart("unsigned"),
        TextPart("Let me see."),
        ToolCallPart("c-1", "f", '{"b": 1, "a": [2]}'),
        TextPart("Done."),
        reason="tool_calls",
    )
    assert parts(answer) == [
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
    signed = [part.get("thoughtSignature") for part in parts(answer)]
    assert signed == [SIGNATURE, None, SIGNATURE, None, SIGNATURE, SIGNATURE]


def test_encrypted_thinking_is_a_signature_without_words() -> None:
    hidden = response(ReasoningPart("", redacted="c2VjcmV0"), ToolCallPart("c-1", "f", "{}"))
    thought, call = parts(hidden)
    assert thought == {"text": "", "thought": True, "thoughtSignature": "c2VjcmV0"}
    assert call["thoughtSignature"] == "c2VjcmV0"


@pytest.mark.parametrize("arguments", ["", '{"a": ', "[1]", '"x"', "1", "null", "[" * 99_999])
def test_arguments_that_are_no_object_arrive_as_an_empty_one(arguments: str) -> None:
    (call,) = parts(response(ToolCallPart("c-1", "f", arguments)))
    assert call["functionCall"]["args"] == {}


@pytest.mark.parametrize(
    "empty", [(), (TextPart(""),), (RefusalPart(""), ReasoningPart("", redacted=""))]
)
def test_an_answer_without_words_has_an_empty_text(empty: Any) -> None:
    assert parts(response(*empty)) == [{"text": ""}]


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("stop", "STOP"),
        ("tool_calls", "STOP"),
        ("stop_sequence", "STOP"),
        ("length", "MAX_TOKENS"),
        ("content_filter", "SAFETY"),
    ],
)
def test_each_reason_to_finish(reason: FinishReason, said: str) -> None:
    assert candidate(response(TextPart("x"), reason=reason))["finishReason"] == said


def test_a_refusal_is_a_text_that_safety_ended() -> None:
    found = candidate(response(RefusalPart("I will not.")))
    assert found["content"]["parts"] == [{"text": "I will not."}]
    assert found["finishReason"] == "SAFETY"
    assert candidate(response(RefusalPart("No"), reason="length"))["finishReason"] == "MAX_TOKENS"


BLOCKED = {"promptFeedback": {"blockReason": "SAFETY"}}


def test_a_script_may_block_the_prompt() -> None:
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


def test_choices_are_candidates() -> None:
    one, two = Choice((TextPart("a"),), "stop"), Choice((TextPart("b"),), "length")
    found = render(of_choices(one, two))["candidates"]
    assert [(c["index"], c["content"]["parts"], c["finishReason"]) for c in found] == [
        (0, [{"text": "a"}], "STOP"),
        (1, [{"text": "b"}], "MAX_TOKENS"),
    ]


def test_consecutive_choices_are_one_candidates_parts_in_order() -> None:
    call = Choice((ToolCallPart("c-1", "f", "{}"),), "tool_calls")
    text = Choice((ReasoningPart("Hm."), TextPart("b")), "length")
    found = candidate(of_choices(call, Choice((), "stop"), text, consecutive=True))
    kinds = [next(iter(part)) for part in found["content"]["parts"]]
    assert kinds == ["functionCall", "text", "text"]
    assert found["finishReason"] == "MAX_TOKENS"


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


def test_a_scripted_total_stands() -> None:
    usage = Usage(1, 2, reasoning_tokens=3, total=99)
    said = render(response(TextPart("x"), usage=usage))["usageMetadata"]
    assert (said["candidatesTokenCount"], said["totalTokenCount"]) == (0, 99)


def test_sources_are_placed_in_bytes() -> None:
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
    assert candidate(answer)["citationMetadata"]["citationSources"] == [
        {"startIndex": 15, "endIndex": 21, "uri": "https://a.example", "title": "A"},
        {"startIndex": 11, "endIndex": 22, "uri": "https://b.example"},
        {"startIndex": 11, "endIndex": 22, "uri": "https://c.example"},
    ]


def test_scripted_fields_stand_where_they_belong() -> None:
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
    (found,) = body["candidates"]
    assert (found["finishReason"], found["safetyRatings"]) == ("MALFORMED_FUNCTION_CALL", [])
    assert "finishReason" not in body
