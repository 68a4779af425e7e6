"""Answers do not depend on the time zone, depend on the clock only in timestamps, and have the same
bytes with jitter."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from scenarios_app.wire.anthropic import errors as anthropic_errors
from scenarios_app.wire.base import Call
from tests.serving.dialects import DIALECTS
from tests.serving.modes import CATCH_ALL, sample_call
from tests.serving.openai_endpoints import SCENARIOS, calls
from tests.serving.pipelines import FROZEN, Harness, scenario

# 2100-01-01, beyond the range of 32-bit seconds.
LATER = 4_102_444_800
CALLS: dict[str, Call] = calls() | {
    f"{wire}-{name}-{'stream' if stream else 'whole'}": sample_call(
        wire, "Hello", model=model, stream=stream
    )
    for wire in DIALECTS
    for name, model in (("said", "spoken"), ("tools", "others"), ("limited", "limited others"))
    for stream in (True, False)
}
# The clock in both forms that providers use.
TIMESTAMP = re.compile(rb"\b(1735689600|4102444800)\b|\b(2025|2100)(?=-01-01T00:0)")
CLOCKLESS = ("gemini-", "embeddings-", "moderations-")


async def fetch_answer(call: Call, *, clock: int = FROZEN) -> bytes:
    """Return status, headers and body of an answer without its one random header."""
    harness = Harness(*SCENARIOS, CATCH_ALL, clock=clock, words_per_second=0)
    status, headers, body = await harness.ask(call)
    headers.pop("x-mockllm-request")
    return repr((status, sorted(headers.items()))).encode() + b"\n" + body


@contextmanager
def time_zone(zone: str) -> Iterator[None]:
    """Set the time zone of this process."""
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
        utc_answer = await fetch_answer(CALLS[name])
    for zone, hour in (("<+14>-14", 14), ("<-12>12", 12)):
        with time_zone(zone):
            assert time.localtime(FROZEN).tm_hour == hour
            assert await fetch_answer(CALLS[name]) == utc_answer


@pytest.mark.parametrize("name", CALLS)
async def test_clock_after_2038_changes_only_timestamps(name: str) -> None:
    answer_now, later = (
        await fetch_answer(CALLS[name]),
        await fetch_answer(CALLS[name], clock=LATER),
    )
    assert TIMESTAMP.sub(b"clock", later) == TIMESTAMP.sub(b"clock", answer_now)
    timestamps = {match.group() for match in TIMESTAMP.finditer(later)}
    assert timestamps <= {b"4102444800", b"2100"}
    is_error = "-limited-" in name or "-wrong-" in name
    if not is_error:
        assert bool(timestamps) is not name.startswith(CLOCKLESS)


def jitter_scenario(share: float) -> dict[str, object]:
    pacing = {"chunk_ms": 100, "words_per_chunk": 1, "jitter": share}
    step = {"consume": False, "produce": {"text": "one two three four five", "pacing": pacing}}
    return scenario("jittered", step)


async def play_times(call: Call, *, jitter: float) -> tuple[list[float], bytes]:
    """Return the due times of a stream's frames, and their bytes."""
    reply_answer = await Harness(jitter_scenario(jitter)).pipeline.answer(call)
    frames = reply_answer.reply.frames
    return [frame.at for frame in frames], b"".join(frame.data for frame in frames)


STREAMS = {
    **{wire: sample_call(wire, "Hello", stream=True) for wire in DIALECTS},
    **{name: CALLS[f"{name}-stream"] for name in ("responses", "completions")},
}


@pytest.mark.parametrize("name", STREAMS)
async def test_jitter_moves_times_and_no_byte(name: str) -> None:
    even_times, even_bytes = await play_times(STREAMS[name], jitter=0)
    jittered_times, data = await play_times(STREAMS[name], jitter=0.9)
    assert data == even_bytes
    assert jittered_times != even_times
    assert jittered_times == sorted(jittered_times)
    assert jittered_times[-1] == pytest.approx(even_times[-1])
    assert await play_times(STREAMS[name], jitter=0.9) == (jittered_times, data)
