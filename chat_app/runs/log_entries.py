"""Converts a run's events to requirement 004's events, each as a type and its fields."""

from datetime import UTC, datetime
from typing import Any, Final, TypeAlias
from uuid import UUID

from chat_app.errors import STATUSES
from chat_app.values import events as run_events

MAX_OUTPUT_CHARS: Final = 16_384

Entry: TypeAlias = tuple[str, dict[str, Any]]


def entry_of(event: run_events.RunEvent, conversation_id: UUID) -> Entry | None:
    """Return the log entry of an event, or None if it is not logged. Pieces of a tool call are not
    logged, only its start once it is complete."""
    match event:
        case run_events.TextDelta(content):
            return "chunk", {"content": content, "conversation_id": str(conversation_id)}
        case run_events.ThinkingDelta(content):
            return "thinking", {"content": content, "conversation_id": str(conversation_id)}
        case run_events.ToolStarted(call, arguments, at):
            return "tool_start", {
                "tool_call_id": call.id,
                "tool_name": call.name,
                "tool_args": arguments,
                "timestamp": format_timestamp(at),
            }
        case run_events.ToolResult(call_id, result, is_error, code):
            return "tool_output", {
                "tool_call_id": call_id,
                "output": result[:MAX_OUTPUT_CHARS],
                "truncated": len(result) > MAX_OUTPUT_CHARS,
                "full_length": len(result),
                "is_error": is_error,
                "code": code,
            }
        case run_events.ToolEnded(call_id, status, duration_ms):
            return "tool_end", {
                "tool_call_id": call_id,
                "status": status,
                "duration_ms": duration_ms,
            }
    return None


def started_entry(conversation_id: UUID, trace_id: UUID, *, message_id: UUID) -> Entry:
    """Return the first entry of a run; `message_id` is that of the user's message."""
    return "started", {
        "conversation_id": str(conversation_id),
        "trace_id": str(trace_id),
        "message_id": str(message_id),
    }


def error_entry(event: run_events.Error) -> Entry:
    """Return the last entry of a failed run."""
    return "error", {"status": STATUSES[event.code], "message": event.message, "code": event.code}


def done_entry(
    conversation_id: UUID, trace_id: UUID, *, message_id: UUID, cancelled: bool = False
) -> Entry:
    """Return the last entry of a run that did not fail; `message_id` is that of the answer. Only a
    cancelled run's entry has `cancelled`."""
    fields: dict[str, Any] = {
        "conversation_id": str(conversation_id),
        "message_id": str(message_id),
        "trace_id": str(trace_id),
    }
    return "done", {**fields, "cancelled": True} if cancelled else fields


def format_timestamp(at: datetime) -> str:
    """Return a time as RFC 3339 text in UTC, with milliseconds."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
