"""After an edit only what has changed is read and compiled, and what comes of it is what compiling
everything would give."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scenarios_app.catalog.snapshot import Snapshot, take_snapshot
from scenarios_app.models import Scenario, Step
from scenarios_app.store import save_steps
from tests.engine.asking import ask
from tests.support.hypothesis_profiles import often

pytestmark = pytest.mark.django_db

STEPS = 6
ASKED = [ask("rain"), ask("sun"), ask("rain and sun"), ask("else")]
Edit = Callable[[Scenario, int], object]


def made(steps: int = STEPS, name: str = "weather") -> Scenario:
    scenario = Scenario.objects.create(name=name, variables={"city": "Oslo"})
    save_steps(
        new=[
            Step(
                scenario=scenario, order=10 * n, answer_text=f"answer {n}", match_user=f"topic {n}"
            )
            for n in range(steps)
        ]
    )
    return scenario


def at(scenario: Scenario, n: int) -> Step:
    steps = scenario.steps.all()
    return steps[n % len(steps)]


def edited(**columns: Any) -> Edit:
    def edit(scenario: Scenario, n: int) -> None:
        step = at(scenario, n)
        for name, value in columns.items():
            setattr(step, name, value)
        step.save()

    return edit


def of_scenario(**columns: Any) -> Edit:
    return lambda scenario, n: Scenario.objects.filter(pk=scenario.pk).update(**columns)


def without(scenario: Scenario, n: int) -> None:
    if scenario.steps.count() > 1:
        at(scenario, n).delete()


EDITS: dict[str, Edit] = {
    "an answer": edited(answer_text="another answer"),
    "some columns": lambda s, n: _save_some(at(s, n)),
    "a condition": edited(match_user="rain"),
    "a condition of another mode": edited(match_user="sun", match_user_mode="equals"),
    "a name": edited(name="sunny"),
    "no name": edited(name=""),
    "a turn": edited(turn=1),
    "another turn": edited(turn=2, match_user=""),
    "a template": edited(answer_text="It rains in {{ city }}."),
    "a mistake": edited(answer_text="It rains in {{ nowhere }}."),
    "a move to the front": edited(order=0),
    "a move to the end": edited(order=999),
    "consumed never": edited(consume=False),
    "many at once": lambda s, n: s.steps.update(consume=n % 2 == 0),
    "new keys": lambda s, n: s.steps.all().renew_keys(),
    "one more": lambda s, n: s.steps.create(order=n, answer_text="new", match_user="sun"),
    "two more": lambda s, n: Step.objects.bulk_create(
        [Step(scenario=s, order=n, answer_text=text) for text in ("c", "d")]
    ),
    "one less": without,
    "moved in bulk": lambda s, n: save_steps(changed=_reversed(s), columns=["order"]),
    "gone in bulk": lambda s, n: save_steps(gone=list(s.steps.all())[:-1]),
    "another priority": of_scenario(priority=5),
    "other variables": of_scenario(variables={"town": "Bergen"}),
    "chosen by id": of_scenario(select="first_user_message"),
    "chosen by match": of_scenario(select="match"),
    "switched off": of_scenario(enabled=False),
    "switched on": of_scenario(enabled=True),
}


def _save_some(step: Step) -> None:
    step.answer_text, step.match_user = "kept", "not kept"
    step.save(update_fields=["answer_text"])


def _reversed(scenario: Scenario) -> list[Step]:
    steps = list(scenario.steps.all())
    for number, step in enumerate(reversed(steps)):
        step.order = number
    return steps


def shown(snapshot: Snapshot) -> tuple[object, ...]:
    """All that requests and pages see of it."""
    found = [[c.step.key for c in snapshot.index.candidates(request)] for request in ASKED]
    return snapshot.index.by_name, snapshot.problems, snapshot.number, found


@settings(
    max_examples=often(100),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(st.tuples(st.sampled_from(sorted(EDITS)), st.integers(0, STEPS)), max_size=6))
def test_an_edit_after_another_gives_what_compiling_everything_gives(
    edits: list[tuple[str, int]],
) -> None:
    with transaction.atomic():
        scenario = made()
        made(2, "other")
        snapshot = take_snapshot(None)
        for name, n in edits:
            EDITS[name](scenario, n)
            snapshot = take_snapshot(snapshot)
            assert shown(snapshot) == shown(take_snapshot(None))
        transaction.set_rollback(True)


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_each_edit_by_itself_too(edit: Edit) -> None:
    scenario = made()
    before = take_snapshot(None)
    edit(scenario, 2)
    assert shown(take_snapshot(before)) == shown(take_snapshot(None))


def test_a_step_that_has_not_changed_is_wrong_by_what_its_scenario_says_now() -> None:
    scenario = made()
    edited(answer_text="It rains in {{ city }}.")(scenario, 3)
    right = take_snapshot(None)
    of_scenario(variables={"town": "Bergen"})(scenario, 0)
    wrong = take_snapshot(right)
    assert (right.problems, wrong.index.by_name) == ((), {})
    assert [problem.step for problem in wrong.problems] == [4]


def test_a_turn_that_another_step_has_is_a_problem() -> None:
    scenario = Scenario.objects.create(name="by id", select="first_user_message")
    steps = [Step(scenario=scenario, order=n, turn=n, answer_text=f"{n}") for n in (1, 2, 3)]
    save_steps(new=steps)
    right = take_snapshot(None)
    edited(turn=1)(scenario, 2)
    wrong = take_snapshot(right)
    assert len(right.index.by_name["by id"].steps) == 3
    assert wrong.index.by_name == {}
    assert shown(wrong) == shown(take_snapshot(None))


@pytest.mark.parametrize("steps", [10, 100])
def test_of_an_edited_scenario_the_changed_step_alone_is_read(steps: int) -> None:
    scenario = made(steps)
    before = take_snapshot(None)
    edited(answer_text="another")(scenario, 3)
    with CaptureQueriesContext(
        connection,
    ) as seen:
        after = take_snapshot(before)
    whole = [q["sql"] for q in seen.captured_queries if "answer_text" in q["sql"]]
    assert len(whole) == 1
    assert f"IN ({at(scenario, 3).pk})" in whole[0]
    one, other = (s.index.by_name["weather"].steps for s in (before, after))
    assert [a is b for a, b in zip(one, other, strict=True)] == [n != 3 for n in range(steps)]


def test_lookup_is_rebuilt_only_for_changed_conditions() -> None:
    scenario = made()
    first = take_snapshot(None)
    edited(answer_text="another")(scenario, 3)
    second = take_snapshot(first)
    edited(match_user="another")(scenario, 3)
    third = take_snapshot(second)
    one, two, three = (s.index.layers[0][0]._lookup for s in (first, second, third))
    assert one is two
    assert two is not three
