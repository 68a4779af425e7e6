"""How a part is cut into stream deltas, and when each of them leaves."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate

from scenarios_app.engine.parts import (
    AnswerPart,
    ServerToolUsePart,
    ToolCallPart,
    streamed_text,
)
from scenarios_app.engine.scenario import Pacing

# Arguments are cut by length: as many characters as so many short words would have.
CHARACTERS_PER_WORD = 6


def deltas_of(part: AnswerPart, words_per_chunk: int) -> Sequence[str]:
    """The pieces that a part streams as; joined they are its exact text."""
    text = streamed_text(part)
    if isinstance(part, ToolCallPart | ServerToolUsePart):
        return _fragments(text, words_per_chunk * CHARACTERS_PER_WORD)
    return _words(text, words_per_chunk)


def schedule(deltas: Sequence[str], pacing: Pacing, draws: Iterator[float]) -> Sequence[float]:
    """Seconds after the head at which each delta leaves, and one more: when the stream ends.

    `pacing` has a rate: time between chunks, or words per second.

    A delta leaves when everything before it has had its time, so the times are absolute and an
    error never adds up. Jitter delays a delta by a share of the gap that follows it.
    """
    if pacing.chunk_ms:
        gaps = [pacing.chunk_ms / 1000] * len(deltas)
        due = [i * pacing.chunk_ms / 1000 for i in range(len(deltas) + 1)]
    else:
        words = [len(delta.split()) for delta in deltas]
        gaps = [count / pacing.words_per_second for count in words]
        due = [count / pacing.words_per_second for count in accumulate(words, initial=0)]
    first = pacing.first_ms / 1000
    times = [first + at for at in due]
    if pacing.jitter:
        for i, gap in enumerate(gaps):
            times[i] = min(times[i] + gap * pacing.jitter * next(draws), times[i + 1])
    return times


def _words(text: str, words_per_chunk: int) -> Sequence[str]:
    """Pieces of so many words, each with the whitespace before it (the last also with the rest)."""
    if words_per_chunk > len(text) // 2:  # so many words do not fit into the text
        return [text] if text else []
    found: list[str] = _pattern(words_per_chunk).findall(text)
    return found or [text]


@lru_cache(maxsize=64)
def _pattern(words: int) -> re.Pattern[str]:
    # Possessive throughout: one pass over the text, whatever is in it.
    return re.compile(rf"(?:\s*+\S++){{1,{words}}}+(?:\s++\Z)?+")


def _fragments(arguments: str, size: int) -> Sequence[str]:
    """Pieces of about `size` characters, at least two wherever two can be made."""
    length = len(arguments)
    if length < 2 or arguments == "{}":
        return [arguments] if arguments else []
    count = max(2, -(-length // size))
    step = -(-length // count)
    return [arguments[i : i + step] for i in range(0, length, step)]
