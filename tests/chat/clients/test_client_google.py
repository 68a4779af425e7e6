"""Gemini's responses, in the forms that Google documents."""

from base64 import b64encode
from typing import Any

import pytest

from chat_app.errors import SERVICE_UNAVAILABLE
from chat_app.values.model_call import (
    CallArguments,
    CallBegun,
    Finished,
    TextPiece,
    ThinkingPiece,
)
from tests.chat.scripted import hear
from tests.chat.ways import Told

UNREADABLE = (SERVICE_UNAVAILABLE, "Failed to parse response")
# Bytes that the two alphabets of base64 write differently.
SEAL = b64encode(b"\xff\xfe seal").decode()


def said(*parts: dict[str, Any], index: int = 0, finish: str | None = None) -> dict[str, Any]:
    candidate: dict[str, Any] = {"index": index}
    if parts:
        candidate["content"] = {"role": "model", "parts": list(parts)}
    if finish:
        candidate["finishReason"] = finish
    return {"candidates": [candidate]}


def called(name: str = "look", **fields: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, **fields}}


STOP = said(finish="STOP")


@pytest.fixture
def told(settings: Any) -> Any:
    def ask(*given: Any) -> Told:
        return hear(settings, "google", *given)

    return ask


def test_an_answer_is_its_parts_and_its_tokens(told: Any) -> None:
    usage = {"promptTokenCount": 5, "candidatesTokenCount": 6, "thoughtsTokenCount": 7}
    heard = told(said({"text": "Hi"}), STOP | {"usageMetadata": usage})
    assert heard.events == [TextPiece("Hi"), Finished("stop", 5, 13)]


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("STOP", "stop"),
        ("MAX_TOKENS", "length"),
        ("SAFETY", "content_filter"),
        ("RECITATION", "content_filter"),
        ("PROHIBITED_CONTENT", "content_filter"),
        ("MALFORMED_FUNCTION_CALL", "malformed_function_call"),
        ("OTHER", "other"),
    ],
)
def test_reasons_to_finish(told: Any, reason: str, expected: str) -> None:
    assert told(said({"text": "Hi"}, finish=reason)).finished.reason == expected


def test_an_end_without_a_reason_is_none(told: Any) -> None:
    assert told(said({"text": "Hi"})).failed == UNREADABLE
    assert told().failed == UNREADABLE
    assert told({"modelVersion": "m"}).failed == UNREADABLE


def test_tokens_may_come_after_the_reason(told: Any) -> None:
    after = {"usageMetadata": {"promptTokenCount": 5}}
    assert told(said({"text": "Hi"}), STOP, after).finished == Finished("stop", 5, 0)


def test_thoughts_are_told_apart(told: Any) -> None:
    heard = told(said({"text": "Hm.", "thought": True}, {"text": "Hi"}), STOP)
    assert heard.events[:2] == [ThinkingPiece("Hm."), TextPiece("Hi")]


def test_a_calls_signature_closes_the_thinking_before_it(told: Any) -> None:
    heard = told(
        said({"text": "Hm.", "thought": True}),
        said({**called(id="c1", args={"a": 1}), "thoughtSignature": SEAL}, called(id="c2")),
        STOP,
    )
    assert heard.events == [
        ThinkingPiece("Hm."),
        ThinkingPiece(signature=SEAL),
        CallBegun("c1", "look"),
        CallArguments("c1", '{"a": 1}'),
        CallBegun("c2", "look"),
        CallArguments("c2", "{}"),
        Finished("tool_calls"),
    ]


def test_a_signature_that_is_said_twice_is_one(told: Any) -> None:
    thought = {"text": "Hm.", "thought": True, "thoughtSignature": SEAL}
    heard = told(said(thought, {**called(id="c1"), "thoughtSignature": SEAL}), STOP)
    assert heard.thinking == [ThinkingPiece("Hm."), ThinkingPiece(signature=SEAL)]


def test_a_signature_may_come_with_an_empty_text_at_the_end(told: Any) -> None:
    heard = told(said({"text": "Hi"}), said({"text": "", "thoughtSignature": SEAL}), STOP)
    assert heard.events[:2] == [TextPiece("Hi"), ThinkingPiece(signature=SEAL)]


def test_calls_without_ids_get_some(told: Any) -> None:
    said_twice = [said(called(args={"a": 1}), called("hear")), STOP]
    assert told(*said_twice).calls == {
        "call_1_0": ("look", '{"a": 1}'),
        "call_1_1": ("hear", "{}"),
    }
    assert told(*said_twice).events == told(*said_twice).events


def test_arguments_keep_their_characters(told: Any) -> None:
    heard = told(said(called(id="c1", args={"city": "Zürich 🏔"})), STOP)
    assert heard.calls["c1"] == ("look", '{"city": "Zürich 🏔"}')


def test_parts_that_are_not_asked_for_are_passed_over(told: Any) -> None:
    code = {"executableCode": {"language": "PYTHON", "code": "1"}}
    result = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}
    assert told(said(code, result, {"text": "Hi"}), STOP).text == "Hi"


def test_a_blocked_prompt_says_why(told: Any) -> None:
    feedback = {"blockReason": "OTHER", "blockReasonMessage": "Not here."}
    assert told({"promptFeedback": feedback}).failed == (
        SERVICE_UNAVAILABLE,
        "The prompt was blocked: Not here.",
    )


@pytest.mark.parametrize("code", [401, 429, 503])
def test_an_error_in_the_stream_is_told_in_its_words(told: Any, code: int) -> None:
    error = {"error": {"code": code, "message": "No more.", "status": "UNAVAILABLE"}}
    heard = told(said({"text": "Hi"}), error)
    assert (heard.text, heard.failed) == ("Hi", (SERVICE_UNAVAILABLE, "No more."))


@pytest.mark.parametrize(
    "strange",
    [
        "1",
        "{",
        {"candidates": 1},
        {"candidates": [{"index": "x"}]},
        said({"text": 1}),
        said({"text": "x", "thoughtSignature": "!"}),
        said(called("")),
        said({"functionCall": {"args": {}}}),
        said(called(args=[])),
        {"usageMetadata": []},
    ],
)
def test_what_has_another_shape_cannot_be_read(told: Any, strange: Any) -> None:
    heard = told(said({"text": "Hi"}), strange, STOP)
    assert (heard.text, heard.failed) == ("Hi", UNREADABLE)
