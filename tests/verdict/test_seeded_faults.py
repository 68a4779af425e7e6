"""The verdict reports seeded faults of clients and scenarios.

The suite has a few of each; `make test-long` requires at least 99 % of two hundred.
"""

from collections import Counter
from random import Random

import pytest

from scenarios_app.verdict.judge import RULES, Verdict
from tests.verdict.faults import CLIENT_FAULTS, SCENARIO_FAULTS

SEEDS, SEEDS_IN_SUITE = 15, 5
MIN_SHARE = 0.99
# Findings that a fault implies: a client that does not wait for usage closes the stream, and a
# result with a wrong id leaves its call without one.
IMPLIED_RULES = {
    "usage-unread": {"stream-closed-early"},
    "tool-result-unknown": {"tool-result-missing"},
}


@pytest.mark.parametrize("rule", CLIENT_FAULTS)
def test_client_fault_is_reported_by_its_rule_only(rule: str) -> None:
    for seed in range(SEEDS_IN_SUITE):
        reported = reported_rules(rule, seed)
        assert rule in reported and reported - {rule} <= IMPLIED_RULES.get(rule, set()), seed


@pytest.mark.parametrize("part", SCENARIO_FAULTS)
def test_scenario_fault_is_reported_in_its_part_of_the_verdict(part: str) -> None:
    for seed in range(SEEDS_IN_SUITE):
        assert is_part_reported(part, seed), seed


@pytest.mark.long
def test_99_percent_of_two_hundred_faults_are_reported() -> None:
    seeds = range(SEEDS)
    faults = [
        (rule, rule in reported_rules(rule, seed)) for rule in CLIENT_FAULTS for seed in seeds
    ]
    faults += [(part, is_part_reported(part, s)) for part in SCENARIO_FAULTS for s in seeds]
    missed = Counter(name for name, is_reported in faults if not is_reported)
    print(f"{len(faults) - missed.total()} of {len(faults)} seeded faults are reported")
    assert len(faults) >= 200
    assert 1 - missed.total() / len(faults) >= MIN_SHARE, missed


@pytest.mark.long
@pytest.mark.parametrize("rule", CLIENT_FAULTS)
def test_client_fault_is_reported_by_no_other_rule_in_many_runs(rule: str) -> None:
    others = {name for seed in range(SEEDS) for name in reported_rules(rule, seed)} - {rule}
    assert others <= IMPLIED_RULES.get(rule, set())


def test_every_rule_has_a_seeded_fault() -> None:
    assert [rule.name for rule in RULES] == list(CLIENT_FAULTS)


def reported_rules(rule: str, seed: int) -> set[str]:
    server = CLIENT_FAULTS[rule](Random(f"{rule} {seed}"))
    return set(server.rules())


def is_part_reported(part: str, seed: int) -> bool:
    """True if a scenario fault fails the verdict and is in its part.

    Requests that a catch-all answered count as unmatched.
    """
    verdict = SCENARIO_FAULTS[part](Random(seed)).verdict()
    parts = parts_of(verdict)
    return not verdict.passed and parts[part if part in parts else "unmatched"]


def parts_of(verdict: Verdict) -> dict[str, bool]:
    return {
        "unmatched": bool(verdict.unmatched),
        "violations": bool(verdict.violations),
        "unserved": bool(verdict.unserved),
    }
