"""Measures the CPU microseconds of matching a request, from few steps to very many.

The goal for texts and patterns: 100,000 steps cost at most twice as much as 10.
`python -m tools.bench.matching`. The best of several rounds counts.
"""

import time
from collections.abc import Callable, Iterator
from functools import partial

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.conditions.match import Match
from scenarios_app.engine.conditions.texts import TextCondition
from scenarios_app.engine.matching.index import Index, build_index
from scenarios_app.engine.scenario import Scenario
from tests.engine.match_builders import (
    build_match,
    chat_request,
    scenario,
    step,
    text_message,
    user_text_match,
)

SIZES = (10, 1_000, 100_000)
# Number of steps in each of several scenarios.
STEPS = 10
ROUNDS = 5
ROUND_SECONDS = 0.2

OPENAI = build_match(provider=(TextCondition(equals="openai"),))
REQUEST = chat_request(
    text_message("system", "You are a helpful assistant. " * 20),
    "please answer topic 5; of these now",
    tools=["get_weather", "find_hotels"],
)


def topics(size: int) -> Iterator[Scenario]:
    """Return steps that each match a different topic."""
    for n in range(0, size, STEPS):
        yield scenario(f"s{n:06}", *(step(topic(n + i), f"{n + i}") for i in range(STEPS)))


def patterns(size: int) -> Iterator[Scenario]:
    """Return steps that each match a different pattern."""
    for n in range(0, size, STEPS):
        own = (user_text_match(regex=f"topic {n + i}(;|,) (of|for) th[a-z]+") for i in range(STEPS))
        yield scenario(f"s{n:06}", *(step(match, f"{n + i}") for i, match in enumerate(own)))


def with_defaults(size: int) -> Iterator[Scenario]:
    """Yield the scenarios of `topics`; the last step of each is a default for the provider."""
    for topic in topics(size):
        yield scenario(topic.name, *topic.steps[:-1], step(OPENAI, "default"))


def behind_defaults(size: int) -> Iterator[Scenario]:
    """Yield the scenarios of `topics`; the first step of each is a default for another provider."""
    other = build_match(provider=(TextCondition(equals="anthropic"),))
    for topic in topics(size):
        yield scenario(topic.name, step(other, "default"), *topic.steps[1:])


def alike(size: int) -> Iterator[Scenario]:
    """Yield scenarios of one step each, all with the same condition."""
    for n in range(size):
        yield scenario(f"s{n:06}", step(user_text_match(contains="topic 5;"), f"{n}"))


def empty(size: int) -> Iterator[Scenario]:
    """Yield scenarios of one step each without a condition."""
    for n in range(size):
        yield scenario(f"s{n:06}", step(key=f"{n}"))


def prioritised(size: int) -> Iterator[Scenario]:
    """Return scenarios with different priorities; the step that answers has the lowest."""
    for n, topic in enumerate(topics(size)):
        yield scenario(topic.name, *topic.steps, priority=n)


def topic(number: int) -> Match:
    return user_text_match(contains=f"topic {number};")


def microseconds(find: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        done, start = 0, time.process_time()
        while (spent := time.process_time() - start) < ROUND_SECONDS:
            find()
            done += 1
        best = min(best, spent / done * 1e6)
    return best


def first(index: Index, request: CanonicalRequest) -> object:
    return next(index.candidates(request), None)


def main() -> None:
    shapes = (topics, patterns, prioritised, with_defaults, behind_defaults, alike, empty)
    print(f"{'µs of CPU per request':<24}" + "".join(f"{size:>12,}" for size in SIZES))
    for shape in shapes:
        print(f"{shape.__name__:<24}", end="")
        for size in SIZES:
            index = build_index(shape(size))
            print(f"{microseconds(partial(first, index, REQUEST)):>12.1f}", end="", flush=True)
        print()


if __name__ == "__main__":
    main()
