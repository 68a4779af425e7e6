"""Correct clients whose requests a busy machine delays are not blamed, and loops still are."""

from collections.abc import Callable, Iterator

import pytest
from msgspec.structs import replace

from scenarios_app.engine.canonical import CanonicalRequest, Message
from scenarios_app.engine.parts import TextPart
from scenarios_app.serving.exchange import MAX_STEP_SECONDS, ArrivalClock
from scenarios_app.verdict.session import JudgedExchange
from tests.verdict.test_retries import LIMIT, call, exchange
from tests.verdict.test_undecided_runs import burst, findings, rules


def with_siblings(request: JudgedExchange, siblings: int = 1) -> JudgedExchange:
    """Return a request that arrived while other connections were open."""
    return replace(request, siblings=siblings)


@pytest.mark.parametrize(
    ("failures", "last", "rule"),
    [
        (burst(0, 500, times=2), exchange(0.02), "no-back-off"),
        (burst(0, 401, times=1), exchange(0.01), "retried-unretryable"),
        ([exchange(0, 429, response_headers=LIMIT)], exchange(0.01), "retry-after-ignored"),
        ([*call(0, 500), *call(0.01, 500)], call(0.02, 200)[0], "no-back-off"),
    ],
    ids=["no pause", "unretryable", "requested wait", "numbered calls"],
)
def test_last_of_parallel_calls_that_succeeds_is_noted_and_the_last_of_a_loop_is_reported(
    failures: list[JudgedExchange], last: JudgedExchange, rule: str
) -> None:
    assert rules(*failures, last) == [(rule, last.uid)]
    (note,) = findings(*failures, with_siblings(last))
    assert (note.rule, note.level) == ("retries-undecided", "note")
    assert f"{len(failures) + 1} identical requests came one after another within " in note.message
    assert f" {rule} if one client sent them" in note.message


def test_parallel_calls_of_which_several_succeed_are_not_noted() -> None:
    assert rules(*burst(0, 500), *(map(with_siblings, burst(0.1, 200)))) == []
    assert rules(exchange(0), with_siblings(exchange(0.1, 500)), with_siblings(exchange(0.2))) == []


def test_parallel_calls_that_wait_and_then_succeed_are_not_noted() -> None:
    failures = [with_siblings(request) for request in burst(0, 500)]
    assert rules(*failures, *(map(with_siblings, burst(0.5, 200, times=1)))) != []
    assert rules(*failures, *(map(with_siblings, burst(0.5, 200)))) == []


def test_attempts_of_one_numbered_call_are_reported_beside_other_connections() -> None:
    hasty = [with_siblings(request) for request in call(0, 500, 500, 200)]
    hasty = [
        replace(request, at=at, timings={"head_ms": 0.0})
        for request, at in zip(hasty, (0, 0.01, 0.02), strict=True)
    ]
    assert [rule for rule, _ in rules(*hasty)] == ["no-back-off"]


@pytest.mark.parametrize("header", ["idempotency-key", "user-agent"])
def test_requests_that_clients_mark_as_different_calls_are_not_reported(header: str) -> None:
    loop = [*burst(0, 500, times=2), exchange(0.02)]
    same = [replace(request, request_headers={header: "a"}) for request in loop]
    assert [rule for rule, _ in rules(*same)] == ["no-back-off"]
    marked = [replace(request, request_headers={header: request.uid}) for request in loop]
    assert rules(*marked) == []


def test_failure_counts_from_its_first_byte_if_the_server_notices_its_end_late() -> None:
    # The client got each error within a millisecond and waited half a second.
    attempts = [
        replace(request, duration_ms=499.0)
        for number in range(3)
        for request in call(number / 2, 500)
    ]
    numbered = [
        replace(request, request_headers={"x-stainless-retry-count": str(number)})
        for number, request in enumerate(attempts)
    ]
    assert rules(*numbered) == []
    assert rules(*(replace(request, request_headers={}) for request in attempts)) == []


@pytest.fixture
def clock() -> Iterator[tuple[Callable[[], float], list[float]]]:
    """Return the Unix time of a clock and a list of the wall and monotonic times that it reads."""
    now = [1_000.0, 5.0]
    arrival_clock = ArrivalClock(lambda: now[0], lambda: now[1])
    yield (lambda: arrival_clock.read()[0]), now


def test_waited_retry_is_not_early_if_the_clock_is_set_back_meanwhile(
    clock: tuple[Callable[[], float], list[float]],
) -> None:
    read, now = clock
    failed = exchange(read(), 429, response_headers=LIMIT)
    now[:] = [1_000.4, 6.1]
    assert rules(failed, exchange(read())) == []
    assert read() == pytest.approx(1_001.1)


def test_arrival_clock_follows_steps_ahead_and_large_steps_back(
    clock: tuple[Callable[[], float], list[float]],
) -> None:
    read, now = clock
    assert read() == 1_000.0
    now[:] = [4_000.0, 6.0]
    assert read() == 4_000.0
    now[:] = [4_000.0 - MAX_STEP_SECONDS, 7.0]
    assert read() == 3_880.0
    now[:] = [3_900.0, 27.0]
    assert read() == 3_900.0


def test_text_of_a_parallel_whole_answer_is_not_taken_for_a_truncated_one() -> None:
    body = '{"choices": [{"message": {"content": "One two."}}]}'
    question = (Message("user", (TextPart("Count."),)),)
    later = (*question, Message("assistant", (TextPart("One two."),)))
    truncated = replace(make_request(0.01, question), outcome="fault", response_body=body)
    continued = make_request(1, later)
    assert rules(truncated, continued) == [("truncated-taken-as-complete", "at-1")]
    complete = replace(make_request(0, question), response_body=body)
    assert rules(complete, truncated, continued) == []


@pytest.mark.parametrize(
    ("following", "is_reported"),
    [
        ("Your response above was cut off mid-stream. Resume where it stops.", False),
        ("[The previous answer was INTERRUPTED.]", False),
        ("And in German?", True),
    ],
)
def test_client_that_says_that_an_answer_broke_off_does_not_take_it_for_whole(
    following: str, is_reported: bool
) -> None:
    body = '{"choices": [{"message": {"content": "One two."}}]}'
    question = (Message("user", (TextPart("Count."),)),)
    truncated = replace(make_request(0.01, question), outcome="fault", response_body=body)
    later = (*question, Message("assistant", (TextPart("One two."),)))
    continued = make_request(1, (*later, Message("user", (TextPart(following),))))
    assert bool(rules(truncated, continued)) is is_reported


def make_request(at: float, messages: tuple[Message, ...]) -> JudgedExchange:
    request = CanonicalRequest("openai", "chat", "chat", "gpt-4o", messages)
    return replace(exchange(at, body=f"{len(messages)}"), request=request)
