"""An answer as a stream: its events in order, each with its time, and where a fault strikes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from scenarios_app.engine.canonical import CanonicalResponse, Choice
from scenarios_app.engine.pacing import deltas_of, schedule
from scenarios_app.engine.parts import (
    Chunk,
    Finish,
    PartDelta,
    PartEnd,
    PartStart,
    StreamEvent,
    streamed_text,
)
from scenarios_app.engine.scenario import Fault, Pacing

# A script gives the same answer again and again, and without jitter its plan is the same too.
# Long answers are rare and not worth the memory.
CACHED_CHARACTERS = 8_192


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
) -> tuple[Timed, ...]:
    """The whole stream of an answer, paced from its first delta to its last choice.

    `sequential` puts the scripted deltas of parts that were interleaved one part after another.
    `fault` is one that strikes inside a stream.
    """
    size = sum(_size(choice) for choice in response.choices)
    if pacing.jitter or size > CACHED_CHARACTERS:
        timed = _timed(response.choices, sequential, pacing, draws)
    else:
        timed = _cached(response.choices, sequential, pacing)
    return timed if fault is None else _struck(timed, fault)


@lru_cache(maxsize=256)
def _cached(choices: tuple[Choice, ...], sequential: bool, pacing: Pacing) -> tuple[Timed, ...]:
    return _timed(choices, sequential, pacing, iter(()))


def _timed(
    choices: tuple[Choice, ...], sequential: bool, pacing: Pacing, draws: Iterator[float]
) -> tuple[Timed, ...]:
    events = _events(choices, sequential, pacing.words_per_chunk)
    if not (pacing.chunk_ms or pacing.words_per_second):
        first = pacing.first_ms / 1000
        return tuple([Timed(first, event) for event in events])
    times = schedule([e.text for e in events if isinstance(e, PartDelta)], pacing, draws)
    timed, sent = [], 0
    for event in events:
        timed.append(Timed(times[sent], event))
        if isinstance(event, PartDelta):
            sent += 1
    return tuple(timed)


def _struck(timed: tuple[Timed, ...], fault: Fault) -> tuple[Timed, ...]:
    """The plan with its fault after so many deltas; with fewer, before the last event."""
    deltas = [i for i, (_, event) in enumerate(timed, 1) if isinstance(event, PartDelta)]
    after = fault.after_chunks
    border = 0 if after == 0 else deltas[after - 1] if after <= len(deltas) else len(timed) - 1
    before, rest = timed[:border], timed[border:]
    mark = Timed(timed[max(border - 1, 0)].at, FaultMark(fault))
    if fault.kind != "stall":
        return (*before, mark)
    hold = fault.hold_ms / 1000
    return (*before, mark, *(Timed(at + hold, event) for at, event in rest))


def _events(
    choices: tuple[Choice, ...], sequential: bool, words_per_chunk: int
) -> list[StreamEvent]:
    events: list[StreamEvent] = []
    for number, choice in enumerate(choices):
        if choice.chunks is None:
            for index in range(len(choice.parts)):
                events += _whole_part(number, index, choice, words_per_chunk)
        elif sequential:
            ordered = sorted(choice.chunks, key=lambda chunk: chunk.part)
            events += _scripted(number, choice, ordered, words_per_chunk)
        else:
            events += _scripted(number, choice, choice.chunks, words_per_chunk)
        events.append(Finish(number, choice.finish_reason, choice.stop_sequence))
    return events


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
