"""Gemini's responses, in the forms that Google documents."""

from typing import Any

import pytest

from chat_app.errors import SERVICE_UNAVAILABLE
from chat_app.values.model_call import (
    CallArguments,
    CallStarted,
    Finished,
    TextPart,
    ThinkingPart,
    Usage,
)
from tests.chat.clients.conftest import UNREADABLE
from tests.chat.clients.gemini_chunks import SEAL, STOP, called, chunk_of


@pytest.fixture
def provider() -> str:
    return "google"


def test_an_answer_is_its_parts_and_its_tokens(receive: Any) -> None:
    usage = {"promptTokenCount": 5, "candidatesTokenCount": 6, "thoughtsTokenCount": 7}
    received = receive(chunk_of({"text": "Hi"}), STOP | {"usageMetadata": usage})
    assert received.events == [TextPart("Hi"), Usage(5, 13), Finished("stop", 5, 13)]


def test_an_end_without_a_reason_is_none(receive: Any) -> None:
    assert receive(chunk_of({"text": "Hi"})).failed == UNREADABLE
    assert receive().failed == UNREADABLE
    assert receive({"modelVersion": "m"}).failed == UNREADABLE


def test_tokens_may_come_after_the_reason(receive: Any) -> None:
    after = {"usageMetadata": {"promptTokenCount": 5}}
    assert receive(chunk_of({"text": "Hi"}), STOP, after).finished == Finished("stop", 5, 0)


def test_thoughts_are_told_apart(receive: Any) -> None:
    received = receive(chunk_of({"text": "Hm.", "thought": True}, {"text": "Hi"}), STOP)
    assert received.events[:2] == [ThinkingPart("Hm."), TextPart("Hi")]


def test_a_calls_signature_closes_the_thinking_before_it(receive: Any) -> None:
    received = receive(
        chunk_of({"text": "Hm.", "thought": True}),
        chunk_of({**called(id="c1", args={"a": 1}), "thoughtSignature": SEAL}, called(id="c2")),
        STOP,
    )
    assert received.events == [
        ThinkingPart("Hm."),
        ThinkingPart(signature=SEAL),
        CallStarted("c1", "look"),
        CallArguments("c1", '{"a": 1}'),
        CallStarted("c2", "look"),
        CallArguments("c2", "{}"),
        Finished("tool_calls"),
    ]


def test_a_signature_that_is_said_twice_is_one(receive: Any) -> None:
    thought = {"text": "Hm.", "thought": True, "thoughtSignature": SEAL}
    received = receive(chunk_of(thought, {**called(id="c1"), "thoughtSignature": SEAL}), STOP)
    assert received.thinking == [ThinkingPart("Hm."), ThinkingPart(signature=SEAL)]


def test_a_signature_may_come_with_an_empty_text_at_the_end(receive: Any) -> None:
    received = receive(
        chunk_of({"text": "Hi"}), chunk_of({"text": "", "thoughtSignature": SEAL}), STOP
    )
    assert received.events[:2] == [TextPart("Hi"), ThinkingPart(signature=SEAL)]


def test_calls_without_ids_get_some(receive: Any) -> None:
    said_twice = [chunk_of(called(args={"a": 1}), called("hear")), STOP]
    assert receive(*said_twice).calls == {
        "call_1_0": ("look", '{"a": 1}'),
        "call_1_1": ("hear", "{}"),
    }
    assert receive(*said_twice).events == receive(*said_twice).events


def test_arguments_keep_their_characters(receive: Any) -> None:
    received = receive(chunk_of(called(id="c1", args={"city": "Zürich 🏔"})), STOP)
    assert received.calls["c1"] == ("look", '{"city": "Zürich 🏔"}')


def test_parts_that_are_not_asked_for_are_passed_over(receive: Any) -> None:
    code = {"executableCode": {"language": "PYTHON", "code": "1"}}
    result = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}
    assert receive(chunk_of(code, result, {"text": "Hi"}), STOP).text == "Hi"


def test_a_blocked_prompt_says_why(receive: Any) -> None:
    feedback = {"blockReason": "OTHER", "blockReasonMessage": "Not here."}
    assert receive({"promptFeedback": feedback}).failed == (
        SERVICE_UNAVAILABLE,
        "The prompt was blocked: Not here.",
    )
