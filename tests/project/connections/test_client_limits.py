"""The limits of one connection by a clock that the tests pass in."""

import pytest

from mockllm_site.serve.client_limits import (
    BODY_SECONDS,
    CROWDED_SECONDS,
    HEAD_SECONDS,
    UNREAD_SECONDS,
    ClientLimits,
    Remedy,
)

IDLE_SECONDS = 75.0


def new_limits() -> ClientLimits:
    return ClientLimits(max_head_bytes=100, idle_seconds=IDLE_SECONDS, now=0.0)


def remedy(limits: ClientLimits, now: float, *, crowded: bool = False) -> Remedy | None:
    return limits.find_remedy(now, is_crowded=crowded, is_paused=False)


def in_head(limits: ClientLimits) -> None:
    limits.add_bytes(10, 0.0)
    limits.begin_head(0.0)


def in_body(limits: ClientLimits) -> None:
    in_head(limits)
    limits.begin_body(0.0)


def answering(limits: ClientLimits) -> None:
    in_body(limits)
    limits.end_request(0.0)


def idle(limits: ClientLimits) -> None:
    answering(limits)
    limits.end_answer(0.0)


def refused(limits: ClientLimits) -> None:
    in_head(limits)
    limits.refuse(0.0)


LATE = [
    (lambda limits: None, HEAD_SECONDS, "close"),
    (in_head, HEAD_SECONDS, "late_head"),
    (in_body, BODY_SECONDS, "late_body"),
    (idle, IDLE_SECONDS, "close"),
    (answering, 1e9, None),
    (refused, 0.0, "close"),
    (ClientLimits.upgrade, 1e9, None),
]
STATES = ["new", "head", "body", "idle", "answering", "refused", "upgraded"]


@pytest.mark.parametrize(("prepare", "seconds", "expected"), LATE, ids=STATES)
def test_each_state_has_its_time_limit_and_remedy(
    prepare: object, seconds: float, expected: Remedy | None
) -> None:
    limits = new_limits()
    assert callable(prepare)
    prepare(limits)
    if seconds:
        assert remedy(limits, seconds) is None
    assert remedy(limits, seconds + 1.0) == expected


@pytest.mark.parametrize(("prepare", "seconds", "expected"), LATE, ids=STATES)
def test_crowded_server_aborts_only_connections_that_are_waited_for(
    prepare: object, seconds: float, expected: Remedy | None
) -> None:
    limits = new_limits()
    assert callable(prepare)
    prepare(limits)
    waits_for_bytes = limits.state in {"new", "head", "body", "refused"}
    is_aborted = remedy(limits, CROWDED_SECONDS + 1.0, crowded=True) == "abort"
    assert is_aborted is waits_for_bytes


def test_paused_connection_has_no_time_limit() -> None:
    limits = new_limits()
    in_body(limits)
    assert limits.find_remedy(1e9, is_crowded=True, is_paused=True) is None


def test_bytes_extend_the_time_of_a_body_and_not_of_a_head() -> None:
    limits = new_limits()
    in_head(limits)
    limits.add_bytes(1, HEAD_SECONDS)
    assert remedy(limits, HEAD_SECONDS + 1.0) == "late_head"
    limits.begin_body(0.0)
    limits.add_bytes(1, BODY_SECONDS)
    assert remedy(limits, BODY_SECONDS + 1.0) is None


def test_first_head_is_timed_from_the_connection_and_later_ones_from_their_first_byte() -> None:
    limits = new_limits()
    limits.begin_head(HEAD_SECONDS)
    assert remedy(limits, HEAD_SECONDS + 1.0) == "close"
    idle(limits)
    limits.begin_head(1_000.0)
    assert remedy(limits, 1_000.0 + HEAD_SECONDS) is None


def test_head_is_too_large_beyond_its_limit() -> None:
    limits = new_limits()
    limits.begin_head(0.0)
    limits.add_bytes(100, 0.0)
    assert not limits.is_head_too_large
    limits.add_bytes(1, 0.0)
    assert limits.is_head_too_large


def test_trailers_count_and_content_before_them_does_not() -> None:
    limits = new_limits()
    in_body(limits)
    limits.add_bytes(1_000, 0.0)
    limits.add_content()
    assert not limits.is_head_too_large
    limits.add_trailer(101)
    assert limits.is_head_too_large
    limits.end_request(0.0)
    assert not limits.is_head_too_large


def test_answer_before_the_end_of_its_request_leaves_the_body_timed() -> None:
    limits = new_limits()
    in_body(limits)
    limits.end_answer(1.0)
    assert limits.state == "body" and limits.idle_since is None
    limits.end_request(2.0, is_answered=True)
    assert limits.idle_since == 2.0


def test_connection_is_free_only_between_requests_that_are_answered() -> None:
    free = []
    for state, (prepare, _, _) in zip(STATES, LATE, strict=True):
        limits = new_limits()
        prepare(limits)
        assert limits.state == state
        free += [state] if limits.is_free else []
    assert free == ["new", "idle"]


def test_client_that_reads_nothing_is_unread_after_the_limit() -> None:
    limits = new_limits()
    reads = [(0.0, 100), (UNREAD_SECONDS, 90), (2 * UNREAD_SECONDS, 90)]
    assert [limits.is_unread(now, unread) for now, unread in reads] == [False] * 3
    assert limits.is_unread(2 * UNREAD_SECONDS + 1.0, 90)
    assert not limits.is_unread(2 * UNREAD_SECONDS + 2.0, 0)
