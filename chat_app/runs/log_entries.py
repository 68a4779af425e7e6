"""What a run's log holds: requirement 004's events, as a type and the fields that follow it,
made of a run's events."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias
from uuid import UUID

from chat_app.errors import STATUSES
from chat_app.values.events import (
    Error,
    RunEvent,
    TextDelta,
    ThinkingDelta,
    ToolCall,
    ToolEnded,
    ToolResult,
    ToolStarted,
    ToolStatus,
)
from chat_app.values.text import whole_characters

OUTPUT_LIMIT: Final = 16_384
# Deeper arguments are shown as the text that they came as.
_DEPTH: Final = 64

Entry: TypeAlias = tuple[str, dict[str, Any]]


def entry_of(event: RunEvent, conversation_id: UUID) -> Entry | None:
    """The entry of what is said before a run ends; None for what the log does not hold: a call
    that the model still writes, which is told once it is whole and started."""
    match event:
        case TextDelta():
            return chunk(event, conversation_id)
        case ThinkingDelta():
            return thinking(event, conversation_id)
        case ToolStarted(call, at):
            return tool_start(call, at)
        case ToolResult():
            return tool_output(event)
        case ToolEnded(call_id, status, duration_ms):
            return tool_end(call_id, status, duration_ms=duration_ms)
    return None


def started(conversation_id: UUID, trace_id: UUID, *, message_id: UUID) -> Entry:
    """`message_id` is that of the user's message."""
    return "started", {
        "conversation_id": str(conversation_id),
        "trace_id": str(trace_id),
        "message_id": str(message_id),
    }


def chunk(delta: TextDelta, conversation_id: UUID) -> Entry:
    return "chunk", {"content": delta.content, "conversation_id": str(conversation_id)}


def thinking(delta: ThinkingDelta, conversation_id: UUID) -> Entry:
    return "thinking", {"content": delta.content, "conversation_id": str(conversation_id)}


def tool_start(call: ToolCall, at: datetime) -> Entry:
    """`at` knows its time zone."""
    return "tool_start", {
        "tool_call_id": call.id,
        "tool_name": call.name,
        "tool_args": shown_arguments(call.arguments),
        "timestamp": timestamp(at),
    }


def tool_output(result: ToolResult) -> Entry:
    return "tool_output", {
        "tool_call_id": result.id,
        "output": result.result[:OUTPUT_LIMIT],
        "truncated": len(result.result) > OUTPUT_LIMIT,
        "full_length": len(result.result),
        "is_error": result.is_error,
        "code": result.code,
    }


def tool_end(tool_call_id: str, status: ToolStatus, *, duration_ms: int) -> Entry:
    return "tool_end", {
        "tool_call_id": tool_call_id,
        "status": status,
        "duration_ms": duration_ms,
    }


def error(event: Error) -> Entry:
    return "error", {
        "status": STATUSES[event.code],
        "message": event.message,
        "code": event.code,
    }


def done(
    conversation_id: UUID, trace_id: UUID, *, message_id: UUID, cancelled: bool = False
) -> Entry:
    """`message_id` is that of the answer. Only a cancelled run's event has `cancelled`."""
    fields: dict[str, Any] = {
        "conversation_id": str(conversation_id),
        "message_id": str(message_id),
        "trace_id": str(trace_id),
    }
    return "done", {**fields, "cancelled": True} if cancelled else fields


def timestamp(at: datetime) -> str:
    """RFC 3339 in UTC, to the millisecond."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def shown_arguments(arguments: str) -> dict[str, Any] | str:
    """The object that the arguments are, or their text where they are none that can be stored."""
    try:
        value = json.loads(arguments, parse_constant=_refused, parse_float=_finite)
        return _storable(value, _DEPTH) if isinstance(value, dict) else arguments
    except (ValueError, RecursionError):
        return arguments


def _refused(constant: str) -> Any:
    raise ValueError(constant)


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(text)
    return number


def _storable(value: Any, depth: int) -> Any:
    """The value without lone surrogates, which JSON can spell and UTF-8 cannot."""
    if depth == 0:
        raise ValueError("too deep")
    match value:
        case str():
            return whole_characters(value)
        case Mapping():
            return {
                whole_characters(key): _storable(inner, depth - 1) for key, inner in value.items()
            }
        case list():
            return [_storable(inner, depth - 1) for inner in value]
    return value
