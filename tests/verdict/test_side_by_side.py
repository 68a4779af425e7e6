"""Well-behaved parallel clients with the same request have no findings, in any order."""

from heapq import heapify, heappop, heappush
from itertools import pairwise
from random import Random

import pytest

from scenarios_app.verdict.retries import is_retryable, requested_wait
from scenarios_app.verdict.session import JudgedExchange, JudgedSession, Rule
from scenarios_app.verdict.transport_rules import RULES as TRANSPORT_RULES
from tests.verdict.test_retries import exchange, with_attempt_number

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
        session = JudgedSession("s", simulate_parallel_clients(Random(seed), max_attempts))
        assert not [sighting for rule in RULES for sighting in rule.find_sightings(session)], seed


@pytest.mark.parametrize("max_attempts", [1, 2, 3])
def test_parallel_unnumbered_calls_have_no_findings_in_any_order(max_attempts: int) -> None:
    for seed in range(SEEDS):
        calls = [
            without_number(request)
            for request in simulate_parallel_clients(Random(seed), max_attempts)
        ]
        session = JudgedSession("s", tuple(calls))
        assert not [sighting for rule in RULES for sighting in rule.find_sightings(session)], seed


def test_retry_that_waited_is_not_blamed_for_the_later_failure_of_another_client() -> None:
    wait = {"retry-after": "0.4"}
    first = with_attempt_number(exchange(0, 429, response_headers=wait), 0)
    other = with_attempt_number(exchange(0.3, 429, response_headers=wait), 0)
    again = with_attempt_number(exchange(0.5), 1)
    assert sightings(RETRY_AFTER_IGNORED, first, other, again) == []
    # The other's next attempt has no earlier failure to wait for.
    hasty = with_attempt_number(exchange(0.51), 1)
    assert sightings(RETRY_AFTER_IGNORED, first, other, again, hasty) == ["at-0.51"]


def test_retry_after_a_client_left_is_not_blamed_for_the_failure_of_another_client() -> None:
    left = with_attempt_number(exchange(0, outcome="client_gone"), 0)
    other = with_attempt_number(exchange(0.1, 401), 0)
    assert sightings(RETRIED_UNRETRYABLE, left, other, with_attempt_number(exchange(0.2), 1)) == []


def test_request_repeated_after_its_success_is_not_a_loop() -> None:
    loop = [exchange(0, 500), exchange(0.01, 500), exchange(0.02)]
    assert sightings(NO_BACK_OFF, *loop) == ["at-0.02"]
    assert sightings(NO_BACK_OFF, *loop, exchange(0.5)) == []
    assert sightings(NO_BACK_OFF, *loop, exchange(20)) == ["at-0.02"]


def sightings(rule: Rule, *exchanges: JudgedExchange) -> list[str]:
    return [
        sighting.exchange.uid for sighting in rule.find_sightings(JudgedSession("s", exchanges))
    ]


def simulate_parallel_clients(random: Random, max_attempts: int) -> tuple[JudgedExchange, ...]:
    """Return the requests of three to six clients that start together on a busy machine.

    Each client waits between attempts as the SDKs do and gives up after `max_attempts`. The first
    responses fail; at least two clients succeed, or none does. No two requests overlap, because
    the server answers faster than the next request arrives.
    """
    clients = random.randint(3, 6)
    if random.random() < 0.5:
        failures = draw_failures(random, max_failed_calls=clients - 2, max_attempts=max_attempts)
    else:
        kinds = [draw_failure(random) for _ in range(random.choice((1, 9)))]
        failures = random.choices(kinds, k=clients * max_attempts)
    max_delay = random.choice((0.0, 0.005, 0.3, MAX_DELAY_SECONDS))
    queue = [(random.uniform(0, max_delay), client, 0) for client in range(clients)]
    heapify(queue)
    now, exchanges = 0.0, []
    while queue:
        due, client, number = heappop(queue)
        now = max(now + random.uniform(0.0001, 0.002), due)
        answer = failures.pop() if failures else exchange(0)
        request = move_to(now, with_attempt_number(answer, number))
        exchanges.append(request)
        now += RESPONSE_SECONDS
        if request.failed and is_retryable(request) and number + 1 < max_attempts:
            pause = requested_wait(request) or 0.5 * 2**number * random.uniform(0.75, 1)
            heappush(queue, (now + pause + random.uniform(0, max_delay), client, number + 1))
    assert all(request.ended_at <= later.at for request, later in pairwise(exchanges))
    return tuple(exchanges)


def draw_failures(random: Random, max_failed_calls: int, max_attempts: int) -> list[JudgedExchange]:
    """Return failures that make at most `max_failed_calls` calls fail.

    One failure with an unretryable status or header is enough to end a call.
    """
    final_count = random.randint(0, max_failed_calls)
    final = [
        random.choice((make_failure(random, NEVER), exchange(0, 401))) for _ in range(final_count)
    ]
    other_failures = range(random.randint(0, (max_failed_calls - final_count) * max_attempts))
    failures = final + [make_failure(random, random.choice(WAITS)) for _ in other_failures]
    random.shuffle(failures)
    return failures


def draw_failure(random: Random) -> JudgedExchange:
    return random.choice((make_failure(random, random.choice((*WAITS, NEVER))), exchange(0, 401)))


def make_failure(random: Random, headers: dict[str, str]) -> JudgedExchange:
    return exchange(0, random.choice((429, 500, 503)), response_headers=headers)


def move_to(now: float, request: JudgedExchange) -> JudgedExchange:
    return exchange(
        now,
        request.status,
        request_headers=request.request_headers,
        response_headers=request.response_headers,
    )


def without_number(request: JudgedExchange) -> JudgedExchange:
    return exchange(request.at, request.status, response_headers=request.response_headers)
