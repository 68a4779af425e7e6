"""A request in the words of Anthropic's messages."""

from collections.abc import Iterator
from typing import Any, assert_never

from chat_app.clients.arguments import as_object
from chat_app.events import ToolCall
from chat_app.request import (
    AssistantPart,
    AssistantTurn,
    ModelRequest,
    Result,
    Text,
    Thinking,
    Tool,
    ToolResults,
    Turn,
    UserTurn,
)

# This API demands a limit. Thinking counts against it, so a budget comes on top.
MAX_TOKENS = 4_096


def body(request: ModelRequest) -> dict[str, Any]:
    budget = request.thinking_budget
    fields: dict[str, Any] = {
        "model": request.model,
        "max_tokens": request.max_tokens or MAX_TOKENS + (budget or 0),
        "messages": [
            {"role": role, "content": content}
            for turn in request.turns
            for role, content in _message(turn)
        ],
        "stream": True,
    }
    if request.system_prompt:
        fields["system"] = request.system_prompt
    if budget is not None:
        fields["thinking"] = {"type": "enabled", "budget_tokens": budget}
    elif request.temperature is not None:
        # With thinking the API refuses any temperature but its own.
        fields["temperature"] = request.temperature
    if request.tools:
        fields["tools"] = [_tool(tool) for tool in request.tools]
    return fields


def _message(turn: Turn) -> Iterator[tuple[str, str | list[dict[str, Any]]]]:
    match turn:
        case UserTurn(text):
            yield "user", text
        case AssistantTurn(parts):
            # Empty content is refused, and two messages of the user in a row are not.
            if blocks := [block for part in parts for block in _block(part)]:
                yield "assistant", blocks
        case ToolResults(results):
            yield "user", [_result(result) for result in results]
        case _:
            assert_never(turn)


def _block(part: AssistantPart) -> Iterator[dict[str, Any]]:
    match part:
        case Thinking(text, signature, redacted):
            # Without its seal the API does not take thinking back.
            if signature:
                yield {"type": "thinking", "thinking": text, "signature": signature}
            if redacted:
                yield {"type": "redacted_thinking", "data": redacted}
        case Text(text):
            if text.strip():
                yield {"type": "text", "text": text}
        case ToolCall(id=call_id, name=name, arguments=arguments):
            yield {"type": "tool_use", "id": call_id, "name": name, "input": as_object(arguments)}
        case _:
            assert_never(part)


def _result(result: Result) -> dict[str, Any]:
    return {
        "type": "tool_result",
        "tool_use_id": result.tool_call_id,
        "content": result.content,
        "is_error": result.is_error,
    }


def _tool(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "input_schema": dict(tool.input_schema),
    }
