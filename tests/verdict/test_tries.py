"""Which requests are others sent again, at the edges of what can be known."""

from dataclasses import replace
from typing import Any

import pytest

from scenarios_app.verdict.session import Exchange, Session
from scenarios_app.verdict.transport_rules import NO_BACK_OFF, RETRY_AFTER_IGNORED
from scenarios_app.verdict.tries import asked_wait, retries, retryable

LIMIT = {"retry-after": "1"}


def exchange(at: float, status: int = 200, *, body: str = "{}", **keys: Any) -> Exchange:
    """A request that came at a time, answered a millisecond later and whole after two."""
    made = Exchange(
        f"at-{at}", at, at + 0.001, at + 0.002, "POST", "/v1/chat/completions", status, "complete"
    )
    return replace(made, request_body=body, **keys)


def limited(at: float, **keys: Any) -> Exchange:
    return exchange(at, 429, response_headers=LIMIT, **keys)


def numbered(one: Exchange, number: int) -> Exchange:
    return replace(one, request_headers={"x-stainless-retry-count": str(number)})


def pairs(*exchanges: Exchange) -> list[tuple[str, str]]:
    return [(retry.failed.id, retry.again.id) for retry in retries(exchanges)]


def ignored(*exchanges: Exchange) -> list[str]:
    session = Session("s", exchanges)
    return [seen.exchange.id for seen in RETRY_AFTER_IGNORED.sightings(session)]


def test_a_request_is_sent_again_if_all_of_it_is_the_same() -> None:
    assert pairs(limited(0), exchange(2)) == [("at-0", "at-2")]
    assert pairs(limited(0), exchange(2, body="[]")) == []
    assert pairs(limited(0), exchange(2, path="/v1/responses")) == []
    assert pairs(limited(0), exchange(2, query={"key": "other"})) == []
    assert pairs(exchange(0), exchange(2)) == []


@pytest.mark.parametrize(("at", "early"), [(0.5, True), (0.97, True), (0.995, False), (1.1, False)])
def test_a_wait_counts_from_the_first_byte_of_the_answer(at: float, early: bool) -> None:
    assert ignored(limited(0), exchange(at)) == ([f"at-{at}"] if early else [])


def test_an_own_back_off_that_is_too_short_is_found_among_later_tries_that_are_not() -> None:
    assert ignored(limited(0), limited(0.5), exchange(1.6)) == ["at-0.5"]


def test_clients_that_ask_the_same_and_all_wait_are_no_tries_of_one() -> None:
    assert ignored(limited(0), limited(0.01), exchange(1.1), exchange(1.2)) == []


def test_where_requests_overlap_nothing_is_claimed() -> None:
    assert ignored(limited(0), limited(0.0015), exchange(0.5)) == []


def test_a_client_that_numbers_its_tries_is_believed() -> None:
    first, again = numbered(limited(0), 0), numbered(exchange(0.1), 1)
    assert ignored(first, again) == ["at-0.1"]
    assert ignored(first, numbered(exchange(0.1), 0)) == []


def test_who_asks_again_after_minutes_asks_anew() -> None:
    assert pairs(limited(0), exchange(100)) == [("at-0", "at-100")]
    assert pairs(limited(0), exchange(130)) == []


def test_what_nobody_scripted_is_told_of_elsewhere() -> None:
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
def test_the_wait_is_what_the_answer_asks_for(headers: dict[str, str], wait: float | None) -> None:
    assert asked_wait(exchange(0, 429, response_headers=headers)) == wait


@pytest.mark.parametrize(
    ("status", "said", "helps"),
    [
        *((status, None, True) for status in (408, 409, 425, 429, 499, 500, 503, 529)),
        *((status, None, False) for status in (400, 401, 403, 404, 413, 422)),
        (400, "true", True),
        (503, "false", False),
    ],
)
def test_some_failures_come_every_time(status: int, said: str | None, helps: bool) -> None:
    headers = {} if said is None else {"x-should-retry": said}
    assert retryable(exchange(0, status, response_headers=headers)) is helps


def test_ten_thousand_failures_of_one_request_are_judged_at_once() -> None:
    # A thousand times that would be hours if each were held against all others.
    many = [exchange(number * 0.01, 500) for number in range(10_000)]
    assert len(pairs(*many)) == 9_999


def call(at: float, *statuses: int, **keys: Any) -> list[Exchange]:
    """The tries of one SDK call, half a second apart."""
    return [
        numbered(exchange(at + number / 2, status, **keys), number)
        for number, status in enumerate(statuses)
    ]


def hurried(*exchanges: Exchange) -> list[str]:
    ordered = tuple(sorted(exchanges, key=lambda one: one.at))
    return [seen.exchange.id for seen in NO_BACK_OFF.sightings(Session("s", ordered))]


def test_calls_of_an_sdk_that_follow_at_once_on_one_another_are_a_loops() -> None:
    first, second, third = call(0, 500, 500), call(0.51, 500, 500), call(1.02, 500, 200)
    assert hurried(*first, *second, *third) == ["at-1.02"]
    # Twice in a row may be meant.
    assert hurried(*first, *second) == []
    # So may a call after a pause.
    assert hurried(*first, *second, *call(1.1, 500, 200)) == []


def test_calls_of_one_try_are_a_loops_if_it_ends_with_the_one_that_succeeds() -> None:
    failing = [*call(0, 500), *call(0.01, 500)]
    assert hurried(*failing, *call(0.02, 200)) == ["at-0.02"]
    # Three clients may have failed side by side, or gone on to succeed.
    assert hurried(*failing, *call(0.02, 500)) == []
    assert hurried(*failing, *call(0.02, 200), *call(0.03, 200)) == []


def test_calls_of_several_clients_are_no_loops() -> None:
    sync = {"x-stainless-async": "false"}
    calls = [call(0, 500, 500), call(0.51, 500, 500), call(1.02, 500, 200)]
    others = [replace(one, request_headers={**one.request_headers, **sync}) for one in calls[1]]
    assert hurried(*calls[0], *others, *calls[2]) == []
    # Each began before the one before it was through.
    assert hurried(*call(0, 500, 500), *call(0.01, 500, 500), *call(0.02, 500, 200)) == []
    overlapping = [*call(0, 500, 500), *call(0.501, 500, 500), *call(1.002, 500, 200)]
    assert hurried(*overlapping) == []


def test_a_loop_that_does_not_wait_as_it_is_told_is_told_that() -> None:
    told = {"response_headers": LIMIT}
    calls = [*call(0, 429, **told), *call(0.01, 429, **told), *call(0.02, 200)]
    assert ignored(*calls) == ["at-0.01", "at-0.02"]
    assert hurried(*calls) == []
    # A test may call twice in a row.
    assert ignored(*call(0, 429, **told), *call(0.01, 200)) == []
