"""Fields of Gemini responses that depend on the model's generation and on options."""

from typing import Any

import pytest

from scenarios_app.engine.canonical import CanonicalRequest, Choice, Usage
from scenarios_app.engine.parts import (
    AnswerPart,
    ReasoningPart,
    ServerToolUsePart,
    TextPart,
    ToolCallPart,
)
from scenarios_app.wire.gemini.style import thinks
from tests.wire.gemini.gemini_cases import (
    HELLO,
    MINIMAL_BODY,
    parse,
    render,
    response,
    response_of_choices,
    stream_chunks,
)

FUNCTIONS = {"tools": [{"functionDeclarations": [{"name": "f"}]}]}
CALL = ToolCallPart("call_0123456789abcdef01234567", "f", '{"a": 1}')
OTHER = ToolCallPart("call_123456789abcdef012345678", "g", "{}")
CALL_MESSAGE = "Model generated function call(s)."


def parse_for_model(model: str, **fields: object) -> CanonicalRequest:
    return parse({**MINIMAL_BODY, **fields}, f"/v1beta/models/{model}:generateContent")


def render_candidate(model: str, *parts: AnswerPart, **fields: object) -> dict[str, Any]:
    (candidate,) = render(response(*parts), request=parse_for_model(model, **fields))["candidates"]
    return dict(candidate)


def stream_candidates(model: str, *parts: AnswerPart, **fields: object) -> list[dict[str, Any]]:
    chunks = stream_chunks(response(*parts), request=parse_for_model(model, **fields))
    return [chunk["candidates"][0] for chunk in chunks]


@pytest.mark.parametrize(
    ("model", "budget", "expected"),
    [
        ("gemini-1.5-flash", None, False),
        ("gemini-2.0-flash", 100, False),
        ("gemini-2.5-flash", None, True),
        ("gemini-2.5-flash", -1, True),
        ("gemini-2.5-flash", 0, False),
        ("gemini-2.5-flash-lite", None, False),
        ("gemini-2.5-flash-lite", 512, True),
        ("gemini-2.5-flash-image", None, False),
        ("gemini-2.5-flash-preview-tts", 9, False),
        ("gemini-3.1-flash-lite", None, True),
        ("gemini-3-pro-preview", None, True),
        ("gemini-flash-latest", None, True),
        ("gemini-x", None, False),
        ("gemma-3-27b-it", None, False),
    ],
)
def test_thinking_depends_on_model_and_budget(
    model: str, budget: int | None, expected: bool
) -> None:
    assert thinks(model, budget) is expected


@pytest.mark.parametrize(
    ("config", "tokens"),
    [
        ({}, 64),
        ({"thinkingConfig": {"thinkingBudget": -1}}, 64),
        ({"thinkingConfig": {"thinkingBudget": 9}}, 9),
        ({"thinkingConfig": {"thinkingBudget": 0}}, 0),
        ({"thinkingConfig": {"includeThoughts": False}}, 64),
    ],
)
def test_unscripted_thinking_tokens_stay_within_the_budget(
    config: dict[str, object], tokens: int
) -> None:
    assert parse_for_model("gemini-2.5-flash", generationConfig=config).thought_tokens == tokens
    assert parse_for_model("gemini-2.0-flash", generationConfig=config).thought_tokens == 0


def test_models_before_2_5_have_no_first_index_and_have_token_details() -> None:
    answer = response_of_choices(Choice((TextPart("a"),), "stop"), Choice((TextPart("b"),), "stop"))
    body = render(answer, request=parse_for_model("gemini-2.0-flash"))
    assert [candidate.get("index") for candidate in body["candidates"]] == [None, 1]
    assert body["usageMetadata"]["candidatesTokensDetails"] == [
        {"modality": "TEXT", "tokenCount": 2}
    ]
    assert all(-1 < candidate["avgLogprobs"] < 0 for candidate in body["candidates"])
    newer_body = render(answer, request=parse_for_model("gemini-2.5-flash"))
    assert "candidatesTokensDetails" not in newer_body["usageMetadata"]
    assert "avgLogprobs" not in newer_body["candidates"][0]


def test_scripted_probability_is_not_replaced() -> None:
    answer = response(TextPart("a"), metadata={"avgLogprobs": -2})
    (candidate,) = render(answer, request=parse_for_model("gemini-2.0-flash"))["candidates"]
    assert candidate["avgLogprobs"] == -2


def test_empty_response_is_not_signed_in_a_stream() -> None:
    request, answer = parse_for_model("gemini-3.5-flash"), response(TextPart(""))
    (chunk,) = stream_chunks(answer, request=request)
    assert chunk["candidates"] == render(answer, request=request)["candidates"]


def test_scripted_log_probabilities_replace_those_of_a_streams_chunks() -> None:
    scripted = {"chosenCandidates": []}
    answer = response(TextPart("a b"), metadata={"logprobsResult": scripted})
    request = parse({**MINIMAL_BODY, "generationConfig": {"responseLogprobs": True}})
    logprobs_results = [
        chunk["candidates"][0].get("logprobsResult")
        for chunk in stream_chunks(answer, request=request)
    ]
    assert logprobs_results == [None, scripted]


def test_models_before_2_5_count_tokens_only_in_the_last_chunk() -> None:
    chunks = stream_chunks(
        response(TextPart("Hi all")), request=parse_for_model("gemini-2.0-flash")
    )
    *before, last = [chunk["usageMetadata"] for chunk in chunks]
    for usage in before:
        assert (usage["totalTokenCount"], "candidatesTokenCount" in usage) == (9, False)
        assert "candidatesTokensDetails" not in usage
    assert last["totalTokenCount"] == 11
    assert last["candidatesTokensDetails"] == [{"modality": "TEXT", "tokenCount": 2}]
    assert all("index" not in chunk["candidates"][0] for chunk in chunks)


@pytest.mark.parametrize(
    ("model", "has_generated_id", "has_scripted_id"),
    [("gemini-2.0-flash", False, True), ("gemini-2.5-pro", False, True), ("gemini-3", True, True)],
)
def test_calls_have_ids_since_gemini_3_or_if_scripted(
    model: str, has_generated_id: bool, has_scripted_id: bool
) -> None:
    for call, expected in (
        (CALL, has_generated_id),
        (ToolCallPart("mine", "f", "{}"), has_scripted_id),
    ):
        (part,) = render_candidate(model, call)["content"]["parts"]
        assert ("id" in part["functionCall"]) is expected


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("gemini-2.0-flash", None),
        ("gemini-2.5-flash", CALL_MESSAGE),
        ("gemini-3.8-flash", CALL_MESSAGE),
    ],
)
def test_calls_have_a_finish_message_since_2_5(model: str, message: str | None) -> None:
    assert render_candidate(model, TextPart("Well."), CALL).get("finishMessage") == message
    assert "finishMessage" not in render_candidate(model, TextPart("Well."))


def test_truncated_call_has_no_finish_message() -> None:
    answer = response(CALL, reason="length")
    (candidate,) = render(answer, request=parse_for_model("gemini-3"))["candidates"]
    assert (candidate["finishReason"], "finishMessage" in candidate) == ("MAX_TOKENS", False)


def signature_flags(model: str, *parts: AnswerPart, **fields: object) -> list[bool]:
    rendered_parts = render_candidate(model, *parts, **fields)["content"]["parts"]
    return ["thoughtSignature" in part for part in rendered_parts]


def test_first_call_or_last_text_is_signed() -> None:
    text = TextPart("a")
    assert signature_flags("gemini-3", text, CALL, OTHER, text) == [False, True, False, False]
    assert signature_flags("gemini-3", text, ReasoningPart("Hm."), text) == [False, False, True]
    assert signature_flags("gemini-3", ReasoningPart("Hm.")) == [False]
    assert signature_flags("gemini-3", ServerToolUsePart("s", "web_search", "{}")) == [False]


def test_2_5_signs_only_if_functions_are_offered() -> None:
    assert signature_flags("gemini-2.5-flash", TextPart("a")) == [False]
    assert signature_flags("gemini-2.5-flash", TextPart("a"), **FUNCTIONS) == [True]


def test_model_without_thinking_signs_nothing() -> None:
    config = {"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}}
    for model in ("gemini-3-flash-preview", "gemini-2.5-flash"):
        assert signature_flags(model, CALL, **FUNCTIONS, **config) == [False]
    assert signature_flags("gemini-2.0-flash", CALL, **FUNCTIONS) == [False]


@pytest.mark.parametrize("scripted", [{"signature": "sig"}, {"redacted": "c2VjcmV0"}])
def test_scripted_signature_replaces_generated_ones(scripted: dict[str, str]) -> None:
    thinking = ReasoningPart("Hm.", **scripted)
    assert signature_flags("gemini-3", thinking, TextPart("a")) == [True, False]


def test_returned_signature_is_read_unchanged() -> None:
    content = render_candidate("gemini-3", TextPart("a"), CALL)["content"]
    assert content == render_candidate("gemini-3", TextPart("a"), CALL)["content"]
    (thinking,) = [
        part
        for message in parse({"contents": [HELLO, content, HELLO]}).messages
        for part in message.parts
        if isinstance(part, ReasoningPart)
    ]
    assert (thinking.text, thinking.signature) == ("", content["parts"][1]["thoughtSignature"])


def test_candidates_have_different_signatures() -> None:
    answer = response_of_choices(Choice((TextPart("a"),), "stop"), Choice((TextPart("a"),), "stop"))
    candidates = render(answer, request=parse_for_model("gemini-3"))["candidates"]
    first, second = (
        candidate["content"]["parts"][0]["thoughtSignature"] for candidate in candidates
    )
    assert first != second


def test_a_stream_signs_a_text_at_its_end_and_a_call_with_it() -> None:
    (signed_part,) = render_candidate("gemini-3", TextPart("Hi all"))["content"]["parts"]
    *before, last = stream_candidates("gemini-3", TextPart("Hi all"))
    assert last["content"]["parts"] == [
        {"text": "", "thoughtSignature": signed_part["thoughtSignature"]}
    ]
    assert all("thoughtSignature" not in candidate["content"]["parts"][0] for candidate in before)
    text, call, second_call, last = (
        candidate["content"]["parts"][0]
        for candidate in stream_candidates("gemini-3", TextPart("Hi"), CALL, OTHER)
    )
    assert ["thoughtSignature" in part for part in (text, call, second_call, last)] == [
        *(False, True, False, False)
    ]


def test_stream_of_calls_alone_is_one_chunk_up_to_2_5() -> None:
    (candidate,) = stream_candidates("gemini-2.5-flash", CALL, OTHER, **FUNCTIONS)
    assert [part["functionCall"]["name"] for part in candidate["content"]["parts"]] == ["f", "g"]
    assert ["thoughtSignature" in part for part in candidate["content"]["parts"]] == [True, False]
    assert (candidate["finishReason"], candidate["finishMessage"]) == ("STOP", CALL_MESSAGE)
    assert [
        candidate.get("finishMessage") for candidate in stream_candidates("gemini-2.0-flash", CALL)
    ] == [None]
    assert len(stream_candidates("gemini-2.5-flash", TextPart("Hi"), CALL)) == 3
    call, last = stream_candidates("gemini-3-pro-preview", CALL)
    assert "finishReason" not in call
    assert (last["content"]["parts"], last["finishReason"]) == ([{"text": ""}], "STOP")


def test_stream_of_one_chunk_has_the_full_usage() -> None:
    answer = response(CALL, usage=Usage(9, 7, 2))
    (chunk,) = stream_chunks(answer, request=parse_for_model("gemini-2.5-flash"))
    assert (
        chunk["usageMetadata"]
        == render(answer, request=parse_for_model("gemini-2.5-flash"))["usageMetadata"]
    )


def test_token_counts_of_a_stream_do_not_exceed_the_last() -> None:
    chunks = stream_chunks(
        response(TextPart("x" * 40), usage=Usage(9, 3)), request=parse_for_model("gemini-3")
    )
    token_counts = [chunk["usageMetadata"]["candidatesTokenCount"] for chunk in chunks]
    assert token_counts == [1, 2, *[3] * (len(chunks) - 2)]
