"""Replies hold the bytes to send, their times, and how the answer ends."""

import pytest

from scenarios_app.engine.canonical import CanonicalResponse, Choice, ErrorAnswer, Usage
from scenarios_app.engine.parts import TextPart
from scenarios_app.engine.producing.plan import plan
from scenarios_app.engine.producing.produce import Seed
from scenarios_app.engine.scenario import Fault, Pacing
from scenarios_app.serving.reply import (
    Frame,
    Reply,
    broken_reply,
    encode_frames,
    malformed_reply,
    silent_reply,
    stream_reply,
    whole_reply,
)
from tests.serving.fakes import WIRE, FakeEncoder, split_events

BODY = b"0123456789"


def stream(pacing: Pacing | None = None, fault: Fault | None = None, delay: float = 0) -> Reply:
    choice = Choice((TextPart("a b c"),), "stop")
    timed = plan(
        CanonicalResponse("ab", 0, "m", (choice,), Usage(1, 1)),
        pacing=pacing or Pacing(words_per_chunk=1),
        sequential=True,
        fault=fault,
        draws=Seed("ab").draws(),
    )
    frames = tuple(encode_frames(WIRE, FakeEncoder(), timed))
    return stream_reply(WIRE, frames, headers=(("X-One", "1"),), delay=delay)


def events(reply: Reply) -> list[str]:
    return [event for frame in split_events([f.data for f in reply.frames]) for event in frame]


def test_a_whole_answer_declares_its_type_and_length() -> None:
    reply = whole_reply(201, BODY, headers=(("X-One", "1"),), delay=2)
    assert reply == Reply(
        201,
        (("x-one", "1"), ("content-type", "application/json"), ("content-length", "10")),
        frames=(Frame(0, BODY),),
        delay=2,
    )
    assert not reply.streaming


def test_scripted_content_type_stays_and_scripted_length_does_not() -> None:
    headers = (("Content-Type", "text/plain"), ("Content-Length", "3"), ("Transfer-Encoding", "x"))
    assert whole_reply(200, BODY, headers=headers).headers == (
        ("content-type", "text/plain"),
        ("content-length", "10"),
    )


@pytest.mark.parametrize("status", [204, 304])
def test_an_answer_that_has_no_body_declares_none(status: int) -> None:
    assert whole_reply(status, b"", headers=(("x-one", "1"),)) == Reply(status, (("x-one", "1"),))


def test_an_empty_body_has_a_length_and_no_frame() -> None:
    reply = whole_reply(200, b"")
    assert ("content-length", "0") in reply.headers
    assert reply.frames == ()
    assert reply.body == b""


def test_a_stream_declares_its_type_and_no_length() -> None:
    reply = stream(delay=3)
    assert reply.headers == (
        ("x-one", "1"),
        ("content-type", "text/event-stream"),
        ("cache-control", "no-cache"),
    )
    assert (reply.status, reply.delay, reply.started) == (200, 3, True)
    assert reply.streaming


def test_an_unpaced_stream_is_one_frame() -> None:
    reply = stream()
    assert [frame.at for frame in reply.frames] == [0]
    assert events(reply) == ["open", "a", " b", " c", "stop", "close"]
    assert not reply.cut


def test_a_paced_stream_has_a_frame_for_each_time() -> None:
    reply = stream(Pacing(first_ms=500, chunk_ms=1000, words_per_chunk=1))
    assert [frame.at for frame in reply.frames] == [0, 0.5, 1.5, 2.5, 3.5]
    assert split_events([frame.data for frame in reply.frames]) == [
        ["open"],
        ["a"],
        [" b"],
        [" c"],
        ["stop", "close"],
    ]


@pytest.mark.parametrize(
    ("kind", "last"),
    [
        ("disconnect", []),
        ("truncate", []),
        ("malformed_chunk", ['data: {"broken']),
        ("error_event", ["error 500 after 3: Simulated error inside the stream."]),
    ],
)
@pytest.mark.parametrize("chunk_ms", [0, 10])
def test_a_fault_inside_ends_the_stream(kind: str, last: list[str], chunk_ms: int) -> None:
    pacing = Pacing(chunk_ms=chunk_ms, words_per_chunk=1)
    reply = stream(pacing, Fault(kind, after_chunks=2))
    assert events(reply) == ["open", "a", " b", *last]


def test_stall_delays_the_rest() -> None:
    reply = stream(fault=Fault("stall", after_chunks=2, hold_ms=7000))
    assert [frame.at for frame in reply.frames] == [0, 7]
    assert split_events([frame.data for frame in reply.frames]) == [
        ["open", "a", " b"],
        [" c", "stop", "close"],
    ]
    assert not reply.cut


def test_time_without_bytes_makes_no_frame() -> None:
    class Quiet(FakeEncoder):
        def opening(self) -> bytes:
            return b""

    choice = Choice((TextPart("a"),), "stop")
    timed = plan(
        CanonicalResponse("ab", 0, "m", (choice,), Usage(1, 1)),
        pacing=Pacing(first_ms=1000),
        sequential=True,
        fault=None,
        draws=iter(()),
    )
    assert [frame.at for frame in encode_frames(WIRE, Quiet(), timed)] == [1]


def test_error_frame_counts_the_events_before_it() -> None:
    reply = stream(Pacing(first_ms=1, chunk_ms=1000, words_per_chunk=2))
    error = ErrorAnswer(503, "bye")
    assert [reply.error_frame(events_sent, error) for events_sent in (0, 1, 2, 5)] == [
        b"error 503 after 0: bye\n\n",
        b"error 503 after 1: bye\n\n",
        b"error 503 after 2: bye\n\n",
        b"error 503 after 5: bye\n\n",
    ]


def test_a_whole_answer_has_no_early_end() -> None:
    assert whole_reply(200, BODY).error_frame(0, ErrorAnswer(503, "bye")) == b""


def test_malformed_whole_answer_has_the_malformed_body() -> None:
    reply = malformed_reply(WIRE, stream=False, headers=(("x-one", "1"),), delay=1)
    assert reply == whole_reply(200, b'{"broken', headers=(("x-one", "1"),), delay=1)


def test_malformed_stream_is_one_unreadable_event() -> None:
    reply = malformed_reply(WIRE, stream=True, delay=1)
    assert reply.frames == (Frame(0, b'data: {"broken\n\n'),)
    assert ("content-type", "text/event-stream") in reply.headers
    assert (reply.status, reply.delay, reply.cut) == (200, 1, False)


@pytest.mark.parametrize(("kind", "delay"), [("timeout", 9.5), ("network_error", 2)])
def test_silent_reply_sends_nothing_and_cuts(kind: str, delay: float) -> None:
    reply = silent_reply(Fault(kind, hold_ms=7500), delay=2)
    assert reply == Reply(200, delay=delay, cut=True, started=False)


def test_a_disconnect_sends_half_of_the_length_it_declares() -> None:
    reply = broken_reply(whole_reply(200, BODY, delay=1), Fault("disconnect"))
    assert (reply.body, reply.cut, reply.delay) == (b"01234", True, 1)
    assert ("content-length", "10") in reply.headers


def test_a_truncated_answer_is_half_and_complete() -> None:
    answer = whole_reply(200, BODY, headers=(("x-one", "1"),), delay=1)
    assert broken_reply(answer, Fault("truncate")) == whole_reply(
        200, b"01234", headers=answer.headers, delay=1
    )


def test_a_stalled_answer_waits_between_head_and_body() -> None:
    reply = broken_reply(whole_reply(200, BODY, delay=1), Fault("stall", hold_ms=4000))
    assert reply.frames == (Frame(4, BODY),)
    assert (reply.delay, reply.cut) == (1, False)


@pytest.mark.parametrize("kind", ["disconnect", "truncate"])
def test_an_answer_of_one_byte_can_be_halved(kind: str) -> None:
    assert broken_reply(whole_reply(200, b"1"), Fault(kind)).body == b""
