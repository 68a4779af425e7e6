"""What a click can do about each kind of finding."""

import json

import pytest

from scenarios_app.admin.editor.problems import Fix, fixes_for
from scenarios_app.engine.conditions.base import SuspicionKind
from scenarios_app.engine.matching.lint import Suspicion
from scenarios_app.models import Step

ROWS = ["steps-0", "steps-1"]


def mends(
    kind: SuspicionKind,
    *,
    place: str = "match",
    step: int = 2,
    by: tuple[str, int] | None = None,
    above: int | None = None,
    instead: tuple[str, str] | None = None,
) -> list[Fix]:
    one = Suspicion(kind, "s", step, place, "so", by, instead, ("get_order",))
    steps = [Step(), Step(match_user="é", match_tools=["a"], match_provider="x")]
    return list(fixes_for(one, ROWS, steps, above=above))


@pytest.mark.parametrize(
    ("found", "label", "target"),
    [
        (mends("empty", step=0), "Add a step", "steps"),
        (mends("placeholder", place="produce.text"), "Write the answer", "steps-1-answer_text"),
        (mends("looping"), "Add a step for the result of get_order", "steps"),
        (mends("looping", by=("s", 1)), "Use this step for the first answer only", "steps-1-turn"),
        (mends("broad"), "Only once per session", "steps-1-consume"),
        (mends("shadowed", by=("s", 1)), "Try it before step 1", "steps-1"),
        (mends("shadowed", by=("o", 1), above=4), "Before all of o: priority 5", "priority"),
        (mends("unoffered", place="match.tools"), "Show it", "steps-1-match_tools"),
        (mends("unreachable", place="match.provider"), "Show it", "steps-1-match_provider"),
        (mends("narrow", place="match.messages[0]"), "Show it", "steps-1-match_user"),
    ],
)
def test_every_suspicion_has_a_fix(found: list[Fix], label: str, target: str) -> None:
    assert (found[0].label, found[0].target) == (label, target)


def test_regex_class_is_replaced_in_its_field() -> None:
    (one,) = mends("narrow", place="match.messages[0]", instead=(r"\w", r"[\pL\pN_]"))
    assert one.target == "steps-1-match_user"
    assert (one.was, one.value) == (r"\w", r"[\pL\pN_]")


def test_loop_is_fixed_by_a_step_for_the_tool_result() -> None:
    one = Suspicion("looping", "s", 1, "consume", "so", tools=("get_order", "track"))
    step = Step(match_user="order", match_user_ignore_case=True)
    (mend,) = fixes_for(one, ["steps-0"], [step])
    columns = json.loads(mend.value)
    assert (mend.does, mend.before) == ("add", "steps-0")
    assert columns.items() >= {"match_user": "order", "match_user_ignore_case": True}.items()
    assert columns["match_tool_result_name"] == "get_order"


def test_loop_of_a_tool_result_step_is_only_shown() -> None:
    one = Suspicion("looping", "s", 1, "consume", "so", tools=("get_order",))
    (mend,) = fixes_for(one, ["steps-0"], [Step(match_tool_result_name="get_order")])
    assert mend.does == "show"
