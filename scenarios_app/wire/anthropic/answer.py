"""What an Anthropic answer says, the same in a whole answer and in a stream: its content blocks,
why it stopped and what it cost."""

from collections.abc import Mapping
from typing import Any

import msgspec

from scenarios_app.engine.canonical import CanonicalResponse, Json, Usage
from scenarios_app.engine.parts import (
    AnswerPart,
    FinishReason,
    ReasoningPart,
    RefusalPart,
    ServerToolResultPart,
    ServerToolUsePart,
    TextPart,
    ToolCallPart,
)
from scenarios_app.wire.anthropic.server_tools import citation_of, result_block

_STOP_REASONS: Mapping[FinishReason, str] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "stop_sequence": "stop_sequence",
    "content_filter": "refusal",
}
_ENDING = ("stop_reason", "stop_sequence", "stop_details")

_decode = msgspec.json.Decoder().decode


def message_of(response: CanonicalResponse) -> dict[str, Any]:
    """The whole message. Scripted metadata adds to it and may replace only why it stopped."""
    parts = (part for choice in response.choices for part in choice.parts)
    message = {
        **_head(response),
        "content": [_block(part) for part in parts if has_block(part)],
        **ending(response),
        "usage": usage_of(response.usage),
    }
    return {**message, **_extras(response, message)}


def opening_message(response: CanonicalResponse) -> dict[str, Any]:
    """The message as a stream begins it: no content yet, one token spent."""
    message = {
        **_head(response),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": _usage(response.usage, output_tokens=1),
    }
    return {**message, **_extras(response, message)}


def usage_of(usage: Usage) -> dict[str, Any]:
    """All that the answer cost, as a whole answer says it."""
    return {**_usage(usage, output_tokens=usage.output_tokens), **_thinking(usage)}


def output_usage(usage: Usage) -> dict[str, Any]:
    """The cumulative counts that end a stream."""
    return {"output_tokens": usage.output_tokens, **_thinking(usage)}


def ending(response: CanonicalResponse) -> dict[str, Json]:
    """Why the message stopped. There is one reason on this wire: the last choice's, unless it
    ends as it should and an earlier one has tools called, which the client is to do."""
    last = response.choices[-1]
    if last.finish_reason == "stop":
        last = next((c for c in response.choices if c.finish_reason == "tool_calls"), last)
    refusals = [p.text for c in response.choices for p in c.parts if isinstance(p, RefusalPart)]
    reason = _STOP_REASONS[last.finish_reason]
    if refusals and reason == "end_turn":
        reason = "refusal"
    said: dict[str, Json] = {
        "stop_reason": reason,
        "stop_sequence": last.stop_sequence if reason == "stop_sequence" else None,
    }
    if reason == "refusal":
        explanation = refusals[-1] if refusals else None
        said["stop_details"] = {"type": "refusal", "category": None, "explanation": explanation}
    return said | {key: value for key, value in response.metadata.items() if key in _ENDING}


def has_block(part: AnswerPart) -> bool:
    """Whether a part becomes a block: the API never sends an empty text, and neither do we."""
    match part:
        case TextPart() | RefusalPart():
            return part.text != ""
        case ReasoningPart():
            return bool(part.text or part.signature) or part.redacted is not None
        case _:
            return True


def opening_block(part: AnswerPart) -> dict[str, Any]:
    """A block as a stream begins it, before its deltas fill it."""
    match part:
        case TextPart(citations=(_, *_)):
            return {"type": "text", "text": "", "citations": []}
        case TextPart() | RefusalPart():
            return {"type": "text", "text": ""}
        case ReasoningPart(redacted=None):
            return {"type": "thinking", "thinking": "", "signature": ""}
        case ToolCallPart():
            return {"type": "tool_use", "id": part.id, "name": part.name, "input": {}}
        case ServerToolUsePart():
            return {"type": "server_tool_use", "id": part.id, "name": part.name, "input": {}}
        case ServerToolResultPart():
            return result_block(part)
        case _:
            return {"type": "redacted_thinking", "data": part.redacted}


def _block(part: AnswerPart) -> dict[str, Any]:
    block = opening_block(part)
    match part:
        case TextPart() | RefusalPart():
            block["text"] = part.text
            if isinstance(part, TextPart) and part.citations:
                block["citations"] = [citation_of(citation) for citation in part.citations]
        case ReasoningPart(redacted=None):
            block |= {"thinking": part.text, "signature": part.signature or ""}
        case ToolCallPart():
            block["input"] = _input(part.arguments)
        case ServerToolUsePart():
            block["input"] = _input(part.input)
    return block


def _input(arguments: str) -> msgspec.Raw:
    """Scripted arguments as a tool's input: `{}` where they are anything but a JSON object.

    Only a stream can carry broken arguments on this wire: in a whole answer `input` is an object
    by its type, and one that was cut short arrives empty.
    """
    try:
        is_object = isinstance(_decode(arguments), dict)
    except (msgspec.MsgspecError, RecursionError):
        is_object = False
    return msgspec.Raw(arguments.encode() if is_object else b"{}")


def _head(response: CanonicalResponse) -> dict[str, Any]:
    return {
        "id": f"msg_{response.id}",
        "type": "message",
        "role": "assistant",
        "model": response.model,
    }


def _extras(response: CanonicalResponse, message: Mapping[str, Any]) -> dict[str, Json]:
    taken = {*message, *_ENDING}
    return {key: value for key, value in response.metadata.items() if key not in taken}


def _usage(usage: Usage, *, output_tokens: int) -> dict[str, Any]:
    # Anthropic counts what was read from the cache beside `input_tokens`, not in it.
    return {
        "input_tokens": max(usage.input_tokens - usage.cached_tokens, 0),
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "cache_read_input_tokens": usage.cached_tokens + usage.cache_read_tokens,
        "output_tokens": output_tokens,
        "service_tier": "standard",
    }


def _thinking(usage: Usage) -> dict[str, Any]:
    if not usage.reasoning_tokens:
        return {}
    return {"output_tokens_details": {"thinking_tokens": usage.reasoning_tokens}}
