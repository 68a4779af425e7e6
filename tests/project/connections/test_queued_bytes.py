"""The queue of received bytes gives the parser pieces of one request each."""

import random

import pytest

from mockllm_site.serve.request_queue import MAX_ALL_QUEUED_BYTES, MAX_QUEUED_BYTES, RequestQueue

HEAD = b"POST / HTTP/1.1\r\nhost: any\r\n\r\n"


def pieces_of(queue: RequestQueue) -> list[bytes]:
    pieces = []
    while queue:
        pieces.append(queue.take_piece())
    return pieces


def test_piece_ends_with_a_head() -> None:
    queue = RequestQueue()
    queue.add(HEAD * 2 + b"POST")
    assert pieces_of(queue) == [HEAD, HEAD, b"POST"]


def test_piece_ends_with_a_body_of_known_length() -> None:
    queue = RequestQueue()
    queue.add(HEAD + b"\r\n\r\n12" + HEAD)
    assert queue.take_piece() == HEAD
    queue.begin_body(6)
    assert queue.take_piece() == b"\r\n\r\n12"
    queue.end_request()
    assert pieces_of(queue) == [HEAD]


@pytest.mark.parametrize("seed", range(20))
def test_head_that_comes_in_parts_ends_its_piece(seed: int) -> None:
    rng, queue, rest = random.Random(seed), RequestQueue(), HEAD + b"next"
    joined = b""
    while not joined.endswith(b"\r\n\r\n"):
        size = rng.randint(1, 5)
        queue.add(rest[:size])
        rest = rest[size:]
        joined += queue.take_piece()
    assert joined == HEAD


def test_body_passes_the_queue_up_to_its_length() -> None:
    queue = RequestQueue()
    queue.begin_body(5)
    assert queue.passes(b"abc") and not queue.passes(b"def") and queue.passes(b"de")
    assert not queue.passes(b"f")


def test_body_waits_behind_queued_bytes() -> None:
    queue = RequestQueue()
    queue.begin_body(5)
    queue.add(b"a")
    assert not queue.passes(b"b")


def test_long_queue_and_all_queues_together_have_limits() -> None:
    one, other = RequestQueue(), RequestQueue()
    one.add(bytes(MAX_QUEUED_BYTES))
    assert not one.is_long and not one.exceeds_total
    other.add(bytes(MAX_ALL_QUEUED_BYTES))
    assert other.is_long and one.exceeds_total
    assert len(other.take_all()) == MAX_ALL_QUEUED_BYTES
    assert not one.exceeds_total and not other
    one.take_all()
