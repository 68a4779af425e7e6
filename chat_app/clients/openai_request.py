"""A request in the words of OpenAI's chat completions."""

from collections.abc import Iterator
from typing import Any, assert_never

from chat_app.events import ToolCall
from chat_app.request import AssistantTurn, ModelRequest, Text, Tool, ToolResults, Turn, UserTurn

# The API knows no budgets. Efforts, each with the most tokens that it stands for.
_EFFORTS = ((4_096, "low"), (16_384, "medium"))
_MOST_EFFORT = "high"


def body(request: ModelRequest, *, genuine: bool) -> dict[str, Any]:
    """Only what the request says: everything else is left to the provider."""
    fields: dict[str, Any] = {
        "model": request.model,
        "messages": list(_messages(request)),
        "stream_options": {"include_usage": True},
    }
    if request.temperature is not None:
        fields["temperature"] = request.temperature
    if request.max_tokens is not None:
        # Models that reason refuse the older name; servers other than OpenAI's may not know the
        # newer one.
        fields["max_completion_tokens" if genuine else "max_tokens"] = request.max_tokens
    if request.thinking_budget is not None:
        fields["reasoning_effort"] = effort(request.thinking_budget)
    if request.tools:
        fields["tools"] = [_tool(tool) for tool in request.tools]
    return fields


def effort(budget: int) -> str:
    """The reasoning effort that stands for a budget of so many tokens."""
    return next((name for most, name in _EFFORTS if budget <= most), _MOST_EFFORT)


def _messages(request: ModelRequest) -> Iterator[dict[str, Any]]:
    if request.system_prompt:
        yield {"role": "system", "content": request.system_prompt}
    for turn in request.turns:
        yield from _turn(turn)


def _turn(turn: Turn) -> Iterator[dict[str, Any]]:
    match turn:
        case UserTurn(text):
            yield {"role": "user", "content": text}
        case AssistantTurn():
            yield _assistant(turn)
        case ToolResults(results):
            for result in results:
                yield {
                    "role": "tool",
                    "tool_call_id": result.tool_call_id,
                    "content": result.content,
                }
        case _:
            assert_never(turn)


def _assistant(turn: AssistantTurn) -> dict[str, Any]:
    """Thinking stays out of it: this API does not take it back."""
    text = "".join(part.text for part in turn.parts if isinstance(part, Text))
    calls = [_call(part) for part in turn.parts if isinstance(part, ToolCall)]
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message |= {"content": text or None, "tool_calls": calls}
    return message


def _call(call: ToolCall) -> dict[str, Any]:
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments},
    }


def _tool(tool: Tool) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": dict(tool.input_schema),
        },
    }
