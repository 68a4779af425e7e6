"""Requirement 004's events, field by field."""

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import pytest

from chat_app.errors import STATUSES
from chat_app.runs import log_entries as mapping
from chat_app.runs.tool_calls import display_arguments
from chat_app.values.events import (
    Error,
    TextDelta,
    ThinkingDelta,
    ToolCall,
    ToolEnded,
    ToolResult,
    ToolStarted,
    ToolStatus,
)

CONVERSATION, TRACE, MESSAGE = (UUID(int=number) for number in (1, 2, 3))
NOON = datetime(2025, 1, 2, 12, 0, 0, 123_999, tzinfo=UTC)


def test_started_names_the_users_message() -> None:
    assert mapping.started_entry(CONVERSATION, TRACE, message_id=MESSAGE) == (
        "started",
        {
            "conversation_id": str(CONVERSATION),
            "trace_id": str(TRACE),
            "message_id": str(MESSAGE),
        },
    )


def test_a_chunk_is_text_and_never_thinking() -> None:
    assert mapping.entry_of(TextDelta("Hel"), CONVERSATION) == (
        "chunk",
        {"content": "Hel", "conversation_id": str(CONVERSATION)},
    )
    assert mapping.entry_of(ThinkingDelta("hmm"), CONVERSATION) == (
        "thinking",
        {"content": "hmm", "conversation_id": str(CONVERSATION)},
    )


def test_tool_start_has_whole_arguments_and_the_time() -> None:
    call = ToolCall("a", "weather", '{"city": "Paris"}')
    assert mapping.entry_of(ToolStarted(call, {"city": "Paris"}, NOON), CONVERSATION) == (
        "tool_start",
        {
            "tool_call_id": "a",
            "tool_name": "weather",
            "tool_args": {"city": "Paris"},
            "timestamp": "2025-01-02T12:00:00.123Z",
        },
    )


def test_timestamps_are_in_utc() -> None:
    berlin = timezone(timedelta(hours=1))
    assert mapping.format_timestamp(NOON.astimezone(berlin)) == "2025-01-02T12:00:00.123Z"
    assert mapping.format_timestamp(NOON.replace(microsecond=0)) == "2025-01-02T12:00:00.000Z"


@pytest.mark.parametrize(
    ("arguments", "displayed"),
    [
        ("{}", {}),
        (' {"b": 1, "a": [1.5, null, true, "é"]}\n', {"b": 1, "a": [1.5, None, True, "é"]}),
        (r'{"a\ud800": ["\ud83d\ude00", {"x": "\udc00y"}]}', {"a": ["😀", {"x": "y"}]}),
    ],
)
def test_json_object_arguments_are_shown_as_objects(arguments: str, displayed: Any) -> None:
    assert display_arguments(arguments) == displayed


@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "null",
        "[1]",
        '"text"',
        '{"city": "Par',
        '{"x": NaN}',
        '{"x": -Infinity}',
        '{"x": 1e999}',
        '{"x": -1e999}',
        '{"x": ' + "9" * 5_000 + "}",
        '{"x": ' * 64 + "{}" + "}" * 64,
        '{"x": ' + "[" * 64 + "]" * 64 + "}",
        '{"x": ' * 100_000,
    ],
)
def test_arguments_that_are_no_object_are_shown_as_text(arguments: str) -> None:
    assert display_arguments(arguments) == arguments


def test_displayed_arguments_can_be_stored_and_encoded() -> None:
    for deepest in ('{"x": ' * 63 + "{}" + "}" * 63, '{"x": ' + "[" * 63 + "]" * 63 + "}"):
        displayed = display_arguments(deepest)
        assert json.dumps(displayed, allow_nan=False) == deepest


@pytest.mark.parametrize(
    ("length", "displayed", "truncated"),
    [(0, 0, False), (16_384, 16_384, False), (16_385, 16_384, True), (50_000, 16_384, True)],
)
def test_long_output_is_cut(length: int, displayed: int, truncated: bool) -> None:
    assert mapping.entry_of(ToolResult("a", "é" * length), CONVERSATION) == (
        "tool_output",
        {
            "tool_call_id": "a",
            "output": "é" * displayed,
            "truncated": truncated,
            "full_length": length,
            "is_error": False,
            "code": None,
        },
    )


def test_failed_tool_output_is_marked_as_error() -> None:
    result = ToolResult("a", "Error: timed out", is_error=True, code="SERVICE_UNAVAILABLE")
    entry = mapping.entry_of(result, CONVERSATION)
    assert entry is not None
    fields = entry[1]
    assert (fields["output"], fields["is_error"]) == ("Error: timed out", True)
    assert fields["code"] == "SERVICE_UNAVAILABLE"


@pytest.mark.parametrize("status", ["success", "error", "timeout", "cancelled"])
def test_tool_end_has_its_status_and_duration(status: ToolStatus) -> None:
    assert mapping.entry_of(ToolEnded("a", status, 12), CONVERSATION) == (
        "tool_end",
        {"tool_call_id": "a", "status": status, "duration_ms": 12},
    )


@pytest.mark.parametrize(("code", "status"), STATUSES.items())
def test_an_error_has_the_status_of_its_code(code: str, status: int) -> None:
    assert mapping.error_entry(Error("no", code)) == (
        "error",
        {"status": status, "message": "no", "code": code},
    )


def test_done_names_the_answer() -> None:
    fields = {
        "conversation_id": str(CONVERSATION),
        "message_id": str(MESSAGE),
        "trace_id": str(TRACE),
    }
    assert mapping.done_entry(CONVERSATION, TRACE, message_id=MESSAGE) == ("done", fields)
    assert mapping.done_entry(CONVERSATION, TRACE, message_id=MESSAGE, cancelled=True) == (
        "done",
        {**fields, "cancelled": True},
    )
