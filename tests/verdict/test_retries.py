"""Rules on retries: which requests count as retries, and which are not reported."""

from typing import Any

import pytest
from msgspec.structs import replace

from scenarios_app.verdict.retries import (
    find_retries,
    find_undecided_runs,
    is_retryable,
    requested_wait,
)
from scenarios_app.verdict.session import JudgedExchange, JudgedSession
from scenarios_app.verdict.transport_rules import RULES

RETRY_AFTER_IGNORED, NO_BACK_OFF, *_ = RULES
LIMIT = {"retry-after": "1"}


def exchange(at: float, status: int = 200, *, body: str = "{}", **keys: Any) -> JudgedExchange:
    """Return a request at this Unix time, answered after 1 ms and complete after 2 ms."""
    fields: dict[str, Any] = {
        "uid": f"at-{at}",
        "at": at,
        "session": "s",
        "method": "POST",
        "path": "/v1/chat/completions",
        "status": status,
        "outcome": "complete",
        "duration_ms": 2.0,
        "timings": {"head_ms": 1.0},
        "request_body": body,
        "response_body": "",
    }
    return JudgedExchange(**fields | keys)


def rate_limited(at: float, **keys: Any) -> JudgedExchange:
    return exchange(at, 429, response_headers=LIMIT, **keys)


def with_attempt_number(request: JudgedExchange, number: int) -> JudgedExchange:
    return replace(request, request_headers={"x-stainless-retry-count": str(number)})


def pairs(*exchanges: JudgedExchange) -> list[tuple[str, str]]:
    return [(retry.failed.uid, retry.retry.uid) for retry in find_retries(exchanges)]


def early_retries(*exchanges: JudgedExchange) -> list[str]:
    session = JudgedSession("s", exchanges)
    return [sighting.exchange.uid for sighting in RETRY_AFTER_IGNORED.find_sightings(session)]


def test_only_an_identical_request_is_a_retry() -> None:
    assert pairs(rate_limited(0), exchange(2)) == [("at-0", "at-2")]
    assert pairs(rate_limited(0), exchange(2, body="[]")) == []
    assert pairs(rate_limited(0), exchange(2, path="/v1/responses")) == []
    assert pairs(rate_limited(0), exchange(2, query={"key": "other"})) == []
    assert pairs(exchange(0), exchange(2)) == []


@pytest.mark.parametrize(("at", "early"), [(0.5, True), (0.97, True), (0.995, False), (1.1, False)])
def test_requested_wait_counts_from_the_first_response_byte(at: float, early: bool) -> None:
    assert early_retries(rate_limited(0), exchange(at)) == ([f"at-{at}"] if early else [])


def test_one_early_retry_among_later_ones_is_reported() -> None:
    assert early_retries(rate_limited(0), rate_limited(0.5), exchange(1.6)) == ["at-0.5"]


def test_waiting_clients_with_the_same_request_are_not_reported() -> None:
    assert early_retries(rate_limited(0), rate_limited(0.01), exchange(1.1), exchange(1.2)) == []


def test_overlapping_requests_are_not_reported() -> None:
    assert early_retries(rate_limited(0), rate_limited(0.0015), exchange(0.5)) == []


def test_attempt_numbers_of_a_client_decide_what_is_a_retry() -> None:
    first, again = with_attempt_number(rate_limited(0), 0), with_attempt_number(exchange(0.1), 1)
    assert early_retries(first, again) == ["at-0.1"]
    assert early_retries(first, with_attempt_number(exchange(0.1), 0)) == []


def test_attempt_number_of_thousands_of_digits_does_not_count() -> None:
    endless = {"x-stainless-retry-count": "9" * 5_000}
    first, again = (
        replace(request, request_headers=endless) for request in (rate_limited(0), exchange(2))
    )
    assert pairs(first, again) == [("at-0", "at-2")]


def test_repetition_after_two_minutes_is_not_a_retry() -> None:
    assert pairs(rate_limited(0), exchange(100)) == [("at-0", "at-100")]
    assert pairs(rate_limited(0), exchange(130)) == []


def test_unmatched_and_violating_requests_are_not_retries() -> None:
    unmatched = exchange(0, 404, way="match", matched=False)
    violated = exchange(0, 400, violations=("Expected …",))
    assert pairs(unmatched, exchange(1)) == pairs(violated, exchange(1)) == []


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "2", "retry-after-ms": "1500"}, 1.5),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "Thu, 01 Jan 1970 00:01:40 GMT"}, 99.999),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0.0),
    ],
)
def test_requested_wait_is_read_from_the_response_headers(
    headers: dict[str, str], wait: float | None
) -> None:
    assert requested_wait(exchange(0, 429, response_headers=headers)) == wait


@pytest.mark.parametrize(
    ("status", "should_retry", "helps"),
    [
        *((status, None, True) for status in (408, 409, 425, 429, 499, 500, 503, 529)),
        *((status, None, False) for status in (400, 401, 403, 404, 413, 422)),
        (400, "true", True),
        (503, "false", False),
    ],
)
def test_status_and_header_decide_whether_a_failure_is_retryable(
    status: int, should_retry: str | None, helps: bool
) -> None:
    headers = {} if should_retry is None else {"x-should-retry": should_retry}
    assert is_retryable(exchange(0, status, response_headers=headers)) is helps


def test_ten_thousand_failures_of_one_request_are_judged_fast() -> None:
    # Comparing each with all others would take hours for a thousand times as many.
    failures = [exchange(number * 0.01, 500) for number in range(10_000)]
    assert len(pairs(*failures, exchange(100))) == 10_000
    assert [len(run) for run in find_undecided_runs(failures)] == [10_000]


def call(at: float, *statuses: int, **keys: Any) -> list[JudgedExchange]:
    """Return the attempts of one SDK call, half a second apart."""
    return [
        with_attempt_number(exchange(at + number / 2, status, **keys), number)
        for number, status in enumerate(statuses)
    ]


def hasty_retries(*exchanges: JudgedExchange) -> list[str]:
    ordered = tuple(sorted(exchanges, key=lambda request: request.at))
    return [
        sighting.exchange.uid
        for sighting in NO_BACK_OFF.find_sightings(JudgedSession("s", ordered))
    ]


def test_sdk_calls_without_pauses_are_a_loop() -> None:
    first, second, third = call(0, 500, 500), call(0.51, 500, 500), call(1.02, 500, 200)
    assert hasty_retries(*first, *second, *third) == ["at-1.02"]
    # Two calls in a row can be intended.
    assert hasty_retries(*first, *second) == []
    # A call after a pause can be intended too.
    assert hasty_retries(*first, *second, *call(1.1, 500, 200)) == []


def test_single_attempt_calls_are_a_loop_if_the_last_one_succeeds() -> None:
    failing = [*call(0, 500), *call(0.01, 500)]
    assert hasty_retries(*failing, *call(0.02, 200)) == ["at-0.02"]
    # Three clients may have failed in parallel, or succeeded later.
    assert hasty_retries(*failing, *call(0.02, 500)) == []
    assert hasty_retries(*failing, *call(0.02, 200), *call(0.03, 200)) == []


def test_calls_of_several_clients_are_not_a_loop() -> None:
    sync = {"x-stainless-async": "false"}
    calls = [call(0, 500, 500), call(0.51, 500, 500), call(1.02, 500, 200)]
    others = [
        replace(request, request_headers={**request.request_headers, **sync})
        for request in calls[1]
    ]
    assert hasty_retries(*calls[0], *others, *calls[2]) == []
    # Each began before the previous one ended.
    assert hasty_retries(*call(0, 500, 500), *call(0.01, 500, 500), *call(0.02, 500, 200)) == []
    overlapping = [*call(0, 500, 500), *call(0.501, 500, 500), *call(1.002, 500, 200)]
    assert hasty_retries(*overlapping) == []


def test_loop_that_ignores_retry_after_is_reported_as_early_retries() -> None:
    fields = {"response_headers": LIMIT}
    calls = [*call(0, 429, **fields), *call(0.01, 429, **fields), *call(0.02, 200)]
    assert early_retries(*calls) == ["at-0.01", "at-0.02"]
    assert hasty_retries(*calls) == []
    # A test can call twice in a row.
    assert early_retries(*call(0, 429, **fields), *call(0.01, 200)) == []
