"""Counts the tokens of answers (scripted, else a quarter of the characters, rounded up) and makes
log probabilities that depend only on each token."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from zlib import crc32

import msgspec

from scenarios_app.engine.canonical import CanonicalRequest, Choice, ScriptedUsage, Tool, Usage
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
    produced_text,
)

CHARACTERS_PER_TOKEN = 4
# A word with the space before it, in pieces of at most 12 characters.
_TOKEN = re.compile(r"\s?\S{1,12}|\s")
_ALTERNATIVES = (
    *(" the", " a", " of", " and", " to", " in", " is", " it", " that", " for"),
    *(".", ",", "The", "It", " this", " you", " as", " with", " on", " be", "\n"),
)
_MIN_SURPRISE, _LOGPROB_STEP = 1e-6, 0.75
_VOCABULARY_SIZE = 262_144


def count_tokens(characters: int) -> int:
    """Return the estimated tokens of this many characters, rounded up."""
    return -(-characters // CHARACTERS_PER_TOKEN)


COUNT_KEY = "input_tokens"


def count_input(request: CanonicalRequest) -> int:
    """Return the tokens of a request's messages and tools, at least 1. The count is cached."""
    tokens: int | None = request.__dict__.get(COUNT_KEY)
    if tokens is None:
        characters = sum(map(_count_tool_characters, request.tools)) if request.tools else 0
        for message in request.messages:
            for part in message.parts:
                characters += _count_characters(part)
        tokens = request.__dict__[COUNT_KEY] = max(1, count_tokens(characters))
    return tokens


def count_output(choices: Iterable[Choice]) -> int:
    """Return the tokens of an answer, at least 1: all choices with reasoning and arguments."""
    return max(
        1, count_tokens(sum(_count_characters(part) for choice in choices for part in choice.parts))
    )


def usage_of(
    request: CanonicalRequest, choices: tuple[Choice, ...], scripted: ScriptedUsage
) -> Usage:
    """Return the usage of an answer: each count as scripted, else counted from the text.

    Counted input adds the request's `cached_tokens`. Counted output adds its `thought_tokens` as
    reasoning if the answer has none.
    """
    input_tokens, cached_tokens = scripted.input_tokens, scripted.cached_tokens
    if input_tokens is None:
        input_tokens = count_input(request) + request.cached_tokens
        if cached_tokens is None:
            cached_tokens = request.cached_tokens
    output_tokens, reasoning_tokens = scripted.output_tokens, scripted.reasoning_tokens
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


def _count_reasoning(choices: tuple[Choice, ...]) -> int:
    """Return the tokens of an answer's reasoning, estimated from its length."""
    parts = (part for choice in choices for part in choice.parts)
    return count_tokens(sum(len(part.text) for part in parts if isinstance(part, ReasoningPart)))


def _count_characters(part: MessagePart | AnswerPart) -> int:
    """Return the characters of a part; 0 for what is not read, such as images."""
    match part:
        case TextPart() | ReasoningPart() | RefusalPart():
            return len(part.text)
        case ToolCallPart() | ServerToolUsePart() | ServerToolResultPart():
            return len(produced_text(part))
        case ToolResultPart():
            return len(part.content)
        case _:
            return 0


def _count_tool_characters(tool: Tool) -> int:
    """Return the characters of an offered tool: name, description and schema as JSON."""
    schema = b"" if tool.schema is None else msgspec.json.encode(tool.schema)
    return len(tool.name) + len(tool.description) + len(schema.decode())


@dataclass(frozen=True, slots=True)
class Token:
    """A token. `logprob` is a natural logarithm and `number` the token's id."""

    text: str
    logprob: float

    @property
    def number(self) -> int:
        return crc32(self.text.encode()) % _VOCABULARY_SIZE


def split_tokens(text: str) -> list[Token]:
    """Return a text as tokens with invented log probabilities. They have up to 12 characters, with
    a space before; joined they are the text."""
    return [_invent_token(piece) for piece in _TOKEN.findall(text)]


def top_tokens(token: Token, count: int) -> tuple[Token, ...]:
    """Return candidates for a token's position, most probable first: the token, then common words
    and signs; at most `count`, and fewer if there are no more."""
    start = crc32(token.text.encode()) % len(_ALTERNATIVES)
    others = (*_ALTERNATIVES[start:], *_ALTERNATIVES[:start])
    tokens, likely = [token], token.logprob
    for text in [other for other in others if other != token.text][: max(0, count - 1)]:
        likely -= _LOGPROB_STEP
        tokens.append(Token(text, round(likely, 6)))
    return tuple(tokens[:count])


@lru_cache(maxsize=4096)
def _invent_token(text: str) -> Token:
    """Return a token with a log probability that is the same for equal texts."""
    # Half of the tokens are nearly certain, as with a real model.
    share = crc32(text.encode()) % 10_000 / 10_000
    return Token(text, -round(_MIN_SURPRISE + max(0.0, share - 0.5), 6))
