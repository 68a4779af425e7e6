"""Streams of all providers: finish reasons, error messages, unexpected shapes."""

from typing import Any

import pytest

from chat_app.errors import SERVICE_UNAVAILABLE
from tests.chat.clients import claude_events, gemini_chunks, openai_chunks
from tests.chat.clients.claude_events import block, delta, stop
from tests.chat.clients.conftest import UNREADABLE
from tests.chat.clients.gemini_chunks import chunk_of, function_call
from tests.chat.clients.openai_chunks import call, chunk

# Events with the text "Hi", and the events that end the answer.
FIRST_EVENTS: dict[str, list[Any]] = {
    "anthropic": [claude_events.START, *claude_events.text(0, "Hi")],
    "google": [chunk_of({"text": "Hi"})],
    "openai": [chunk(content="Hi")],
}
END_EVENTS: dict[str, list[Any]] = {
    "anthropic": claude_events.message_end(),
    "google": [gemini_chunks.STOP],
    "openai": [openai_chunks.STOP, openai_chunks.DONE],
}
FINISH_REASONS: dict[str, dict[str | None, str]] = {
    "anthropic": {
        "end_turn": "stop",
        "stop_sequence": "stop",
        "max_tokens": "length",
        "model_context_window_exceeded": "length",
        "tool_use": "tool_calls",
        "refusal": "content_filter",
        "pause_turn": "pause_turn",
        "something_new": "something_new",
        None: "",
    },
    "google": {
        "STOP": "stop",
        "MAX_TOKENS": "length",
        "SAFETY": "content_filter",
        "RECITATION": "content_filter",
        "PROHIBITED_CONTENT": "content_filter",
        "MALFORMED_FUNCTION_CALL": "malformed_function_call",
        "OTHER": "other",
    },
}
STREAM_ERRORS: list[tuple[str, Any]] = [
    ("anthropic", {"type": "error", "error": {"type": "overloaded_error", "message": "No more."}}),
    *(
        ("google", {"error": {"code": code, "message": "No more.", "status": "UNAVAILABLE"}})
        for code in (401, 429, 503)
    ),
    ("openai", {"error": {"message": "No more.", "code": 429}}),
    ("openai", {"error": "No more."}),
]
MALFORMED_EVENTS: dict[str, list[Any]] = {
    "anthropic": [
        "[]",
        "1",
        "{",
        delta(7, type="text_delta", text="nowhere"),
        stop(7),
        block(1, type="text", text=1),
        block(1, type="tool_use", id=1, name="look", input={}),
        block(1, type="tool_use", id="a", name=None, input={}),
        delta(0, type="text_delta", text={"a": 1}),
        delta(0, type="text_delta", text=[]),
        {"type": "content_block_start", "index": 1},
        {"type": "content_block_delta", "index": 0},
        {"type": "message_start", "message": 1},
        {"type": "message_delta", "delta": 1},
    ],
    "google": [
        "1",
        "{",
        {"candidates": 1},
        {"candidates": [{"index": "x"}]},
        chunk_of({"text": 1}),
        chunk_of({"text": "x", "thoughtSignature": "!"}),
        chunk_of(function_call("")),
        chunk_of({"functionCall": {"args": {}}}),
        chunk_of(function_call(args=[])),
        {"usageMetadata": []},
    ],
    "openai": [
        "[]",
        "1",
        "null",
        '"text"',
        "{",
        {"choices": 1},
        {"choices": [1]},
        {"choices": [{"index": [], "delta": {}}]},
        chunk(content=1),
        chunk(content={"a": 1}),
        chunk(tool_calls=1),
        chunk(tool_calls=[1]),
        call(0, name=1),
        call({}, "a", name="look"),
        chunk(finish={}),
        chunk(reasoning=[]) | {"usage": 1},
    ],
}


def events_with_finish_reason(provider: str, reason: str | None) -> list[Any]:
    """Return events of an answer that ends with this reason of the provider."""
    if provider == "google":
        return [chunk_of({"text": "Hi"}, finish=reason)]
    return [*FIRST_EVENTS[provider], *claude_events.message_end(reason)]


@pytest.mark.parametrize(
    ("provider", "reason", "expected"),
    [(name, *pair) for name, reasons in FINISH_REASONS.items() for pair in reasons.items()],
)
def test_finish_reasons_are_translated(
    receive: Any, provider: str, reason: str | None, expected: str
) -> None:
    assert receive(*events_with_finish_reason(provider, reason)).finished.reason == expected


# These numbers of input tokens do not fit a database column.
HUGE_USAGE: dict[str, list[Any]] = {
    "anthropic": [
        {"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 10**30}}},
        *claude_events.message_end(),
    ],
    "google": [gemini_chunks.STOP | {"usageMetadata": {"promptTokenCount": 10**30}}],
    "openai": [openai_chunks.STOP, {"choices": [], "usage": {"prompt_tokens": 10**30}}],
}


@pytest.mark.parametrize("provider", HUGE_USAGE)
def test_impossible_number_of_tokens_counts_as_none(receive: Any, provider: str) -> None:
    assert receive(*HUGE_USAGE[provider]).finished.input_tokens == 0


@pytest.mark.parametrize(("provider", "error"), STREAM_ERRORS)
def test_stream_error_has_the_providers_message(receive: Any, provider: str, error: Any) -> None:
    received = receive(*FIRST_EVENTS[provider], error)
    assert (received.text, received.failure) == ("Hi", (SERVICE_UNAVAILABLE, "No more."))
    assert receive(error).failure == (SERVICE_UNAVAILABLE, "No more.")


@pytest.mark.parametrize(
    ("provider", "malformed"),
    [(name, event) for name, events in MALFORMED_EVENTS.items() for event in events],
)
def test_stream_of_another_shape_is_unreadable(receive: Any, provider: str, malformed: Any) -> None:
    received = receive(*FIRST_EVENTS[provider], malformed, *END_EVENTS[provider])
    assert (received.text, received.failure) == ("Hi", UNREADABLE)
