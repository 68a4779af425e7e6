"""Token counts of an answer: as scripted, else a quarter of the characters, rounded up."""

import json
from collections.abc import Iterable

from scenarios_app.engine.canonical import CanonicalRequest, Choice, Tool, Usage
from scenarios_app.engine.parts import (
    AnswerPart,
    MessagePart,
    ReasoningPart,
    RefusalPart,
    ServerToolResultPart,
    ServerToolUsePart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    held_text,
)
from scenarios_app.engine.scenario import ScriptedUsage

CHARACTERS_PER_TOKEN = 4


def count_tokens(characters: int) -> int:
    return -(-characters // CHARACTERS_PER_TOKEN)


def count_input(request: CanonicalRequest) -> int:
    """Tokens of a request, at least 1: the text of all its messages and the tools it offers."""
    characters = sum(map(_tool_length, request.tools))
    for message in request.messages:
        characters += sum(map(_length, message.parts))
    return max(1, count_tokens(characters))


def count_output(choices: Iterable[Choice]) -> int:
    """Tokens of an answer, at least 1: all of its choices, reasoning and arguments included."""
    return max(1, count_tokens(sum(_length(part) for choice in choices for part in choice.parts)))


def usage_of(
    request: CanonicalRequest,
    choices: tuple[Choice, ...],
    *,
    scripted: ScriptedUsage,
    default: ScriptedUsage,
) -> Usage:
    """What the step says, else what its scenario says, else what is counted, field by field."""
    input_tokens = _given(scripted.input_tokens, default.input_tokens)
    cached_tokens = _given(scripted.cached_tokens, default.cached_tokens)
    if input_tokens is None:
        input_tokens = count_input(request) + request.cached_tokens
        if cached_tokens is None:
            cached_tokens = request.cached_tokens
    output_tokens = _given(scripted.output_tokens, default.output_tokens)
    reasoning_tokens = _given(scripted.reasoning_tokens, default.reasoning_tokens)
    counted = output_tokens is None
    if output_tokens is None:
        output_tokens = count_output(choices)
    if reasoning_tokens is None:
        reasoning_tokens = min(output_tokens, _count_reasoning(choices))
        if counted and not reasoning_tokens:
            reasoning_tokens = request.thought_tokens
            output_tokens += reasoning_tokens
    return Usage(
        input_tokens,
        output_tokens,
        reasoning_tokens,
        cached_tokens or 0,
        cache_read_tokens=scripted.cache_read_tokens or 0,
        cache_write_tokens=scripted.cache_write_tokens or 0,
        total=scripted.total_tokens,
    )


def _given(scripted: int | None, default: int | None) -> int | None:
    return default if scripted is None else scripted


def _count_reasoning(choices: tuple[Choice, ...]) -> int:
    parts = (part for choice in choices for part in choice.parts)
    return count_tokens(sum(len(part.text) for part in parts if isinstance(part, ReasoningPart)))


def _length(part: MessagePart | AnswerPart) -> int:
    match part:
        case TextPart() | ReasoningPart() | RefusalPart():
            return len(part.text)
        case ToolCallPart() | ServerToolUsePart() | ServerToolResultPart():
            return len(held_text(part))
        case ToolResultPart():
            return len(part.content)
        case _:
            return 0


def _tool_length(tool: Tool) -> int:
    length = len(tool.name) + len(tool.description)
    if tool.schema is None:
        return length
    return length + len(json.dumps(tool.schema, ensure_ascii=False, separators=(",", ":")))
