"""An answer as a stream: its events in order, each with its time, and where a fault strikes."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from scenarios_app.engine.canonical import CanonicalResponse, Choice
from scenarios_app.engine.parts import (
    AnswerPart,
    Chunk,
    Finish,
    PartDelta,
    PartEnd,
    PartStart,
    ServerToolUsePart,
    StreamEvent,
    ToolCallPart,
    streamed_text,
)
from scenarios_app.engine.producing.faults import kind_of
from scenarios_app.engine.scenario import Fault, Pacing

# Arguments are cut by length: as many characters as so many short words would have.
CHARACTERS_PER_WORD = 6
# From here on a stream is made while it is sent.
LONG_CHARACTERS = 8_192


def deltas_of(part: AnswerPart, words_per_chunk: int) -> Iterable[str]:
    """The pieces that a part streams as; joined they are its exact text."""
    text = streamed_text(part)
    if isinstance(part, ToolCallPart | ServerToolUsePart):
        return _fragments(text, words_per_chunk * CHARACTERS_PER_WORD)
    return _words(text, words_per_chunk)


class Schedule:
    """When the deltas of a stream leave, in seconds after the head; `pacing` has a rate: time
    between chunks, or words per second.

    A delta leaves when everything before it has had its time, so the times are absolute and an
    error never adds up. Jitter delays a delta by a share of the gap that follows it.
    """

    def __init__(self, pacing: Pacing, draws: Iterator[float]) -> None:
        self._pacing = pacing
        self._draws = draws
        self._first = pacing.first_ms / 1000
        # Chunks, or words where they have the rate.
        self._sent = 0

    def delta(self, text: str) -> float:
        """When the next delta leaves."""
        pacing, at = self._pacing, self.end
        count = 1 if pacing.chunk_ms else len(text.split())
        self._sent += count
        if not pacing.jitter:
            return at
        gap = pacing.chunk_ms / 1000 if pacing.chunk_ms else count / pacing.words_per_second
        return min(at + gap * pacing.jitter * next(self._draws), self.end)

    @property
    def end(self) -> float:
        """When everything so far has had its time."""
        if chunk_ms := self._pacing.chunk_ms:
            return self._first + self._sent * chunk_ms / 1000
        return self._first + self._sent / self._pacing.words_per_second


def _words(text: str, words_per_chunk: int) -> Iterable[str]:
    """Pieces of so many words, each with the whitespace before it (the last also with the rest)."""
    if words_per_chunk > len(text) // 2:  # so many words do not fit into the text
        return [text] if text else []
    pattern = _pattern(words_per_chunk)
    if len(text) > LONG_CHARACTERS and not text.isspace():
        # Made as they are needed: all at once they take many times the memory of their text.
        return (found[0] for found in pattern.finditer(text))
    found: list[str] = pattern.findall(text)
    return found or [text]


@lru_cache(maxsize=64)
def _pattern(words: int) -> re.Pattern[str]:
    # Possessive throughout: one pass over any text.
    return re.compile(rf"(?:\s*+\S++){{1,{words}}}+(?:\s++\Z)?+")


def _fragments(arguments: str, size: int) -> Sequence[str]:
    """Pieces of about `size` characters, at least two wherever two can be made."""
    length = len(arguments)
    if length < 2 or arguments == "{}":
        return [arguments] if arguments else []
    count = max(2, -(-length // size))
    step = -(-length // count)
    return [arguments[i : i + step] for i in range(0, length, step)]


@dataclass(frozen=True, slots=True)
class FaultMark:
    """Here the stream is struck by a fault that strikes inside. Only a stall lets it go on."""

    fault: Fault


class Timed(NamedTuple):
    """What happens `at` seconds after the head of the answer."""

    at: float
    event: StreamEvent | FaultMark


def plan(
    response: CanonicalResponse,
    *,
    pacing: Pacing,
    sequential: bool,
    fault: Fault | None,
    draws: Iterator[float],
) -> Iterable[Timed]:
    """The whole stream of an answer, paced from its first delta to its last choice; of a long
    answer it is made while somebody goes through it, once.

    `sequential` puts the scripted deltas of parts that were interleaved one part after another.
    `fault` is one that strikes inside a stream.
    """
    timed: Iterable[Timed]
    if pacing.jitter or is_long(response):
        timed = _timed(response.choices, sequential, pacing, draws)
    else:
        # A script gives the same answer again and again, and without jitter its plan is the same.
        timed = _cached(response.choices, sequential, pacing)
    return timed if fault is None else _struck(timed, fault)


def is_long(response: CanonicalResponse) -> bool:
    """Whether the stream of an answer is made while it is sent, and not beforehand."""
    return sum(map(_size, response.choices)) > LONG_CHARACTERS


@lru_cache(maxsize=256)
def _cached(choices: tuple[Choice, ...], sequential: bool, pacing: Pacing) -> tuple[Timed, ...]:
    return tuple(_timed(choices, sequential, pacing, iter(())))


def _timed(
    choices: tuple[Choice, ...], sequential: bool, pacing: Pacing, draws: Iterator[float]
) -> Iterator[Timed]:
    events = _events(choices, sequential, pacing.words_per_chunk)
    if not (pacing.chunk_ms or pacing.words_per_second):
        first = pacing.first_ms / 1000
        return (Timed(first, event) for event in events)
    return _paced(events, Schedule(pacing, draws))


def _paced(events: Iterable[StreamEvent], schedule: Schedule) -> Iterator[Timed]:
    """Deltas in their time; what is no delta leaves with the next one, or at the end."""
    held: list[StreamEvent] = []
    for event in events:
        held.append(event)
        if isinstance(event, PartDelta):
            at = schedule.delta(event.text)
            yield from (Timed(at, each) for each in held)
            held.clear()
    yield from (Timed(schedule.end, each) for each in held)


def _struck(timed: Iterable[Timed], fault: Fault) -> Iterator[Timed]:
    """The plan with its fault after so many deltas; with fewer, before the last event."""
    events = iter(timed)
    upcoming, left = next(events), fault.after_chunks
    at = upcoming.at
    rest: Iterator[Timed] = iter(())
    for following in events:
        if not left:
            rest = chain([following], events)
            break
        yield upcoming
        at, left = upcoming.at, left - isinstance(upcoming.event, PartDelta)
        upcoming = following
    yield Timed(at, FaultMark(fault))
    if kind_of(fault).stream == "hold":
        hold = fault.hold_ms / 1000
        yield from (Timed(due + hold, event) for due, event in chain([upcoming], rest))


def _events(
    choices: tuple[Choice, ...], sequential: bool, words_per_chunk: int
) -> Iterator[StreamEvent]:
    for number, choice in enumerate(choices):
        if choice.chunks is None:
            for index in range(len(choice.parts)):
                yield from _whole_part(number, index, choice, words_per_chunk)
        elif sequential:
            ordered = sorted(choice.chunks, key=lambda chunk: chunk.part)
            yield from _scripted(number, choice, ordered, words_per_chunk)
        else:
            yield from _scripted(number, choice, choice.chunks, words_per_chunk)
        yield Finish(number, choice.finish_reason, choice.stop_sequence)


def _whole_part(
    number: int, index: int, choice: Choice, words_per_chunk: int
) -> Iterator[StreamEvent]:
    part = choice.parts[index]
    yield PartStart(number, index, part)
    for text in deltas_of(part, words_per_chunk):
        yield PartDelta(number, index, part, text)
    yield PartEnd(number, index, part)


def _scripted(
    number: int, choice: Choice, chunks: Sequence[Chunk], words_per_chunk: int
) -> Iterator[StreamEvent]:
    """Scripted deltas in the order given. A part ends with its last chunk; one without any chunk
    comes as if nothing were scripted, in its place. An empty first chunk just opens its part."""
    last = {chunk.part: i for i, chunk in enumerate(chunks)}
    silent = [index for index in range(len(choice.parts)) if index not in last]
    opened: set[int] = set()
    for i, chunk in enumerate(chunks):
        index, part = chunk.part, choice.parts[chunk.part]
        opening = index not in opened
        if opening:
            while silent and silent[0] < index:
                yield from _whole_part(number, silent.pop(0), choice, words_per_chunk)
            opened.add(index)
            yield PartStart(number, index, part)
        if chunk.text or not opening:
            yield PartDelta(number, index, part, chunk.text)
        if last[index] == i:
            yield PartEnd(number, index, part)
    for index in silent:
        yield from _whole_part(number, index, choice, words_per_chunk)


def _size(choice: Choice) -> int:
    texts = map(streamed_text, choice.parts)
    return sum(map(len, texts)) + len(choice.parts) + len(choice.chunks or ())
