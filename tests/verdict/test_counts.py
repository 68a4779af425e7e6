"""What is counted beside the journal, within its bounds."""

import json

import pytest

from scenarios_app.engine.scenario import Scenario
from scenarios_app.verdict import counts
from scenarios_app.verdict.counts import StepCounts, together

STEP, OTHER = ("s", "1"), ("s", "2")


def count(steps: StepCounts, step: tuple[str, str], session: str = "a", *, fault: str = "") -> None:
    steps.count(session, step, fault=fault, refused=False)


def test_answers_faults_and_requests_are_counted() -> None:
    steps = StepCounts()
    for fault in ("rate_limit", ""):
        count(steps, STEP, fault=fault)
    count(steps, ("", ""))
    steps.count("a", OTHER, fault="", refused=True)
    seen = steps.seen()
    assert seen.served == {STEP: 2}
    assert seen.faults == {("s", "1", "rate_limit")}
    assert steps.requests == 4


def test_a_run_is_what_all_processes_have_counted() -> None:
    one, other = StepCounts(), StepCounts()
    for steps in (one, other):
        count(steps, STEP)
    count(other, OTHER, fault="timeout")
    one.meet([("s", "1", "match.model")])
    other.observe(2)
    # As it comes from another process.
    told = [one.told(), json.loads(json.dumps(other.told()))]
    run = together(told, {STEP, ("t", "1")})
    assert run.seen.served == {STEP: 2, OTHER: 1, ("t", "1"): 1}
    assert run.seen.faults == {("s", "2", "timeout")}
    assert run.seen.met == {("s", "1", "match.model")}
    assert (run.requests, run.observed, run.whole) == (3, 2, True)


def test_a_reset_forgets_a_session_and_nothing_of_the_run() -> None:
    steps = StepCounts()
    for session in ("a", "b"):
        count(steps, STEP, session)
    steps.forget("a")
    assert (steps.served_in("a"), steps.served_in("b")) == (frozenset(), {STEP})
    steps.forget(None)
    assert steps.served_in("b") == frozenset()
    assert steps.seen().served == {STEP: 2}


def test_a_run_that_begins_anew_leaves_sessions_alone() -> None:
    steps = StepCounts()
    count(steps, STEP, fault="timeout")
    steps.meet([("s", "1", "match.model")])
    before = steps.since
    steps.begin()
    seen = steps.seen()
    assert (seen.served, seen.faults, seen.met, steps.requests) == ({}, set(), set(), 0)
    assert steps.since >= before
    assert steps.served_in("a") == {STEP}


def test_beyond_its_room_it_says_that_it_is_not_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts, "MOST_STEPS", 1)
    monkeypatch.setattr(counts, "MOST_SESSIONS", 1)
    steps = StepCounts()
    for step in (STEP, STEP):
        count(steps, step)
    assert steps.whole
    count(steps, OTHER, "b")
    assert not steps.whole
    assert not together([steps.told(), StepCounts().told()]).whole
    assert steps.seen().served == {STEP: 2}
    assert (steps.served_in("a"), steps.served_in("b")) == (frozenset(), {OTHER})


def test_of_scenarios_of_one_name_the_latest_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts, "MOST_SCENARIOS", 2)
    steps = StepCounts()
    for name, priority in (("x", 1), ("y", 1), ("x", 2), ("z", 1)):
        steps.know(Scenario(name, priority=priority))
    assert [(one.name, one.priority) for one in steps.known().values()] == [("x", 2), ("z", 1)]
