"""Two hundred faults of clients and scripts, of which the verdict has to name 99 in a hundred."""

from collections import Counter
from random import Random

import pytest

from scenarios_app.verdict.judge import Verdict
from scenarios_app.verdict.rules import RULES
from tests.verdict.faults import OF_CLIENTS, OF_SCRIPTS

EACH = 15
SHARE = 0.99
# What comes with another: who does not wait for usage closes the stream, and a result under a wrong
# id leaves its call without one.
ALSO = {
    "usage-unread": {"stream-closed-early"},
    "tool-result-unknown": {"tool-result-missing"},
}


@pytest.mark.parametrize("rule", OF_CLIENTS)
def test_a_fault_of_a_client_is_named_by_its_rule_and_by_no_other(rule: str) -> None:
    missed = [seed for seed in range(EACH) if rule not in told_of(rule, seed)]
    assert missed == []
    others = {name for seed in range(EACH) for name in told_of(rule, seed)} - {rule}
    assert others <= ALSO.get(rule, set())


@pytest.mark.parametrize("part", OF_SCRIPTS)
def test_a_fault_of_a_script_is_named_by_its_part_of_the_verdict(part: str) -> None:
    for seed in range(EACH):
        verdict = OF_SCRIPTS[part](Random(seed)).verdict()
        assert not verdict.passed
        assert parts_of(verdict)[part if part in parts_of(verdict) else "unmatched"]


def test_of_all_seeded_faults_at_least_99_in_100_are_named() -> None:
    seeded: Counter[bool] = Counter()
    for seed in range(EACH):
        seeded.update(rule in told_of(rule, seed) for rule in OF_CLIENTS)
        seeded.update(not OF_SCRIPTS[p](Random(seed)).verdict().passed for p in OF_SCRIPTS)
    assert seeded.total() >= 200
    assert seeded[True] / seeded.total() >= SHARE


def test_every_rule_has_its_fault() -> None:
    assert [rule.name for rule in RULES] == list(OF_CLIENTS)


def told_of(rule: str, seed: int) -> set[str]:
    world = OF_CLIENTS[rule](Random(f"{rule} {seed}"))
    return set(world.rules())


def parts_of(verdict: Verdict) -> dict[str, bool]:
    return {
        "unmatched": bool(verdict.unmatched),
        "violations": bool(verdict.violations),
        "unserved": bool(verdict.unserved),
    }
