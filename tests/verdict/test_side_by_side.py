"""Polite clients that send the same request side by side, in many orders, are not blamed."""

from heapq import heapify, heappop, heappush
from itertools import pairwise
from random import Random

import pytest

from scenarios_app.verdict.session import Exchange, Rule, Session
from scenarios_app.verdict.transport_rules import (
    NO_BACK_OFF,
    RETRIED_UNRETRYABLE,
    RETRY_AFTER_IGNORED,
)
from tests.verdict.test_tries import exchange, numbered

RULES = (RETRY_AFTER_IGNORED, NO_BACK_OFF, RETRIED_UNRETRYABLE)
SEEDS = 1_000
TAKES = 0.002
MOST_DELAYED = 3.0


@pytest.mark.parametrize("most_tries", [1, 2, 3])
def test_calls_of_an_sdk_side_by_side_are_not_blamed_in_any_order(most_tries: int) -> None:
    for seed in range(SEEDS):
        session = Session("s", side_by_side(Random(seed), most_tries))
        assert not [seen for rule in RULES for seen in rule.sightings(session)], seed


def test_calls_without_numbers_side_by_side_are_not_blamed_in_any_order() -> None:
    for seed in range(SEEDS):
        calls = [without_number(one) for one in side_by_side(Random(seed), most_tries=1)]
        session = Session("s", tuple(calls))
        assert not [seen for rule in RULES for seen in rule.sightings(session)], seed


def test_retry_that_waited_is_not_blamed_for_the_later_failure_of_another_client() -> None:
    wait = {"retry-after": "0.4"}
    first = numbered(exchange(0, 429, response_headers=wait), 0)
    other = numbered(exchange(0.3, 429, response_headers=wait), 0)
    again = numbered(exchange(0.5), 1)
    assert sightings(RETRY_AFTER_IGNORED, first, other, again) == []
    # The other's next try has no failure left that it could have waited for.
    hasty = numbered(exchange(0.51), 1)
    assert sightings(RETRY_AFTER_IGNORED, first, other, again, hasty) == ["at-0.51"]


def test_retry_after_a_client_left_is_not_blamed_for_the_failure_of_another_client() -> None:
    left = numbered(exchange(0, outcome="client_gone"), 0)
    other = numbered(exchange(0.1, 401), 0)
    assert sightings(RETRIED_UNRETRYABLE, left, other, numbered(exchange(0.2), 1)) == []


def test_request_repeated_after_its_success_is_not_a_loop() -> None:
    loop = [exchange(0, 500), exchange(0.01, 500), exchange(0.02)]
    assert sightings(NO_BACK_OFF, *loop) == ["at-0.02"]
    assert sightings(NO_BACK_OFF, *loop, exchange(0.5)) == []
    assert sightings(NO_BACK_OFF, *loop, exchange(20)) == ["at-0.02"]


def sightings(rule: Rule, *exchanges: Exchange) -> list[str]:
    return [seen.exchange.id for seen in rule.sightings(Session("s", exchanges))]


def side_by_side(draw: Random, most_tries: int) -> tuple[Exchange, ...]:
    """The requests of two to six clients that begin together on a busy machine.

    Each waits as the SDKs do between its tries and gives up after `most_tries`. The first answers
    fail, at least two clients succeed, and no two requests overlap: the server answers so fast that
    it sees one after the other.
    """
    clients = draw.randint(3, 6)
    failures = answers(draw, givers_up=clients - 2, most_tries=most_tries)
    busy = draw.choice((0.0, 0.005, 0.3, MOST_DELAYED))
    waiting = [(draw.uniform(0, busy), client, 0) for client in range(clients)]
    heapify(waiting)
    now, made = 0.0, []
    while waiting:
        due, client, number = heappop(waiting)
        now = max(now + draw.uniform(0.0001, 0.002), due)
        answer = failures.pop() if failures else exchange(0)
        one = at(now, numbered(answer, number))
        made.append(one)
        now += TAKES
        useless = one.response_headers.get("x-should-retry") == "false"
        if one.failed and not useless and number + 1 < most_tries:
            wait = float(one.response_headers.get("retry-after", 0))
            pause = wait or 0.5 * 2**number * draw.uniform(0.75, 1)
            heappush(waiting, (now + pause + draw.uniform(0, busy), client, number + 1))
    assert all(one.ended_at <= later.at for one, later in pairwise(made))
    return tuple(made)


def answers(draw: Random, givers_up: int, most_tries: int) -> list[Exchange]:
    """Failures that end at most so many calls: one that says not to try again ends a call alone."""
    ended = draw.randint(0, givers_up)
    final = [failure(draw, {"x-should-retry": "false"}) for _ in range(ended)]
    left = range(draw.randint(0, (givers_up - ended) * most_tries))
    failures = final + [failure(draw, draw.choice(({}, {"retry-after": "1"}))) for _ in left]
    draw.shuffle(failures)
    return failures


def failure(draw: Random, headers: dict[str, str]) -> Exchange:
    return exchange(0, draw.choice((429, 500, 503)), response_headers=headers)


def at(now: float, one: Exchange) -> Exchange:
    return exchange(
        now,
        one.status,
        request_headers=one.request_headers,
        response_headers=one.response_headers,
    )


def without_number(one: Exchange) -> Exchange:
    return exchange(one.at, one.status, response_headers=one.response_headers)
