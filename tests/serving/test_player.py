"""The player sends frames on time and ends streams at a drain or a maximum duration."""

import math
from collections.abc import Callable
from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from scenarios_app.serving.playback import DRAIN_CHECK_SECONDS, Player, never, play
from scenarios_app.serving.reply import PIECE_BYTES, Frame, Reply, whole_reply
from tests.serving.fakes import WIRE, FakeClock

HELLO = (Frame(0, b"a\n\n"), Frame(1, b"b\n\n"), Frame(1, b"c\n\n"), Frame(2.5, b"d\n\n"))
BYE = "The server is shutting down."


async def play_reply(
    reply: Reply,
    *,
    clock: FakeClock | None = None,
    drain_at: Callable[[], float] = never,
    max_seconds: float = math.inf,
    read_seconds: float = 0.0,
) -> list[tuple[float, bytes]]:
    """Return the pieces with their times; the reader takes `reading` seconds for each."""
    clock = clock or FakeClock()
    pieces = []
    player = Player(reply, clock(), drain_at=drain_at, max_seconds=max_seconds)
    async for piece in play(player, clock=clock, sleep=clock.sleep):
        pieces.append((clock.now, piece))
        clock.now += read_seconds
    return pieces


def stream(*frames: Frame, delay: float = 0.0) -> Reply:
    return Reply(200, frames=frames, delay=delay, wire=WIRE)


async def test_due_frames_are_sent_in_one_piece() -> None:
    pieces = await play_reply(stream(*HELLO))
    assert pieces == [(0, b"a\n\n"), (1, b"b\n\nc\n\n"), (2.5, b"d\n\n")]


async def test_large_due_data_is_sent_in_parts_with_pauses_for_others() -> None:
    clock = FakeClock()
    part = b"x" * (PIECE_BYTES * 3 // 5)
    pieces = await play_reply(stream(*[Frame(0, part)] * 5), clock=clock)
    assert [len(piece) for _, piece in pieces] == [2 * len(part), 2 * len(part), len(part)]
    assert clock.slept == [0, 0]
    full = await play_reply(stream(*[Frame(0, b"x" * PIECE_BYTES)] * 2), clock=clock)
    assert [len(piece) for _, piece in full] == [PIECE_BYTES] * 2
    # There is no wait after the last piece.
    assert clock.slept == [0, 0, 0]


async def test_an_unpaced_reply_never_sleeps() -> None:
    clock = FakeClock()
    await play_reply(stream(Frame(0, b"a"), Frame(0, b"b")), clock=clock)
    assert clock.slept == []


async def test_nothing_leaves_before_the_delay() -> None:
    pieces = await play_reply(stream(*HELLO, delay=10), clock=FakeClock(100))
    assert pieces == [(110, b"a\n\n"), (111, b"b\n\nc\n\n"), (112.5, b"d\n\n")]


async def test_frames_delayed_by_a_slow_reader_are_sent_together() -> None:
    pieces = await play_reply(stream(*(Frame(i, b"%d" % i) for i in range(6))), read_seconds=1.5)
    assert pieces == [(0, b"0"), (1.5, b"1"), (3, b"23"), (4.5, b"4"), (6, b"5")]


async def test_time_overslept_does_not_add_up() -> None:
    class OversleepingClock(FakeClock):
        async def sleep(self, seconds: float) -> None:
            await super().sleep(seconds + 0.01)

    frames = [Frame(i / 10, b"x") for i in range(100)]
    pieces = await play_reply(stream(*frames), clock=OversleepingClock())
    assert len(pieces) == 100
    assert all(at - i / 10 < 0.0101 for i, (at, _) in enumerate(pieces))


async def test_the_head_is_due_before_the_first_frame() -> None:
    assert await play_reply(stream(Frame(5, b"late"), delay=1)) == [(1, b""), (6, b"late")]


async def test_a_reply_without_body_still_gives_its_head() -> None:
    assert await play_reply(whole_reply(204, b"")) == [(0, b"")]
    assert await play_reply(whole_reply(200, b"{}", delay=2)) == [(2, b"{}")]


async def test_reply_without_a_start_sends_nothing_and_holds_the_connection() -> None:
    clock = FakeClock()
    reply = Reply(200, delay=30, started=False, cut=True)
    assert await play_reply(reply, clock=clock) == []
    assert clock.now == 30


async def test_a_drain_ends_a_stream_with_the_providers_error() -> None:
    pieces = await play_reply(stream(*HELLO), drain_at=lambda: 2.125)
    assert pieces[:2] == [(0, b"a\n\n"), (1, b"b\n\nc\n\n")]
    assert pieces[2:] == [(2.125, f"error 503 after 3: {BYE}\n\n".encode())]


async def test_a_drain_that_begins_during_a_long_sleep_is_seen() -> None:
    clock = FakeClock()
    pieces = await play_reply(
        stream(Frame(0, b"a"), Frame(500, b"b")),
        clock=clock,
        drain_at=lambda: 12 if clock.now >= 10 else math.inf,
    )
    assert pieces == [(0, b"a"), (12, f"error 503 after 0: {BYE}\n\n".encode())]
    assert max(clock.slept) <= DRAIN_CHECK_SECONDS


async def test_stream_that_ends_before_the_drain_deadline_is_complete() -> None:
    assert await play_reply(stream(*HELLO), drain_at=lambda: 2.6) == await play_reply(
        stream(*HELLO)
    )


async def test_due_frames_are_sent_after_the_drain_deadline() -> None:
    pieces = await play_reply(stream(Frame(0, b"a"), Frame(1, b"b")), drain_at=lambda: -1)
    assert [(at, piece[:9]) for at, piece in pieces] == [(0, b"a"), (0, b"error 503")]


async def test_a_drain_before_the_head_gives_the_error_alone() -> None:
    pieces = await play_reply(stream(*HELLO, delay=60), drain_at=lambda: 5)
    assert pieces == [(5, f"error 503 after 0: {BYE}\n\n".encode())]


async def test_drain_ends_a_held_connection() -> None:
    clock = FakeClock()
    reply = Reply(200, delay=300, started=False, cut=True)
    assert await play_reply(reply, clock=clock, drain_at=lambda: 5) == []
    assert clock.now == 5


async def test_a_whole_answer_is_not_drained() -> None:
    reply = Reply(200, frames=(Frame(50, b"{}"),), delay=60)
    assert await play_reply(reply, drain_at=lambda: 5, max_seconds=1) == [(60, b""), (110, b"{}")]


async def test_stream_ends_at_its_maximum_duration_after_the_head() -> None:
    pieces = await play_reply(stream(*HELLO, Frame(600, b"late"), delay=100), max_seconds=60)
    assert [at for at, _ in pieces] == [100, 101, 102.5, 160]
    end = b"error 504 after 4: The stream was ended: it may last 60 seconds.\n\n"
    assert pieces[-1][1] == end


async def test_stream_of_a_slow_reader_ends_at_its_deadline() -> None:
    pieces = await play_reply(stream(Frame(0, b"a"), Frame(1, b"b")), max_seconds=2, read_seconds=5)
    assert [(at, piece[:9]) for at, piece in pieces] == [(0, b"a"), (5, b"error 504")]


@given(
    st.lists(st.floats(0, 100), max_size=30),
    st.floats(0, 10),
    st.floats(0, 10),
    st.floats(0, 10**9),
)
async def test_every_byte_leaves_once_in_order_and_never_early(
    gaps: list[float], delay: float, read_seconds: float, start_time: float
) -> None:
    frames = [Frame(at, b"%d " % i) for i, at in enumerate(accumulate(gaps))]
    pieces = await play_reply(
        stream(*frames, delay=delay), clock=FakeClock(start_time), read_seconds=read_seconds
    )
    assert b"".join(piece for _, piece in pieces) == b"".join(frame.data for frame in frames)
    sent_at = {word: at for at, piece in pieces for word in piece.split()}
    head_at = start_time + delay
    assert all(sent_at[b"%d" % i] >= head_at + frame.at for i, frame in enumerate(frames))
