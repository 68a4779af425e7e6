"""Encode a response as a stream, with texts cut into deltas of chosen sizes."""

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


def stream_events(
    response: CanonicalResponse, sizes: Sequence[int] = (3,)
) -> Iterator[StreamEvent]:
    """Yield a response's stream events; delta lengths repeat `sizes`."""
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


def encode_stream(encoder: Any, response: CanonicalResponse, sizes: Sequence[int] = (3,)) -> bytes:
    """Return all bytes that an encoder writes for a response."""
    opening = encoder.opening()
    middle = b"".join(encoder.event(event) for event in stream_events(response, sizes))
    return bytes(opening + middle + encoder.closing())
