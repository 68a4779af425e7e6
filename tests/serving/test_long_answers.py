"""Long answers are encoded while they are sent, in pieces, with the same bytes."""

from collections.abc import Callable, Iterator
from itertools import islice

import pytest

from scenarios_app.engine.canonical import ErrorAnswer
from scenarios_app.engine.producing import plan as plans
from scenarios_app.engine.producing.plan import MAX_PREPARED_CHARS
from scenarios_app.serving import respond as respond_module
from scenarios_app.serving.playback import Player, never, play
from scenarios_app.serving.reply import (
    LONG_BYTES,
    PIECE_BYTES,
    SLICE_BYTES,
    Frame,
    LongFrames,
    whole_reply,
)
from scenarios_app.wire.base import Call
from tests.serving.pipelines import Harness, chat, claude, gemini, scenario, text_step
from tests.serving.test_player import FakeClock

LONG = "word, " * (MAX_PREPARED_CHARS // 3)
PACINGS = [{}, {"words_per_second": 1_000}, {"chunk_ms": 1, "jitter": 0.5, "words_per_chunk": 1}]
FAULTS = [
    None,
    *({"kind": kind, "after_chunks": 700} for kind in ("truncate", "malformed_chunk", "stall")),
    *({"kind": kind, "after_chunks": 700} for kind in ("disconnect", "error_event")),
    {"kind": "disconnect", "after_chunks": 10**6},
]


def ollama(stream: bool = True) -> Call:
    body = b'{"model": "m", "messages": [{"role": "user", "content": "Hello"}]}'
    return Call("POST", "/api/chat", {}, {"authorization": "Bearer k"}, body)


def responses() -> Call:
    body = b'{"model": "m", "input": "Hello", "stream": true}'
    return Call("POST", "/v1/responses", {}, {"authorization": "Bearer k"}, body)


CALLS: dict[str, Callable[[], Call]] = {
    "openai": lambda: chat(stream=True),
    "responses": responses,
    "anthropic": lambda: claude(stream=True),
    "gemini": lambda: gemini(stream=True),
    "ollama": ollama,
}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: str(fault and fault["kind"]))
@pytest.mark.parametrize("pacing", PACINGS, ids=["unpaced", "words", "jitter"])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
async def test_long_answer_has_the_bytes_and_times_of_a_prepared_one(
    monkeypatch: pytest.MonkeyPatch,
    call: Callable[[], Call],
    pacing: dict[str, float],
    fault: dict[str, object] | None,
) -> None:
    produce = {"text": LONG, "pacing": pacing, **({"fault": fault} if fault else {})}
    document = scenario("one", {"consume": False, "produce": produce})
    replies = []
    for max_chars in (MAX_PREPARED_CHARS, 10**9):
        monkeypatch.setattr(plans, "MAX_PREPARED_CHARS", max_chars)
        replies.append((await Harness(document).pipeline.answer(call())).reply)
    long, short = replies
    assert isinstance(long.frames, LongFrames) and isinstance(short.frames, tuple)
    assert list(merged(long.frames)) == list(merged(short.frames))
    assert (long.status, long.cut, long.seconds) == (short.status, short.cut, short.seconds)
    # A second iteration gives the same.
    assert long.body == short.body


def merged(frames: LongFrames | tuple[Frame, ...]) -> Iterator[tuple[float, bytes]]:
    """Yield the joined data of each due time."""
    due, pieces = 0.0, b""
    for frame in frames:
        if frame.at != due:
            yield due, pieces
            due, pieces = frame.at, b""
        pieces += frame.data
    yield due, pieces


async def test_slow_reader_gets_little_encoded_ahead(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    encoded_bytes = 0
    encode = respond_module.encode_frames

    def count_bytes(*arguments: object, **options: object) -> Iterator[Frame]:
        nonlocal encoded_bytes
        for frame in encode(*arguments, **options):
            encoded_bytes += len(frame.data)
            yield frame

    monkeypatch.setattr(respond_module, "encode_frames", count_bytes)
    answer = await Harness(scenario("one", text_step(LONG * 20))).pipeline.answer(chat(stream=True))
    pieces = answer.pieces()
    received = [await anext(pieces) for _ in range(3)]
    assert max(map(len, received)) < 2 * PIECE_BYTES
    assert sum(map(len, received)) <= encoded_bytes < sum(map(len, received)) + 2 * PIECE_BYTES
    await pieces.aclose()
    # The journal renders the sent part again, and stores its beginning.
    assert encoded_bytes < 2 * sum(map(len, received)) + 4 * PIECE_BYTES


async def test_event_loop_runs_others_between_pieces() -> None:
    clock = FakeClock()
    reply = (
        await Harness(scenario("one", text_step(LONG * 5))).pipeline.answer(chat(stream=True))
    ).reply
    player = Player(reply, clock(), drain_at=never, max_seconds=600)
    pieces = [piece async for piece in play(player, clock=clock, sleep=clock.sleep)]
    assert len(pieces) > 5
    assert clock.slept == [0] * (len(pieces) - 1)


async def test_error_of_a_stream_that_ends_early_counts_its_events() -> None:
    reply = (await Harness(scenario("one", text_step(LONG * 5))).pipeline.answer(responses())).reply
    clock, received = FakeClock(), []
    player = Player(reply, clock(), drain_at=never, max_seconds=1)
    async for piece in play(player, clock=clock, sleep=clock.sleep):
        received.append(piece)
        clock.now += 0.4
    event_count = b"".join(received[:-1]).count(b"\n\n")
    assert 0 < event_count < reply.body.count(b"\n\n")
    message = "The stream was ended: it may last 1 seconds."
    assert received[-1] == reply.error_frame(event_count, ErrorAnswer(504, message))
    assert f'"sequence_number":{event_count}'.encode() in received[-1]


async def test_long_stream_can_be_fetched_again() -> None:
    harness = Harness(scenario("one", text_step(LONG * 3)))
    _, _, body = await harness.ask(responses())
    name = body.partition(b'"id":"')[2].partition(b'"')[0].decode()
    fetch_call = Call("GET", f"/v1/responses/{name}", {"stream": "true"}, responses().headers, b"")
    assert (await harness.ask(fetch_call))[2] == body


def test_a_large_body_leaves_in_pieces() -> None:
    small, large = b"x" * LONG_BYTES, b"x" * (LONG_BYTES + 1)
    assert whole_reply(200, small).frames == (Frame(0.0, small),)
    reply = whole_reply(200, large)
    assert reply.body == large
    assert {len(frame.data) for frame in islice(reply.frames, 4)} == {SLICE_BYTES}
    assert dict(reply.headers)["content-length"] == str(len(large))
