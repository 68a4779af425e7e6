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
from tests.chat.clients.gemini_chunks import SEAL, STOP, chunk_of, function_call


@pytest.fixture
def provider() -> str:
    return "google"


def test_answer_has_its_text_and_tokens(receive: Any) -> None:
    usage = {"promptTokenCount": 5, "candidatesTokenCount": 6, "thoughtsTokenCount": 7}
    received = receive(chunk_of({"text": "Hi"}), STOP | {"usageMetadata": usage})
    assert received.events == [TextPart("Hi"), Usage(5, 13), Finished("stop", 5, 13)]


def test_stream_without_finish_reason_is_unreadable(receive: Any) -> None:
    assert receive(chunk_of({"text": "Hi"})).failure == UNREADABLE
    assert receive().failure == UNREADABLE
    assert receive({"modelVersion": "m"}).failure == UNREADABLE


def test_tokens_may_come_after_the_reason(receive: Any) -> None:
    after = {"usageMetadata": {"promptTokenCount": 5}}
    assert receive(chunk_of({"text": "Hi"}), STOP, after).finished == Finished("stop", 5, 0)


def test_thoughts_are_separate_from_text(receive: Any) -> None:
    received = receive(chunk_of({"text": "Hm.", "thought": True}, {"text": "Hi"}), STOP)
    assert received.events[:2] == [ThinkingPart("Hm."), TextPart("Hi")]


def test_a_calls_signature_closes_the_thinking_before_it(receive: Any) -> None:
    received = receive(
        chunk_of({"text": "Hm.", "thought": True}),
        chunk_of(
            {**function_call(id="c1", args={"a": 1}), "thoughtSignature": SEAL},
            function_call(id="c2"),
        ),
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


def test_repeated_signature_is_reported_once(receive: Any) -> None:
    thought = {"text": "Hm.", "thought": True, "thoughtSignature": SEAL}
    received = receive(
        chunk_of(thought, {**function_call(id="c1"), "thoughtSignature": SEAL}), STOP
    )
    assert received.thinking == [ThinkingPart("Hm."), ThinkingPart(signature=SEAL)]


def test_a_signature_may_come_with_an_empty_text_at_the_end(receive: Any) -> None:
    received = receive(
        chunk_of({"text": "Hi"}), chunk_of({"text": "", "thoughtSignature": SEAL}), STOP
    )
    assert received.events[:2] == [TextPart("Hi"), ThinkingPart(signature=SEAL)]


def test_calls_without_ids_get_stable_ones(receive: Any) -> None:
    chunks = [chunk_of(function_call(args={"a": 1}), function_call("hear")), STOP]
    assert receive(*chunks).calls == {
        "call_1_0": ("look", '{"a": 1}'),
        "call_1_1": ("hear", "{}"),
    }
    assert receive(*chunks).events == receive(*chunks).events


def test_arguments_keep_their_characters(receive: Any) -> None:
    received = receive(chunk_of(function_call(id="c1", args={"city": "Zürich 🏔"})), STOP)
    assert received.calls["c1"] == ("look", '{"city": "Zürich 🏔"}')


def test_unrequested_parts_are_ignored(receive: Any) -> None:
    code = {"executableCode": {"language": "PYTHON", "code": "1"}}
    result = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}
    assert receive(chunk_of(code, result, {"text": "Hi"}), STOP).text == "Hi"


def test_blocked_prompt_error_has_its_reason(receive: Any) -> None:
    feedback = {"blockReason": "OTHER", "blockReasonMessage": "Not here."}
    assert receive({"promptFeedback": feedback}).failure == (
        SERVICE_UNAVAILABLE,
        "The prompt was blocked: Not here.",
    )
