"""An answer's bytes know nothing of the time zone, and of the clock only what they show; jitter
moves times and no bytes."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from scenarios_app.wire.anthropic import errors as anthropic_errors
from scenarios_app.wire.base import Call
from tests.serving.dialects import DIALECTS
from tests.serving.modes import CATCH_ALL, asking
from tests.serving.openai_others import SCENARIOS, calls
from tests.serving.pipelines import FROZEN, Playing, scenario

# 2100-01-01, beyond the range of 32-bit seconds.
LATER = 4_102_444_800
CALLS: dict[str, Call] = calls() | {
    f"{wire}-{name}-{'stream' if stream else 'whole'}": asking(
        wire, "Hello", model=model, stream=stream
    )
    for wire in DIALECTS
    for name, model in (("said", "spoken"), ("tools", "others"), ("limited", "limited others"))
    for stream in (True, False)
}
# The clock in both forms that providers use.
SHOWN = re.compile(rb"\b(1735689600|4102444800)\b|\b(2025|2100)(?=-01-01T00:0)")
CLOCKLESS = ("gemini-", "embeddings-", "moderations-")


async def answer(call: Call, *, clock: int = FROZEN) -> bytes:
    """All of an answer but the one header that is random by contract."""
    playing = Playing(*SCENARIOS, CATCH_ALL, clock=clock, words_per_second=0)
    status, headers, body = await playing.ask(call)
    headers.pop("x-mockllm-request")
    return repr((status, sorted(headers.items()))).encode() + b"\n" + body


@contextmanager
def time_zone(zone: str) -> Iterator[None]:
    """A time zone of this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", zone)
        time.tzset()
        # Cached values would be the same in any surroundings.
        anthropic_errors._rate_limits.cache_clear()
        yield
    time.tzset()


@pytest.mark.parametrize("name", CALLS)
async def test_a_time_zone_changes_no_byte(name: str) -> None:
    with time_zone("UTC"):
        here = await answer(CALLS[name])
    for zone, hour in (("<+14>-14", 14), ("<-12>12", 12)):
        with time_zone(zone):
            assert time.localtime(FROZEN).tm_hour == hour
            assert await answer(CALLS[name]) == here


@pytest.mark.parametrize("name", CALLS)
async def test_a_clock_after_2038_shows_as_a_clock_and_nowhere_else(name: str) -> None:
    now, later = await answer(CALLS[name]), await answer(CALLS[name], clock=LATER)
    assert SHOWN.sub(b"clock", later) == SHOWN.sub(b"clock", now)
    shown = {found.group() for found in SHOWN.finditer(later)}
    assert shown <= {b"4102444800", b"2100"}
    fails = "-limited-" in name or "-wrong-" in name
    if not fails:
        assert bool(shown) is not name.startswith(CLOCKLESS)


def jittered(share: float) -> dict[str, object]:
    pacing = {"chunk_ms": 100, "words_per_chunk": 1, "jitter": share}
    step = {"consume": False, "produce": {"text": "one two three four five", "pacing": pacing}}
    return scenario("jittered", step)


async def timed(call: Call, *, jitter: float) -> tuple[list[float], bytes]:
    """When the frames of a stream are due, and what they hold."""
    played = await Playing(jittered(jitter)).pipeline.answer(call)
    frames = played.reply.frames
    return [frame.at for frame in frames], b"".join(frame.data for frame in frames)


STREAMS = {
    **{wire: asking(wire, "Hello", stream=True) for wire in DIALECTS},
    **{name: CALLS[f"{name}-stream"] for name in ("responses", "completions")},
}


@pytest.mark.parametrize("name", STREAMS)
async def test_jitter_moves_times_and_no_byte(name: str) -> None:
    order_is_stateless, same_bytes = await timed(STREAMS[name], jitter=0)
    moved, data = await timed(STREAMS[name], jitter=0.9)
    assert data == same_bytes
    assert moved != order_is_stateless
    assert moved == sorted(moved)
    assert moved[-1] == pytest.approx(order_is_stateless[-1])
    assert await timed(STREAMS[name], jitter=0.9) == (moved, data)
