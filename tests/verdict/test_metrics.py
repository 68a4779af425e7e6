"""Counts of served steps, and their limits."""

import json

import pytest

from scenarios_app.engine.scenario import Scenario
from scenarios_app.verdict import metrics
from scenarios_app.verdict.metrics import StepCounts, merge_counts

STEP, OTHER = ("s", "1"), ("s", "2")


def count(steps: StepCounts, step: tuple[str, str], session: str = "a", *, fault: str = "") -> None:
    steps.count_answer(session, step, fault=fault, refused=False)


def test_answers_faults_and_requests_are_counted() -> None:
    steps = StepCounts()
    for fault in ("rate_limit", ""):
        count(steps, STEP, fault=fault)
    count(steps, ("", ""))
    steps.count_answer("a", OTHER, fault="", refused=True)
    data = merge_counts([steps.to_message()])
    assert data.served == {STEP: 2}
    assert data.faults == {("s", "1", "rate_limit")}
    assert steps.requests == 4


def test_merged_counts_add_up_those_of_all_processes() -> None:
    first, second = StepCounts(), StepCounts()
    for steps in (first, second):
        count(steps, STEP)
    count(second, OTHER, fault="timeout")
    first.add_met_conditions([("s", "1", "match.model")])
    second.count_observed(2)
    # Messages of other processes arrive as JSON.
    messages = [first.to_message(), json.loads(json.dumps(second.to_message()))]
    run = merge_counts(messages, {STEP, ("t", "1")})
    assert run.served == {STEP: 2, OTHER: 1, ("t", "1"): 1}
    assert run.faults == {("s", "2", "timeout")}
    assert run.met == {("s", "1", "match.model")}
    assert (run.requests, run.observed, run.whole) == (3, 2, True)


def test_forgotten_session_leaves_the_counts_of_the_run() -> None:
    steps = StepCounts()
    for session in ("a", "b"):
        count(steps, STEP, session)
    steps.forget_session("a")
    assert (steps.served_in("a"), steps.served_in("b")) == (frozenset(), {STEP})
    steps.forget_session(None)
    assert steps.served_in("b") == frozenset()
    assert merge_counts([steps.to_message()]).served == {STEP: 2}


def test_restarted_run_keeps_the_steps_of_sessions() -> None:
    steps = StepCounts()
    count(steps, STEP, fault="timeout")
    steps.add_met_conditions([("s", "1", "match.model")])
    before = steps.since
    steps.restart_run()
    data = merge_counts([steps.to_message()])
    assert (data.served, data.faults, data.met, steps.requests) == ({}, set(), set(), 0)
    assert steps.since >= before
    assert steps.served_in("a") == {STEP}


def test_counts_beyond_the_limit_are_not_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "MAX_STEPS", 1)
    monkeypatch.setattr(metrics, "MAX_SESSIONS", 1)
    steps = StepCounts()
    for step in (STEP, STEP):
        count(steps, step)
    assert steps.whole
    count(steps, OTHER, "b")
    assert not steps.whole
    assert not merge_counts([steps.to_message(), StepCounts().to_message()]).whole
    assert merge_counts([steps.to_message()]).served == {STEP: 2}
    assert (steps.served_in("a"), steps.served_in("b")) == (frozenset(), {OTHER})


def test_session_scenario_replaces_one_of_the_same_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "MAX_SCENARIOS", 2)
    steps = StepCounts()
    for name, priority in (("x", 1), ("y", 1), ("x", 2), ("z", 1)):
        steps.add_session_scenario(Scenario(name, priority=priority))
    assert [
        (scenario.name, scenario.priority) for scenario in steps.session_scenarios().values()
    ] == [
        ("x", 2),
        ("z", 1),
    ]
