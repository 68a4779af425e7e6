"""An answer's rounds as JSON, the way `Message.rounds` holds them, and back as turns."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from chat_app.values.events import ToolCall
from chat_app.values.request import (
    AssistantPart,
    AssistantTurn,
    Result,
    Text,
    Thinking,
    ToolResults,
    Turn,
)


def stored_parts(parts: Iterable[AssistantPart]) -> list[dict[str, Any]]:
    return [_stored_part(part) for part in parts]


def stored_round(parts: Iterable[AssistantPart], results: Iterable[Result]) -> dict[str, Any]:
    """One model call's parts, and what the tools that it called gave back."""
    return {
        "parts": stored_parts(parts),
        "results": [
            {
                "tool_call_id": result.tool_call_id,
                "name": result.name,
                "content": result.content,
                "is_error": result.is_error,
            }
            for result in results
        ],
    }


def turns_of_rounds(
    rounds: Sequence[Mapping[str, Any]], *, with_thinking: bool
) -> tuple[Turn, ...]:
    """The turns of an answer. A call without a result is left out: no provider takes one."""
    turns: list[Turn] = []
    for stored in rounds:
        results = {one["tool_call_id"]: _result(one) for one in stored.get("results", ())}
        parts = tuple(
            part
            for part in map(_part, stored["parts"])
            if not (isinstance(part, Thinking) and not with_thinking)
            and not (isinstance(part, ToolCall) and part.id not in results)
        )
        calls = [part.id for part in parts if isinstance(part, ToolCall)]
        if parts:
            turns.append(AssistantTurn(parts))
        if calls:
            turns.append(ToolResults(tuple(results[call] for call in calls)))
    return tuple(turns)


def _stored_part(part: AssistantPart) -> dict[str, Any]:
    match part:
        case Text(text):
            return {"text": text}
        case Thinking(text, signature, redacted):
            return {"thinking": text, "signature": signature, "redacted": redacted}
        case ToolCall(call_id, name, arguments):
            return {"tool_call": {"id": call_id, "name": name, "arguments": arguments}}


def _part(stored: Mapping[str, Any]) -> AssistantPart:
    match stored:
        case {"tool_call": {"id": call_id, "name": name, "arguments": arguments}}:
            return ToolCall(call_id, name, arguments)
        case {"thinking": text}:
            return Thinking(text, stored.get("signature", ""), stored.get("redacted", ""))
        case _:
            return Text(stored["text"])


def _result(stored: Mapping[str, Any]) -> Result:
    return Result(
        stored["tool_call_id"], stored["name"], stored["content"], stored.get("is_error", False)
    )
