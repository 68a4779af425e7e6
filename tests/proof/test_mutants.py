"""Mutants: their cells, the judgement of runs, the outcome over all tests, and the reports."""

import json
from typing import Any
from xml.etree import ElementTree

import pytest

from scenarios_app.proof import plan
from scenarios_app.proof.experiment import Sweep
from scenarios_app.proof.mutants import KINDS, MUTANTS, cells_of, judge, mutants_of, score
from scenarios_app.proof.plan import Cell
from tests.proof.observations import (
    answer,
    changed_answer,
    make_observation,
    make_result,
    repeat_command,
)

NUMBER = {"alteration": "number", "nth": 1, "before": "19.00", "after": "1900"}
VARIANTS = [
    NUMBER,
    {"alteration": "number", "nth": 2, "before": "2", "after": "200"},
    {"alteration": "language", "nth": 1, "before": "We", "after": "Lo"},
    {"alteration": "no_argument", "nth": 1, "before": "sum=19", "after": ""},
    {"alteration": "call_twice", "nth": 1, "before": "", "after": "pay()"},
    {"alteration": "empty_answer", "nth": 1, "before": "", "after": ""},
]


def answer_with_variants(number: int = 1, *variants: Any, **keys: Any) -> dict[str, Any]:
    """Return an answer in the format of `/control/changes` with these variants."""
    fields = {"variants": variants or VARIANTS, "equivalent_changes": {}}
    return answer(number, **{**fields, **keys})


def cells(*answers: dict[str, Any], **keys: Any) -> list[Cell]:
    return plan.all_cells(answers or [answer_with_variants()], KINDS, cells_of, **keys)


def make_sweep(outcomes: dict[str, str], *answers: dict[str, Any], **keys: Any) -> Sweep:
    """Return a sweep with the outcomes of cells, given by the cell's name or its session."""
    all_cells = cells(*answers)
    results = {}
    for cell in all_cells:
        for name in (cell.name, cell.place.session):
            if name in outcomes:
                results[cell] = make_result(cell, outcomes[name])
    return Sweep(all_cells, results=results, **keys)


def test_cell_is_a_change_of_a_step_at_one_place_of_its_answer() -> None:
    names = [
        cell.name
        for cell in cells(answer_with_variants(), answer_with_variants(2, NUMBER, step="1"))
    ]
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
    observation = make_observation(**{"answers": [changed_answer("number")], **run})
    assert judge(cells()[0], make_observation(), observation).outcome == outcome


def test_findings_of_the_verdict_do_not_kill() -> None:
    run = make_observation(
        answers=[changed_answer("number")], unmatched=["/x"], findings=[("error", "rule")]
    )
    assert judge(cells()[0], make_observation(), run).outcome == "survived"


def test_mutant_is_killed_by_one_of_the_tests_that_use_its_step() -> None:
    answers = [answer_with_variants(1, NUMBER, session=test) for test in ("t::a", "t::b")]
    cells_of_tests = [
        plan.Cell(f"{cell.place.session} {cell.name}", cell.kind, cell.place, cell.change)
        for step_answer in answers
        for cell in cells(step_answer)
    ]
    sweep = Sweep(
        cells_of_tests, results={cells_of_tests[0]: make_result(cells_of_tests[0], "survived")}
    )
    sweep.results[cells_of_tests[1]] = make_result(cells_of_tests[1], "killed")
    (mutant,) = mutants_of(sweep)
    assert (mutant.outcome, mutant.tests) == ("killed", ["t::a", "t::b"])
    assert score(sweep) == 1.0


def test_steps_in_the_code_of_two_tests_are_two_steps() -> None:
    first, second = (
        cells(answer_with_variants(1, NUMBER, session=test, owner=test))[0]
        for test in ("t::a", "t::b")
    )
    sweep = Sweep(
        [first, second],
        results={first: make_result(first, "survived"), second: make_result(second, "killed")},
    )
    assert [mutant.outcome for mutant in mutants_of(sweep)] == ["survived", "killed"]
    assert MUTANTS.outcomes_of(sweep) == {"survived", "killed"} and score(sweep) == 0.5


def test_text_report_names_each_survivor_and_ends_with_the_score() -> None:
    outcomes = {
        "number@s/1": "survived",
        "no_argument@s/1": "survived",
        "call_twice@s/1": "survived",
        "empty_answer@s/1": "survived",
        "language@s/1": "killed",
    }
    sweep = make_sweep(outcomes, command="python x.py", unused=["s/2"])
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
    step_answer = answer_with_variants(equivalent_changes={"number": "shown to no one"})
    sweep = make_sweep({"language@s/1": "killed"}, step_answer)
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
    sweep = make_sweep(outcomes, command="x", unused=["s/9"], seed=3)
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
    nothing = json.loads(MUTANTS.reports["json"](make_sweep({}), (), repeat_command))
    assert nothing["score"] is None
    assert MUTANTS.text(make_sweep({}), (), repeat_command).endswith("0 killed, 0 survived")


def test_junit_and_page_have_each_mutant() -> None:
    sweep = make_sweep({"number@s/1": "survived", "language@s/1": "killed"}, command="<x>")
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
    sweep = make_sweep({"number@s/1": "survived", "language@s/1": "killed"})
    wanted = MUTANTS.fail_on_outcomes(fail_on, fail_under)
    assert MUTANTS.fails(sweep, wanted, fail_under) is fails


def test_sweep_without_a_score_does_not_fail_by_it() -> None:
    assert not MUTANTS.fails(make_sweep({}), (), 90.0)
