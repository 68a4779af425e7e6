"""What a Gemini answer says besides, by its model's generation and by its request's options."""

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
    LEAST,
    chunks,
    of_choices,
    parse,
    render,
    response,
)

FUNCTIONS = {"tools": [{"functionDeclarations": [{"name": "f"}]}]}
CALL = ToolCallPart("call_0123456789abcdef01234567", "f", '{"a": 1}')
OTHER = ToolCallPart("call_123456789abcdef012345678", "g", "{}")
CALLED = "Model generated function call(s)."


def asked(model: str, **fields: object) -> CanonicalRequest:
    return parse({**LEAST, **fields}, f"/v1beta/models/{model}:generateContent")


def candidate(model: str, *parts: AnswerPart, **fields: object) -> dict[str, Any]:
    (found,) = render(response(*parts), request=asked(model, **fields))["candidates"]
    return dict(found)


def streamed(model: str, *parts: AnswerPart, **fields: object) -> list[dict[str, Any]]:
    found = chunks(response(*parts), request=asked(model, **fields))
    return [chunk["candidates"][0] for chunk in found]


@pytest.mark.parametrize(
    ("model", "budget", "does"),
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
def test_thinking_depends_on_model_and_budget(model: str, budget: int | None, does: bool) -> None:
    assert thinks(model, budget) is does


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
def test_thinking_that_nobody_scripts_stays_in_its_budget(
    config: dict[str, object], tokens: int
) -> None:
    assert asked("gemini-2.5-flash", generationConfig=config).thought_tokens == tokens
    assert asked("gemini-2.0-flash", generationConfig=config).thought_tokens == 0


def test_models_before_2_5_have_no_first_index_and_tell_their_tokens_apart() -> None:
    answer = of_choices(Choice((TextPart("a"),), "stop"), Choice((TextPart("b"),), "stop"))
    said = render(answer, request=asked("gemini-2.0-flash"))
    assert [found.get("index") for found in said["candidates"]] == [None, 1]
    assert said["usageMetadata"]["candidatesTokensDetails"] == [
        {"modality": "TEXT", "tokenCount": 2}
    ]
    assert all(-1 < found["avgLogprobs"] < 0 for found in said["candidates"])
    later = render(answer, request=asked("gemini-2.5-flash"))
    assert "candidatesTokensDetails" not in later["usageMetadata"]
    assert "avgLogprobs" not in later["candidates"][0]


def test_a_scripted_probability_stands() -> None:
    answer = response(TextPart("a"), metadata={"avgLogprobs": -2})
    (found,) = render(answer, request=asked("gemini-2.0-flash"))["candidates"]
    assert found["avgLogprobs"] == -2


def test_answer_without_text_and_calls_is_not_signed_in_a_stream_either() -> None:
    request, answer = asked("gemini-3.5-flash"), response(TextPart(""))
    (chunk,) = chunks(answer, request=request)
    assert chunk["candidates"] == render(answer, request=request)["candidates"]


def test_scripted_log_probabilities_replace_those_of_a_streams_chunks() -> None:
    scripted = {"chosenCandidates": []}
    answer = response(TextPart("a b"), metadata={"logprobsResult": scripted})
    request = parse({**LEAST, "generationConfig": {"responseLogprobs": True}})
    found = [
        chunk["candidates"][0].get("logprobsResult") for chunk in chunks(answer, request=request)
    ]
    assert found == [None, scripted]


def test_models_before_2_5_count_at_the_end_of_a_stream_alone() -> None:
    found = chunks(response(TextPart("Hi all")), request=asked("gemini-2.0-flash"))
    *before, last = [chunk["usageMetadata"] for chunk in found]
    for usage in before:
        assert (usage["totalTokenCount"], "candidatesTokenCount" in usage) == (9, False)
        assert "candidatesTokensDetails" not in usage
    assert last["totalTokenCount"] == 11
    assert last["candidatesTokensDetails"] == [{"modality": "TEXT", "tokenCount": 2}]
    assert all("index" not in chunk["candidates"][0] for chunk in found)


@pytest.mark.parametrize(
    ("model", "made", "scripted"),
    [("gemini-2.0-flash", False, True), ("gemini-2.5-pro", False, True), ("gemini-3", True, True)],
)
def test_calls_have_ids_since_gemini_3_or_where_they_are_scripted(
    model: str, made: bool, scripted: bool
) -> None:
    for call, expected in ((CALL, made), (ToolCallPart("mine", "f", "{}"), scripted)):
        (part,) = candidate(model, call)["content"]["parts"]
        assert ("id" in part["functionCall"]) is expected


@pytest.mark.parametrize(
    ("model", "message"),
    [("gemini-2.0-flash", None), ("gemini-2.5-flash", CALLED), ("gemini-3.8-flash", CALLED)],
)
def test_an_answer_that_calls_says_so_since_2_5(model: str, message: str | None) -> None:
    assert candidate(model, TextPart("Well."), CALL).get("finishMessage") == message
    assert "finishMessage" not in candidate(model, TextPart("Well."))


def test_truncated_call_has_no_finish_message() -> None:
    answer = response(CALL, reason="length")
    (found,) = render(answer, request=asked("gemini-3"))["candidates"]
    assert (found["finishReason"], "finishMessage" in found) == ("MAX_TOKENS", False)


def signed(model: str, *parts: AnswerPart, **fields: object) -> list[bool]:
    said = candidate(model, *parts, **fields)["content"]["parts"]
    return ["thoughtSignature" in part for part in said]


def test_the_first_call_is_signed_else_the_last_text() -> None:
    text = TextPart("a")
    assert signed("gemini-3", text, CALL, OTHER, text) == [False, True, False, False]
    assert signed("gemini-3", text, ReasoningPart("Hm."), text) == [False, False, True]
    assert signed("gemini-3", ReasoningPart("Hm.")) == [False]
    assert signed("gemini-3", ServerToolUsePart("s", "web_search", "{}")) == [False]


def test_2_5_signs_where_functions_are_offered() -> None:
    assert signed("gemini-2.5-flash", TextPart("a")) == [False]
    assert signed("gemini-2.5-flash", TextPart("a"), **FUNCTIONS) == [True]


def test_model_without_thinking_signs_nothing() -> None:
    config = {"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}}
    for model in ("gemini-3-flash-preview", "gemini-2.5-flash"):
        assert signed(model, CALL, **FUNCTIONS, **config) == [False]
    assert signed("gemini-2.0-flash", CALL, **FUNCTIONS) == [False]


@pytest.mark.parametrize("scripted", [{"signature": "sig"}, {"redacted": "c2VjcmV0"}])
def test_scripted_signature_replaces_generated_ones(scripted: dict[str, str]) -> None:
    thinking = ReasoningPart("Hm.", **scripted)
    assert signed("gemini-3", thinking, TextPart("a")) == [True, False]


def test_a_signature_comes_back_unharmed() -> None:
    said = candidate("gemini-3", TextPart("a"), CALL)["content"]
    assert said == candidate("gemini-3", TextPart("a"), CALL)["content"]
    (thinking,) = [
        part
        for message in parse({"contents": [HELLO, said, HELLO]}).messages
        for part in message.parts
        if isinstance(part, ReasoningPart)
    ]
    assert (thinking.text, thinking.signature) == ("", said["parts"][1]["thoughtSignature"])


def test_each_candidate_has_a_signature_of_its_own() -> None:
    answer = of_choices(Choice((TextPart("a"),), "stop"), Choice((TextPart("a"),), "stop"))
    said = render(answer, request=asked("gemini-3"))["candidates"]
    one, two = (found["content"]["parts"][0]["thoughtSignature"] for found in said)
    assert one != two


def test_a_stream_signs_a_text_at_its_end_and_a_call_with_it() -> None:
    (whole,) = candidate("gemini-3", TextPart("Hi all"))["content"]["parts"]
    *before, last = streamed("gemini-3", TextPart("Hi all"))
    assert last["content"]["parts"] == [{"text": "", "thoughtSignature": whole["thoughtSignature"]}]
    assert all("thoughtSignature" not in found["content"]["parts"][0] for found in before)
    text, call, other, last = (
        found["content"]["parts"][0] for found in streamed("gemini-3", TextPart("Hi"), CALL, OTHER)
    )
    assert ["thoughtSignature" in part for part in (text, call, other, last)] == [
        *(False, True, False, False)
    ]


def test_a_stream_of_nothing_but_calls_is_one_chunk_up_to_2_5() -> None:
    (only,) = streamed("gemini-2.5-flash", CALL, OTHER, **FUNCTIONS)
    assert [part["functionCall"]["name"] for part in only["content"]["parts"]] == ["f", "g"]
    assert ["thoughtSignature" in part for part in only["content"]["parts"]] == [True, False]
    assert (only["finishReason"], only["finishMessage"]) == ("STOP", CALLED)
    assert [only.get("finishMessage") for only in streamed("gemini-2.0-flash", CALL)] == [None]
    assert len(streamed("gemini-2.5-flash", TextPart("Hi"), CALL)) == 3
    call, last = streamed("gemini-3-pro-preview", CALL)
    assert "finishReason" not in call
    assert (last["content"]["parts"], last["finishReason"]) == ([{"text": ""}], "STOP")


def test_a_stream_of_one_chunk_has_all_of_the_usage() -> None:
    answer = response(CALL, usage=Usage(9, 7, 2))
    (only,) = chunks(answer, request=asked("gemini-2.5-flash"))
    assert (
        only["usageMetadata"] == render(answer, request=asked("gemini-2.5-flash"))["usageMetadata"]
    )


def test_a_stream_never_counts_more_than_its_end_does() -> None:
    found = chunks(response(TextPart("x" * 40), usage=Usage(9, 3)), request=asked("gemini-3"))
    counted = [chunk["usageMetadata"]["candidatesTokenCount"] for chunk in found]
    assert counted == [1, 2, *[3] * (len(found) - 2)]
