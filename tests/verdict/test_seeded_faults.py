"""Faults of clients and scripts, drawn from seeds, that the verdict has to name: a few of each in
the suite, in `make test-long` 99 in a hundred of two hundred."""

from collections import Counter
from random import Random

import pytest

from scenarios_app.verdict.judge import RULES, Verdict
from tests.verdict.faults import OF_CLIENTS, OF_SCRIPTS

EACH, EACH_IN_THE_SUITE = 15, 5
SHARE = 0.99
# What comes with another: who does not wait for usage closes the stream, and a result under a wrong
# id leaves its call without one.
ALSO = {
    "usage-unread": {"stream-closed-early"},
    "tool-result-unknown": {"tool-result-missing"},
}


@pytest.mark.parametrize("rule", OF_CLIENTS)
def test_a_fault_of_a_client_is_named_by_its_rule_and_by_no_other(rule: str) -> None:
    for seed in range(EACH_IN_THE_SUITE):
        told = told_of(rule, seed)
        assert rule in told and told - {rule} <= ALSO.get(rule, set()), seed


@pytest.mark.parametrize("part", OF_SCRIPTS)
def test_a_fault_of_a_script_is_named_by_its_part_of_the_verdict(part: str) -> None:
    for seed in range(EACH_IN_THE_SUITE):
        assert part_is_named(part, seed), seed


@pytest.mark.long
def test_of_two_hundred_faults_at_least_99_in_100_are_named() -> None:
    seeds = range(EACH)
    named = [(rule, rule in told_of(rule, seed)) for rule in OF_CLIENTS for seed in seeds]
    named += [(part, part_is_named(part, seed)) for part in OF_SCRIPTS for seed in seeds]
    print(f"{sum(well for _, well in named)} of {len(named)} seeded faults are named")
    assert len(named) >= 200
    missed = Counter(name for name, well in named if not well)
    assert 1 - missed.total() / len(named) >= SHARE, missed


@pytest.mark.long
@pytest.mark.parametrize("rule", OF_CLIENTS)
def test_no_other_rule_is_named_with_a_fault(rule: str) -> None:
    others = {name for seed in range(EACH) for name in told_of(rule, seed)} - {rule}
    assert others <= ALSO.get(rule, set())


def test_every_rule_has_its_fault() -> None:
    assert [rule.name for rule in RULES] == list(OF_CLIENTS)


def told_of(rule: str, seed: int) -> set[str]:
    world = OF_CLIENTS[rule](Random(f"{rule} {seed}"))
    return set(world.rules())


def part_is_named(part: str, seed: int) -> bool:
    """Whether a script's fault fails the verdict, and stands in its part; what a catch-all takes
    counts as unmatched."""
    verdict = OF_SCRIPTS[part](Random(seed)).verdict()
    parts = parts_of(verdict)
    return not verdict.passed and parts[part if part in parts else "unmatched"]


def parts_of(verdict: Verdict) -> dict[str, bool]:
    return {
        "unmatched": bool(verdict.unmatched),
        "violations": bool(verdict.violations),
        "unserved": bool(verdict.unserved),
    }
