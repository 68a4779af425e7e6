"""Answers played as streams: part by part, their texts in pieces."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from scenarios_app.engine.canonical import CanonicalResponse
from scenarios_app.engine.parts import (
    Finish,
    PartDelta,
    PartEnd,
    PartStart,
    StreamEvent,
    streamed_text,
)


def events_of(response: CanonicalResponse, sizes: Sequence[int] = (3,)) -> Iterator[StreamEvent]:
    """The answer part by part, its texts cut into deltas of these sizes over and over."""
    size = itertools.cycle(sizes)
    for number, choice in enumerate(response.choices):
        for index, part in enumerate(choice.parts):
            yield PartStart(number, index, part)
            rest = streamed_text(part)
            while rest:
                cut = next(size)
                yield PartDelta(number, index, part, rest[:cut])
                rest = rest[cut:]
            yield PartEnd(number, index, part)
        yield Finish(number, choice.finish_reason, choice.stop_sequence)


def played(encoder: Any, response: CanonicalResponse, sizes: Sequence[int] = (3,)) -> bytes:
    """The whole stream as it leaves."""
    opening = encoder.opening()
    middle = b"".join(encoder.event(event) for event in events_of(response, sizes))
    return bytes(opening + middle + encoder.closing())
