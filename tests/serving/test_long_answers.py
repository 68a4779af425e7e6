"""Long answers are made while they are sent: the same bytes, in pieces, and no more than asked."""

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
from tests.serving.pipelines import Playing, chat, claude, gemini, says, scenario
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
async def test_they_are_the_bytes_and_times_of_answers_made_beforehand(
    monkeypatch: pytest.MonkeyPatch,
    call: Callable[[], Call],
    pacing: dict[str, float],
    fault: dict[str, object] | None,
) -> None:
    produced = {"text": LONG, "pacing": pacing, **({"fault": fault} if fault else {})}
    document = scenario("one", {"consume": False, "produce": produced})
    made = []
    for longest in (MAX_PREPARED_CHARS, 10**9):
        monkeypatch.setattr(plans, "MAX_PREPARED_CHARS", longest)
        made.append((await Playing(document).pipeline.answer(call())).reply)
    long, short = made
    assert isinstance(long.frames, LongFrames) and isinstance(short.frames, tuple)
    assert list(merged(long.frames)) == list(merged(short.frames))
    assert (long.status, long.cut, long.seconds) == (short.status, short.cut, short.seconds)
    # A second iteration gives the same.
    assert long.body == short.body


def merged(frames: LongFrames | tuple[Frame, ...]) -> Iterator[tuple[float, bytes]]:
    """What is due at the same time in one piece."""
    due, pieces = 0.0, b""
    for frame in frames:
        if frame.at != due:
            yield due, pieces
            due, pieces = frame.at, b""
        pieces += frame.data
    yield due, pieces


async def test_a_client_that_reads_little_has_little_made_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = 0
    encode = respond_module.encode_frames

    def counted(*given: object, **named: object) -> Iterator[Frame]:
        nonlocal made
        for frame in encode(*given, **named):  # type: ignore[arg-type]
            made += len(frame.data)
            yield frame

    monkeypatch.setattr(respond_module, "encode_frames", counted)
    answer = await Playing(scenario("one", says(LONG * 20))).pipeline.answer(chat(stream=True))
    pieces = answer.pieces()
    taken = [await anext(pieces) for _ in range(3)]
    assert max(map(len, taken)) < 2 * PIECE_BYTES
    assert sum(map(len, taken)) <= made < sum(map(len, taken)) + 2 * PIECE_BYTES
    await pieces.aclose()
    # The journal renders the sent part again, and stores its beginning.
    assert made < 2 * sum(map(len, taken)) + 4 * PIECE_BYTES


async def test_others_have_their_turn_between_pieces() -> None:
    clock = FakeClock()
    reply = (
        await Playing(scenario("one", says(LONG * 5))).pipeline.answer(chat(stream=True))
    ).reply
    player = Player(reply, clock(), drain_at=never, max_seconds=600)
    pieces = [piece async for piece in play(player, clock=clock, sleep=clock.sleep)]
    assert len(pieces) > 5
    assert clock.slept == [0] * (len(pieces) - 1)


async def test_one_that_ends_early_says_how_many_events_went_before() -> None:
    reply = (await Playing(scenario("one", says(LONG * 5))).pipeline.answer(responses())).reply
    clock, taken = FakeClock(), []
    player = Player(reply, clock(), drain_at=never, max_seconds=1)
    async for piece in play(player, clock=clock, sleep=clock.sleep):
        taken.append(piece)
        clock.now += 0.4
    sent = b"".join(taken[:-1]).count(b"\n\n")
    assert 0 < sent < reply.body.count(b"\n\n")
    message = "The stream was ended: it may last 1 seconds."
    assert taken[-1] == reply.error_frame(sent, ErrorAnswer(504, message))
    assert f'"sequence_number":{sent}'.encode() in taken[-1]


async def test_a_long_stream_can_be_asked_for_again() -> None:
    playing = Playing(scenario("one", says(LONG * 3)))
    _, _, body = await playing.ask(responses())
    name = body.partition(b'"id":"')[2].partition(b'"')[0].decode()
    again = Call("GET", f"/v1/responses/{name}", {"stream": "true"}, responses().headers, b"")
    assert (await playing.ask(again))[2] == body


def test_a_large_body_leaves_in_pieces() -> None:
    small, large = b"x" * LONG_BYTES, b"x" * (LONG_BYTES + 1)
    assert whole_reply(200, small).frames == (Frame(0.0, small),)
    reply = whole_reply(200, large)
    assert reply.body == large
    assert {len(frame.data) for frame in islice(reply.frames, 4)} == {SLICE_BYTES}
    assert dict(reply.headers)["content-length"] == str(len(large))
