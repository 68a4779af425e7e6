"""Well-behaved parallel clients with the same request have no findings, in any order."""

from heapq import heapify, heappop, heappush
from itertools import pairwise
from random import Random

import pytest

from scenarios_app.verdict.retries import is_retryable, requested_wait
from scenarios_app.verdict.session import JudgedExchange, JudgedSession, Rule
from scenarios_app.verdict.transport_rules import RULES as TRANSPORT_RULES
from tests.verdict.test_retries import exchange, numbered

RETRY_AFTER_IGNORED, NO_BACK_OFF, RETRIED_UNRETRYABLE, *_ = TRANSPORT_RULES
RULES = (RETRY_AFTER_IGNORED, NO_BACK_OFF, RETRIED_UNRETRYABLE)
SEEDS = 1_000
RESPONSE_SECONDS = 0.002
MAX_DELAY_SECONDS = 3.0
WAITS: tuple[dict[str, str], ...] = ({}, {"retry-after": "1"}, {"retry-after-ms": "5"})
NEVER = {"x-should-retry": "false"}


@pytest.mark.parametrize("max_attempts", [1, 2, 3])
def test_parallel_sdk_calls_have_no_findings_in_any_order(max_attempts: int) -> None:
    for seed in range(SEEDS):
        session = JudgedSession("s", side_by_side(Random(seed), max_attempts))
        assert not [sighting for rule in RULES for sighting in rule.find_sightings(session)], seed


@pytest.mark.parametrize("max_attempts", [1, 2, 3])
def test_parallel_unnumbered_calls_have_no_findings_in_any_order(max_attempts: int) -> None:
    for seed in range(SEEDS):
        calls = [without_number(one) for one in side_by_side(Random(seed), max_attempts)]
        session = JudgedSession("s", tuple(calls))
        assert not [sighting for rule in RULES for sighting in rule.find_sightings(session)], seed


def test_retry_that_waited_is_not_blamed_for_the_later_failure_of_another_client() -> None:
    wait = {"retry-after": "0.4"}
    first = numbered(exchange(0, 429, response_headers=wait), 0)
    other = numbered(exchange(0.3, 429, response_headers=wait), 0)
    again = numbered(exchange(0.5), 1)
    assert sightings(RETRY_AFTER_IGNORED, first, other, again) == []
    # The other's next attempt has no earlier failure to wait for.
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


def sightings(rule: Rule, *exchanges: JudgedExchange) -> list[str]:
    return [sighting.exchange.id for sighting in rule.find_sightings(JudgedSession("s", exchanges))]


def side_by_side(random: Random, max_attempts: int) -> tuple[JudgedExchange, ...]:
    """The requests of three to six clients that begin together on a busy machine.

    Each waits as the SDKs do between its tries and gives up after `max_attempts`. The first answers
    fail, at least two clients succeed or none does, and no two requests overlap: the server answers
    so fast that it sees one after the other.
    """
    clients = random.randint(3, 6)
    if random.random() < 0.5:
        failures = answers(random, givers_up=clients - 2, max_attempts=max_attempts)
    else:
        kinds = [random_failure(random) for _ in range(random.choice((1, 9)))]
        failures = random.choices(kinds, k=clients * max_attempts)
    busy = random.choice((0.0, 0.005, 0.3, MAX_DELAY_SECONDS))
    waiting = [(random.uniform(0, busy), client, 0) for client in range(clients)]
    heapify(waiting)
    now, exchanges = 0.0, []
    while waiting:
        due, client, number = heappop(waiting)
        now = max(now + random.uniform(0.0001, 0.002), due)
        answer = failures.pop() if failures else exchange(0)
        one = at(now, numbered(answer, number))
        exchanges.append(one)
        now += RESPONSE_SECONDS
        if one.failed and is_retryable(one) and number + 1 < max_attempts:
            pause = requested_wait(one) or 0.5 * 2**number * random.uniform(0.75, 1)
            heappush(waiting, (now + pause + random.uniform(0, busy), client, number + 1))
    assert all(one.ended_at <= later.at for one, later in pairwise(exchanges))
    return tuple(exchanges)


def answers(random: Random, givers_up: int, max_attempts: int) -> list[JudgedExchange]:
    """Failures that end at most so many calls: one that says not to try again ends a call alone."""
    ended = random.randint(0, givers_up)
    final = [random.choice((failure(random, NEVER), exchange(0, 401))) for _ in range(ended)]
    left = range(random.randint(0, (givers_up - ended) * max_attempts))
    failures = final + [failure(random, random.choice(WAITS)) for _ in left]
    random.shuffle(failures)
    return failures


def random_failure(random: Random) -> JudgedExchange:
    return random.choice((failure(random, random.choice((*WAITS, NEVER))), exchange(0, 401)))


def failure(random: Random, headers: dict[str, str]) -> JudgedExchange:
    return exchange(0, random.choice((429, 500, 503)), response_headers=headers)


def at(now: float, one: JudgedExchange) -> JudgedExchange:
    return exchange(
        now,
        one.status,
        request_headers=one.request_headers,
        response_headers=one.response_headers,
    )


def without_number(one: JudgedExchange) -> JudgedExchange:
    return exchange(one.at, one.status, response_headers=one.response_headers)
