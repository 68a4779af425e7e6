"""Fixes that the editor offers for each kind of lint finding."""

import json

import pytest

from scenarios_app.admin.editor.problems import Fix, fixes_for
from scenarios_app.engine.conditions.base import SuspicionKind
from scenarios_app.engine.matching.lint import Suspicion
from tests.admin.pages import step_document

ROWS = ["steps-0", "steps-1"]


def find_fixes(
    kind: SuspicionKind,
    *,
    path: str = "match",
    step: int = 2,
    by: tuple[str, int] | None = None,
    max_priority: int | None = None,
    instead: tuple[str, str] | None = None,
) -> list[Fix]:
    suspicion = Suspicion(kind, "s", step, path, "so", by, instead, ("get_order",))
    second = {"match.messages(user)": "é", "match.tools": ["a"], "match.provider": "x"}
    steps = [{}, step_document(second)]
    return list(fixes_for(suspicion, ROWS, steps, above=max_priority))


@pytest.mark.parametrize(
    ("fixes", "label", "target"),
    [
        (find_fixes("empty", step=0), "Add a step", "steps"),
        (
            find_fixes("placeholder", path="produce.text"),
            "Write the answer",
            "steps-1-produce.text",
        ),
        (find_fixes("looping"), "Add a step for the result of get_order", "steps"),
        (
            find_fixes("looping", by=("s", 1)),
            "Use this step for the first answer only",
            "steps-1-turn",
        ),
        (find_fixes("broad"), "Only once per session", "steps-1-consume"),
        (find_fixes("shadowed", by=("s", 1)), "Try it before step 1", "steps-1"),
        (
            find_fixes("shadowed", by=("o", 1), max_priority=4),
            "Before all of o: priority 5",
            "priority",
        ),
        (find_fixes("unoffered", path="match.tools"), "Show it", "steps-1-match.tools"),
        (find_fixes("unreachable", path="match.provider"), "Show it", "steps-1-match.provider"),
        (find_fixes("narrow", path="match.messages[0]"), "Show it", "steps-1-match.messages(user)"),
    ],
)
def test_every_suspicion_has_a_fix(fixes: list[Fix], label: str, target: str) -> None:
    assert (fixes[0].label, fixes[0].target) == (label, target)


def test_regex_class_is_replaced_in_its_field() -> None:
    (fix,) = find_fixes("narrow", path="match.messages[0]", instead=(r"\w", r"[\pL\pN_]"))
    assert fix.target == "steps-1-match.messages(user)"
    assert (fix.was, fix.value) == (r"\w", r"[\pL\pN_]")


def test_loop_is_fixed_by_a_step_for_the_tool_result() -> None:
    suspicion = Suspicion("looping", "s", 1, "consume", "so", tools=("get_order", "track"))
    condition = {"match.messages(user)": "order", "match.messages(user).ignore_case": True}
    step = step_document(condition)
    (fix,) = fixes_for(suspicion, ["steps-0"], [step])
    columns = json.loads(fix.value)
    assert (fix.does, fix.before) == ("add", "steps-0")
    assert (
        columns.items()
        >= {"match.messages(user)": "order", "match.messages(user).ignore_case": True}.items()
    )
    assert columns["match.tool_results(name)"] == "get_order"


def test_loop_of_a_tool_result_step_is_only_shown() -> None:
    suspicion = Suspicion("looping", "s", 1, "consume", "so", tools=("get_order",))
    (fix,) = fixes_for(
        suspicion, ["steps-0"], [step_document({"match.tool_results(name)": "get_order"})]
    )
    assert fix.does == "show"
