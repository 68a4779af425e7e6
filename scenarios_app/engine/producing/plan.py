"""Plans an answer as a stream: its events in order with their times, and a fault among them."""

from collections.abc import Iterable, Iterator, Sequence
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
    TextPart,
    ToolCallPart,
    streamed_text,
)
from scenarios_app.engine.producing.faults import kind_of
from scenarios_app.engine.producing.lorem import words_pattern
from scenarios_app.engine.scenario import Fault, Pacing

# Arguments are split by length; this is the length of a short word.
CHARACTERS_PER_WORD = 6
# The plan of a longer answer is made while it is sent.
MAX_PREPARED_CHARS = 8_192


def deltas_of(part: AnswerPart, words_per_chunk: int) -> Iterable[str]:
    """Return the deltas of a part, which joined are its exact text; none if it is empty.

    Prose is split by words, JSON and a call's arguments by length, CHARACTERS_PER_WORD for a word.
    Those of long prose are an iterator.
    """
    text = streamed_text(part)
    is_json = isinstance(part, TextPart) and part.is_json
    if is_json or isinstance(part, ToolCallPart | ServerToolUsePart):
        return _split_by_length(text, words_per_chunk * CHARACTERS_PER_WORD)
    return _split_words(text, words_per_chunk)


class Schedule:
    """The times of deltas, in seconds after the head of the answer; `pacing` must have a rate.

    Times are absolute, so errors do not add up. With jitter, the next of `draws` (numbers from 0
    to 1) delays each delta by a share of its gap.
    """

    def __init__(self, pacing: Pacing, draws: Iterator[float]) -> None:
        self._pacing = pacing
        self._draws = draws
        # Sent chunks, or words if the rate is in words.
        self._sent = 0

    def next_time(self, text: str) -> float:
        """Count the words or the chunk of the next delta and return its time."""
        pacing, at = self._pacing, self.end
        count = 1 if pacing.chunk_ms else len(text.split())
        self._sent += count
        if not pacing.jitter:
            return at
        gap = pacing.chunk_ms / 1000 if pacing.chunk_ms else count / pacing.words_per_second
        return min(at + gap * pacing.jitter * next(self._draws), self.end)

    @property
    def end(self) -> float:
        """The time of the next delta without jitter; after the last delta, that of the rest."""
        first = self._pacing.first_ms / 1000
        if chunk_ms := self._pacing.chunk_ms:
            return first + self._sent * chunk_ms / 1000
        return first + self._sent / self._pacing.words_per_second


def _split_words(text: str, words_per_chunk: int) -> Iterable[str]:
    """Return pieces of `words_per_chunk` words with the space before them, the last with the rest;
    none for an empty text. Those of a long text are an iterator."""
    if words_per_chunk > len(text) // 2:  # so many words do not fit into the text
        return [text] if text else []
    pattern = words_pattern(words_per_chunk)
    if len(text) > MAX_PREPARED_CHARS and not text.isspace():
        # Made lazily: a list of pieces takes many times the memory of the text.
        return (match[0] for match in pattern.finditer(text))
    pieces: list[str] = pattern.findall(text)
    return pieces or [text]


def _split_by_length(text: str, size: int) -> Sequence[str]:
    """Return pieces of at most `size` characters: at least two, but `{}` and one character are
    one, and an empty text has none."""
    length = len(text)
    if length < 2 or text == "{}":
        return [text] if text else []
    count = max(2, -(-length // size))
    step = -(-length // count)
    return [text[i : i + step] for i in range(0, length, step)]


class TimedEvent(NamedTuple):
    """An event, or a fault in the place where it occurs, `at` seconds after the head of the answer.
    Only a stall lets the stream continue."""

    at: float
    event: StreamEvent | Fault


def plan(
    response: CanonicalResponse,
    *,
    pacing: Pacing,
    sequential: bool,
    fault: Fault | None,
    draws: Iterator[float],
) -> Iterable[TimedEvent]:
    """Return the events of a streamed response with their times; they may be an iterator.

    The pace covers all choices together. `sequential` orders interleaved scripted deltas by part.
    `fault` must be one that occurs inside a stream. `draws` are the numbers for jitter.
    """
    timed: Iterable[TimedEvent]
    if pacing.jitter or is_long(response):
        timed = _time_events(response.choices, sequential, pacing, draws)
    else:
        # Scripted answers repeat, and without jitter their plan is the same.
        timed = _cached_plan(response.choices, sequential, pacing)
    return timed if fault is None else _insert_fault(timed, fault)


def is_long(response: CanonicalResponse) -> bool:
    """Return True if an answer is so long that its plan is made while it is sent: if it has more
    than MAX_PREPARED_CHARS streamed characters, parts and chunks."""
    size = 0
    for choice in response.choices:
        size += sum([len(streamed_text(part)) for part in choice.parts])
        size += len(choice.parts) + len(choice.chunks or ())
    return size > MAX_PREPARED_CHARS


@lru_cache(maxsize=256)
def _cached_plan(
    choices: tuple[Choice, ...], sequential: bool, pacing: Pacing
) -> tuple[TimedEvent, ...]:
    """Return the timed events of choices whose pacing has no jitter."""
    return tuple(_time_events(choices, sequential, pacing, iter(())))


def _time_events(
    choices: tuple[Choice, ...], sequential: bool, pacing: Pacing, draws: Iterator[float]
) -> Iterator[TimedEvent]:
    """Return the events of choices with their times; without a rate all have that of `first_ms`."""
    events = iter_events(choices, sequential, pacing.words_per_chunk)
    if not (pacing.chunk_ms or pacing.words_per_second):
        first = pacing.first_ms / 1000
        return (TimedEvent(first, event) for event in events)
    return _pace_events(events, Schedule(pacing, draws))


def _pace_events(events: Iterable[StreamEvent], schedule: Schedule) -> Iterator[TimedEvent]:
    """Yield the events with times: a delta by the schedule, other events with the next delta, or
    at the schedule's end."""
    waiting: list[StreamEvent] = []
    for event in events:
        waiting.append(event)
        if isinstance(event, PartDelta):
            at = schedule.next_time(event.text)
            yield from (TimedEvent(at, each) for each in waiting)
            waiting.clear()
    yield from (TimedEvent(schedule.end, each) for each in waiting)


def _insert_fault(timed: Iterable[TimedEvent], fault: Fault) -> Iterator[TimedEvent]:
    """Yield the events up to the fault, and the fault with the time of the event before it.

    It comes after `after_chunks` deltas, or before the last event if there are fewer. Only after a
    stall the rest follows, later by its `hold_ms`.
    """
    events = iter(timed)
    upcoming, remaining = next(events), fault.after_chunks
    at = upcoming.at
    rest: Iterator[TimedEvent] = iter(())
    for following in events:
        if not remaining:
            rest = chain([following], events)
            break
        yield upcoming
        at, remaining = upcoming.at, remaining - isinstance(upcoming.event, PartDelta)
        upcoming = following
    yield TimedEvent(at, fault)
    if kind_of(fault).stream == "hold":
        hold = fault.hold_ms / 1000
        yield from (TimedEvent(due + hold, event) for due, event in chain([upcoming], rest))


def iter_events(
    choices: Sequence[Choice], sequential: bool, words_per_chunk: int
) -> Iterator[StreamEvent]:
    """Yield the events of each choice: its scripted chunks if it has any, else its parts, then its
    end. `sequential` sorts the chunks by part."""
    for number, choice in enumerate(choices):
        if choice.chunks is None:
            for index in range(len(choice.parts)):
                yield from _part_events(number, index, choice, words_per_chunk)
        else:
            by_part = sorted(choice.chunks, key=lambda chunk: chunk.part)
            chunks = by_part if sequential else choice.chunks
            yield from _chunk_events(number, choice, chunks, words_per_chunk)
        yield Finish(number, choice.finish_reason, choice.stop_sequence)


def _part_events(
    number: int, index: int, choice: Choice, words_per_chunk: int
) -> Iterator[StreamEvent]:
    """Yield the start, the deltas and the end of a part without scripted chunks."""
    part = choice.parts[index]
    yield PartStart(number, index, part)
    for text in deltas_of(part, words_per_chunk):
        yield PartDelta(number, index, part, text)
    yield PartEnd(number, index, part)


def _chunk_events(
    number: int, choice: Choice, chunks: Sequence[Chunk], words_per_chunk: int
) -> Iterator[StreamEvent]:
    """Yield the events of a choice's scripted chunks, one delta each, in the order of `chunks`.

    A part ends after its last chunk. An empty first chunk only opens its part. A part without
    chunks is split by `words_per_chunk`; it comes before the next later part that opens, or at the
    end.
    """
    last = {chunk.part: i for i, chunk in enumerate(chunks)}
    silent = [index for index in range(len(choice.parts)) if index not in last]
    opened: set[int] = set()
    for i, chunk in enumerate(chunks):
        index, part = chunk.part, choice.parts[chunk.part]
        opening = index not in opened
        if opening:
            while silent and silent[0] < index:
                yield from _part_events(number, silent.pop(0), choice, words_per_chunk)
            opened.add(index)
            yield PartStart(number, index, part)
        if chunk.text or not opening:
            yield PartDelta(number, index, part, chunk.text)
        if last[index] == i:
            yield PartEnd(number, index, part)
    for index in silent:
        yield from _part_events(number, index, choice, words_per_chunk)
