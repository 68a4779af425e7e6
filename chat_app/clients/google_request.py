"""A request in the words of Google's Gemini API."""

from base64 import b64decode
from binascii import Error
from collections.abc import Iterator
from typing import Any, assert_never

from chat_app.clients.sdk_values import as_object
from chat_app.values.events import ToolCall
from chat_app.values.request import (
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


def config(request: ModelRequest) -> dict[str, Any]:
    """All that is not the conversation. The SDK may neither run functions nor go on by itself."""
    fields: dict[str, Any] = {
        "automatic_function_calling": {"disable": True},
        "automatic_continuation": False,
    }
    if request.system_prompt:
        fields["system_instruction"] = request.system_prompt
    if request.temperature is not None:
        fields["temperature"] = request.temperature
    if request.max_tokens is not None:
        fields["max_output_tokens"] = request.max_tokens
    if request.thinking_budget is not None:
        fields["thinking_config"] = {
            "thinking_budget": request.thinking_budget,
            "include_thoughts": True,
        }
    if request.tools:
        fields["tools"] = [{"function_declarations": [_function(tool) for tool in request.tools]}]
    return fields


def contents(request: ModelRequest) -> list[dict[str, Any]]:
    return [
        {"role": role, "parts": parts}
        for role, parts in map(_content, request.turns)
        if parts  # empty ones are refused
    ]


def _content(turn: Turn) -> tuple[str, list[dict[str, Any]]]:
    match turn:
        case UserTurn(text):
            return "user", [{"text": text}]
        case AssistantTurn():
            return "model", list(_parts(turn))
        case ToolResults(results):
            return "user", [_result(result) for result in results]
        case _:
            assert_never(turn)


def _parts(turn: AssistantTurn) -> Iterator[dict[str, Any]]:
    """A signature stands on what came of the thinking: the call or the text that follows, else an
    empty text. Thinking without one is left out: it is not Google's, or not needed."""
    signature: dict[str, bytes] = {}
    for part in turn.parts:
        match part:
            case Thinking(text, sealed):
                if sealed and (data := _decoded(sealed)):
                    yield from _silence(signature)
                    signature = {"thought_signature": data}
                    if text:
                        yield {"text": text, "thought": True}
            case Text(text):
                if text:
                    yield {"text": text, **signature}
                    signature = {}
            case ToolCall(id=call_id, name=name, arguments=arguments):
                function = {"id": call_id, "name": name, "args": as_object(arguments)}
                yield {"function_call": function, **signature}
                signature = {}
            case _:
                assert_never(part)
    yield from _silence(signature)


def _silence(signature: dict[str, bytes]) -> Iterator[dict[str, Any]]:
    if signature:
        yield {"text": "", **signature}


def _decoded(sealed: str) -> bytes:
    try:
        return b64decode(sealed, validate=True)
    except (Error, ValueError):
        return b""


def _result(result: Result) -> dict[str, Any]:
    key = "error" if result.is_error else "output"
    response = {key: result.content}
    return {
        "function_response": {
            "id": result.tool_call_id,
            "name": result.name,
            "response": response,
        }
    }


def _function(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters_json_schema": dict(tool.input_schema),
    }
