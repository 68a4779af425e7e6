"""The tokens of an answer: how many it counts, as scripted, else a quarter of the characters,
rounded up; and how likely each was, for who asks: made up of each token alone, so that a text
always has the same ones."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from zlib import crc32

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
# A word with the space before it, in pieces of so many characters at the most.
_TOKEN = re.compile(r"\s?\S{1,12}|\s")
_OTHERS = (
    *(" the", " a", " of", " and", " to", " in", " is", " it", " that", " for"),
    *(".", ",", "The", "It", " this", " you", " as", " with", " on", " be", "\n"),
)
_LEAST, _STEP = 1e-6, 0.75
_NUMBERS = 262_144


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


@dataclass(frozen=True, slots=True)
class Token:
    """`logprob` is a natural logarithm, `number` what the model knows the token by."""

    text: str
    logprob: float

    @property
    def number(self) -> int:
        return crc32(self.text.encode()) % _NUMBERS


def tokens_of(text: str) -> list[Token]:
    """The tokens of a text, which joined are the text."""
    return [_token(piece) for piece in _TOKEN.findall(text)]


def likeliest(token: Token, count: int) -> tuple[Token, ...]:
    """So many tokens for the place of one, the likeliest first, which is that one."""
    return (token, *_others(token, count))[:count]


@lru_cache(maxsize=4096)
def _token(text: str) -> Token:
    # Half of them are as good as certain, as with a real model.
    share = crc32(text.encode()) % 10_000 / 10_000
    return Token(text, -round(_LEAST + max(0.0, share - 0.5), 6))


def _others(token: Token, count: int) -> Iterator[Token]:
    start = crc32(token.text.encode()) % len(_OTHERS)
    others = (*_OTHERS[start:], *_OTHERS[:start])
    likely = token.logprob
    for text in [other for other in others if other != token.text][: max(0, count - 1)]:
        likely -= _STEP
        yield Token(text, round(likely, 6))
