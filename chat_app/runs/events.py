"""A run's log as requirement 002's events, for whoever was not there when it began."""

import json
from collections.abc import AsyncIterator

from chat_app.values.events import (
    Complete,
    Error,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallStart,
    ToolResult,
)
from traces_app.log import LoggedEvent


async def told_events(log: AsyncIterator[LoggedEvent]) -> AsyncIterator[StreamEvent]:
    """The events that a log amounts to; results of tools are as long as it keeps them."""
    text: list[str] = []
    thinking: list[str] = []
    calls: list[ToolCall] = []
    async for logged in log:
        said = logged.payload
        match logged.type:
            case "chunk":
                text.append(said["content"])
                yield TextDelta(said["content"])
            case "thinking":
                thinking.append(said["content"])
                yield ThinkingDelta(said["content"])
            case "tool_start":
                calls.append(call := _call(logged))
                yield ToolCallStart(call.id, call.name)
                yield ToolCallDelta(call.id, call.arguments)
            case "tool_output":
                yield ToolResult(
                    said["tool_call_id"],
                    said["output"],
                    is_error=said["is_error"],
                    code=said["code"],
                )
            case "done":
                yield Complete("".join(text), "".join(thinking) or None, tuple(calls))
            case "error":
                yield Error(said["message"], said["code"])


def _call(start: LoggedEvent) -> ToolCall:
    arguments = start.payload["tool_args"]
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return ToolCall(start.payload["tool_call_id"], start.payload["tool_name"], text)
