"""Mutants: their cells, how a run is judged, the outcome over all tests, and the reports."""

import json
from typing import Any
from xml.etree import ElementTree

import pytest

from scenarios_app.proof import plan
from scenarios_app.proof.experiment import Sweep
from scenarios_app.proof.mutants import KINDS, MUTANTS, cells_of, judge, mutants_of, score
from scenarios_app.proof.plan import Cell
from tests.proof.observations import answer, done, observed, repeat_command, struck

NUMBER = {"alteration": "number", "nth": 1, "before": "19.00", "after": "1900"}
VARIANTS = [
    NUMBER,
    {"alteration": "number", "nth": 2, "before": "2", "after": "200"},
    {"alteration": "language", "nth": 1, "before": "We", "after": "Lo"},
    {"alteration": "no_argument", "nth": 1, "before": "sum=19", "after": ""},
    {"alteration": "call_twice", "nth": 1, "before": "", "after": "pay()"},
    {"alteration": "empty_answer", "nth": 1, "before": "", "after": ""},
]


def offered(number: int = 1, *variants: Any, **keys: Any) -> dict[str, Any]:
    """An answer as `/control/changes` has it, with these variants."""
    more = {"variants": variants or VARIANTS, "equivalent_changes": {}}
    return answer(number, **{**more, **keys})


def cells(*answers: dict[str, Any], **keys: Any) -> list[Cell]:
    return plan.all_cells(answers or [offered()], KINDS, cells_of, **keys)


def swept(outcomes: dict[str, str], *answers: dict[str, Any], **keys: Any) -> Sweep:
    """A sweep in which the cells of these tests, or with these names, had these outcomes."""
    every = cells(*answers)
    results = {}
    for cell in every:
        for name in (cell.name, cell.place.session):
            if name in outcomes:
                results[cell] = done(cell, outcomes[name])
    return Sweep(every, results=results, **keys)


def test_cell_is_a_change_of_a_step_at_one_place_of_its_answer() -> None:
    names = [cell.name for cell in cells(offered(), offered(2, NUMBER, step="1"))]
    assert names == [
        "empty_answer@s/1",
        "call_twice@s/1",
        "number@s/1",
        "number.2@s/1",
        "no_argument@s/1",
        "language@s/1",
    ], "a step that answers twice is changed once"
    second = cells(kinds=["number"])[1]
    assert second.change == {"step": "s/1", "alteration": "number", "nth": 2}
    assert (second.before, second.after) == ("2", "200")


@pytest.mark.parametrize(
    ("run", "outcome"),
    [
        ({}, "survived"),
        ({"code": 1}, "killed"),
        ({"hung": True, "code": 143}, "killed"),
        ({"answers": [answer()]}, "unused"),
    ],
)
def test_run_kills_a_mutant_by_failing_or_by_not_ending(run: dict[str, Any], outcome: str) -> None:
    observation = observed(**{"answers": [struck("number")], **run})
    assert judge(cells()[0], observed(), observation).outcome == outcome


def test_findings_of_the_verdict_do_not_kill() -> None:
    run = observed(answers=[struck("number")], unmatched=["/x"], findings=[("error", "rule")])
    assert judge(cells()[0], observed(), run).outcome == "survived"


def test_mutant_is_killed_by_one_of_the_tests_that_use_its_step() -> None:
    answers = [offered(1, NUMBER, session=test) for test in ("t::a", "t::b")]
    both = [
        plan.Cell(f"{cell.place.session} {cell.name}", cell.kind, cell.place, cell.change)
        for one in answers
        for cell in cells(one)
    ]
    sweep = Sweep(both, results={both[0]: done(both[0], "survived")})
    sweep.results[both[1]] = done(both[1], "killed")
    (mutant,) = mutants_of(sweep)
    assert (mutant.outcome, mutant.tests) == ("killed", ["t::a", "t::b"])
    assert score(sweep) == 1.0


def test_steps_in_the_code_of_two_tests_are_two_steps() -> None:
    one, other = (
        cells(offered(1, NUMBER, session=test, owner=test))[0] for test in ("t::a", "t::b")
    )
    sweep = Sweep([one, other], results={one: done(one, "survived"), other: done(other, "killed")})
    assert [mutant.outcome for mutant in mutants_of(sweep)] == ["survived", "killed"]
    assert MUTANTS.outcomes_of(sweep) == {"survived", "killed"} and score(sweep) == 0.5


def test_text_names_who_stays_green_when_what_becomes_what_and_the_score_comes_last() -> None:
    outcomes = {
        "number@s/1": "survived",
        "no_argument@s/1": "survived",
        "call_twice@s/1": "survived",
        "empty_answer@s/1": "survived",
        "language@s/1": "killed",
    }
    sweep = swept(outcomes, command="python x.py", unused=["s/2"])
    lines = MUTANTS.text(sweep, (), repeat_command).splitlines()
    assert [line for line in lines if "stays green" in line] == [
        "the command stays green when the answer is left out",
        "the command stays green when pay() is added",
        "the command stays green when 19.00 becomes 1900",
        "the command stays green when sum=19 is left out",
    ]
    assert lines[9:11] == ["  another number at s/1", "  again: run number@s/1"]
    assert lines[-3:] == [
        "unused, since no answer came from it: s/2",
        "mutants left out: 1, since the budget was used up",
        "score: 20 %, 1 killed, 4 survived",
    ]


def test_equivalent_changes_are_left_out_with_the_reason_and_are_not_in_the_score() -> None:
    marked = offered(equivalent_changes={"number": "shown to no one"})
    sweep = swept({"language@s/1": "killed"}, marked)
    text = MUTANTS.text(sweep, (), repeat_command)
    assert text.count("left out as equivalent") == 1, "one line for both numbers"
    assert "left out as equivalent: another number at s/1: shown to no one" in text
    assert sweep.left_out == 3 and score(sweep) == 1.0
    body = json.loads(MUTANTS.reports["json"](sweep, (), repeat_command))
    assert body["equivalent"] == [
        {"step": "s/1", "change": "another number", "reason": "shown to no one"}
    ]


def test_json_has_the_mutants_that_were_run_and_the_unused_steps() -> None:
    outcomes = {"number@s/1": "survived", "number.2@s/1": "killed", "language@s/1": "killed"}
    sweep = swept(outcomes, command="x", unused=["s/9"], seed=3)
    body = json.loads(MUTANTS.reports["json"](sweep, (), repeat_command))
    assert body["mutants"][0] == {
        "step": "s/1",
        "change": "another number",
        "kind": "number",
        "before": "19.00",
        "after": "1900",
        "outcome": "survived",
        "tests": ["x"],
        "repeat": "run number@s/1",
    }
    empty = dict.fromkeys(("change", "kind", "before", "after", "repeat"), "")
    assert body["mutants"][-1] == {"step": "s/9", "outcome": "unused", "tests": [], **empty}
    assert (body["seed"], body["score"], body["skipped"]) == (3, 0.67, 3)
    nothing = json.loads(MUTANTS.reports["json"](swept({}), (), repeat_command))
    assert nothing["score"] is None
    assert MUTANTS.text(swept({}), (), repeat_command).endswith("0 killed, 0 survived")


def test_junit_and_page_have_each_mutant() -> None:
    sweep = swept({"number@s/1": "survived", "language@s/1": "killed"}, command="<x>")
    suite = ElementTree.fromstring(MUTANTS.reports["junit"](sweep, ["survived"], repeat_command))
    failed = [case.get("name") for case in suite.iter("testcase") if list(case.iter("failure"))]
    assert failed == ["another number: 19.00 becomes 1900"]
    page = MUTANTS.reports["html"](sweep, (), repeat_command)
    assert "&lt;x&gt;" in page and "<x>" not in page
    assert page.index('class="survived"') < page.index('class="killed"')


@pytest.mark.parametrize(
    ("fail_on", "fail_under", "fails"),
    [
        (None, None, True),
        (["killed"], None, True),
        ([], None, False),
        (None, 50.0, False),
        (None, 51.0, True),
        (["survived"], 0.0, True),
    ],
)
def test_sweep_fails_by_its_outcomes_or_by_its_score(
    fail_on: list[str] | None, fail_under: float | None, fails: bool
) -> None:
    sweep = swept({"number@s/1": "survived", "language@s/1": "killed"})
    wanted = MUTANTS.fail_on_outcomes(fail_on, fail_under)
    assert MUTANTS.fails(sweep, wanted, fail_under) is fails


def test_sweep_without_a_score_does_not_fail_by_it() -> None:
    assert not MUTANTS.fails(swept({}), (), 90.0)
