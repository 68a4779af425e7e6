"""Drops thinking that its provider would not take back: what it did not sign."""

from dataclasses import replace

from scenarios_app.engine.canonical import CanonicalRequest, Message
from scenarios_app.engine.parts import ReasoningPart, ToolCallPart


def without_unsigned(request: CanonicalRequest) -> CanonicalRequest:
    """The request without the thinking of assistant messages that call tools and have no block of
    it with a signature or in encrypted form. Where there was some, reasoning counts as disabled."""
    if request.turn == 1:
        return request
    kept = tuple(map(_signed, request.messages))
    if kept == request.messages:
        return request
    return replace(request, messages=kept, reasoning=False)


def _signed(message: Message) -> Message:
    if message.role != "assistant" or not any(isinstance(p, ToolCallPart) for p in message.parts):
        return message
    thinking = [part for part in message.parts if isinstance(part, ReasoningPart)]
    if not thinking or any(part.signature or part.redacted for part in thinking):
        return message
    others = (part for part in message.parts if not isinstance(part, ReasoningPart))
    return replace(message, parts=tuple(others))
