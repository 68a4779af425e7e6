"""After an edit only changed rows are read and compiled, with the result of compiling all."""

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
from tests.engine.match_builders import chat_request
from tests.state.catalogs import answer
from tests.support.hypothesis_profiles import example_count

pytestmark = pytest.mark.django_db

STEPS = 6
SAMPLE_REQUESTS = [
    chat_request("rain"),
    chat_request("sun"),
    chat_request("rain and sun"),
    chat_request("else"),
]
Edit = Callable[[Scenario, int], object]


def create_steps(steps: int = STEPS, name: str = "weather") -> Scenario:
    scenario = Scenario.objects.create(name=name, document={"variables": {"city": "Oslo"}})
    save_steps(
        new=[
            Step(scenario=scenario, order=10 * n, document=about(f"topic {n}", f"answer {n}"))
            for n in range(steps)
        ]
    )
    return scenario


def about(topic: str, text: str) -> dict[str, Any]:
    """Return a step that answers user messages with this topic."""
    return answer(text, match={"messages": [{"role": "user", "contains": topic}]})


def step_at(scenario: Scenario, n: int) -> Step:
    steps = scenario.steps.all()
    return steps[n % len(steps)]


def edit_step(**keys: Any) -> Edit:
    """Return an edit that sets keys of a step's document; None removes one."""

    def edit(scenario: Scenario, n: int) -> None:
        step = step_at(scenario, n)
        document = {**step.document, **keys}
        step.document = {key: value for key, value in document.items() if value is not None}
        step.save()

    return edit


def edit_answer(text: str) -> Edit:
    return edit_step(produce={"text": text})


def edit_condition(**condition: str) -> Edit:
    return edit_step(match={"messages": [{"role": "user", **condition}]})


def move_step(order: int) -> Edit:
    return lambda scenario, n: Step.objects.filter(pk=step_at(scenario, n).pk).update(order=order)


def edit_scenario(**columns: Any) -> Edit:
    return lambda scenario, n: Scenario.objects.filter(pk=scenario.pk).update(**columns)


def delete_step(scenario: Scenario, n: int) -> None:
    if scenario.steps.count() > 1:
        step_at(scenario, n).delete()


EDITS: dict[str, Edit] = {
    "an answer": edit_answer("another answer"),
    "some columns": lambda s, n: _save_one_column(step_at(s, n)),
    "a condition": edit_condition(contains="rain"),
    "a condition of another mode": edit_condition(equals="sun"),
    "a name": edit_step(name="sunny"),
    "no name": edit_step(name=None),
    "a turn": edit_step(turn=1),
    "another turn": edit_step(turn=2, match=None),
    "a template": edit_answer("It rains in {{ city }}."),
    "a mistake": edit_answer("It rains in {{ nowhere }}."),
    "a move to the front": move_step(0),
    "a move to the end": move_step(999),
    "consumed never": edit_step(consume=False),
    "many at once": lambda s, n: s.steps.update(document=answer("same", consume=n % 2 == 0)),
    "new keys": lambda s, n: s.steps.all().renew_keys(),
    "one more": lambda s, n: s.steps.create(order=n, document=about("sun", "new")),
    "two more": lambda s, n: Step.objects.bulk_create(
        [Step(scenario=s, order=n, document=answer(text)) for text in ("c", "d")]
    ),
    "one less": delete_step,
    "moved in bulk": lambda s, n: save_steps(changed=_reverse_order(s)),
    "gone in bulk": lambda s, n: save_steps(gone=list(s.steps.all())[:-1]),
    "another priority": edit_scenario(priority=5),
    "other variables": edit_scenario(document={"variables": {"town": "Bergen"}}),
    "chosen by id": edit_scenario(select="first_user_message"),
    "chosen by match": edit_scenario(select="match"),
    "switched off": edit_scenario(enabled=False),
    "switched on": edit_scenario(enabled=True),
}


def _save_one_column(step: Step) -> None:
    step.document, step.order = answer("kept"), 77
    step.save(update_fields=["document"])


def _reverse_order(scenario: Scenario) -> list[Step]:
    steps = list(scenario.steps.all())
    for number, step in enumerate(reversed(steps)):
        step.order = number
    return steps


def visible_state(snapshot: Snapshot) -> tuple[object, ...]:
    """Return everything that requests and pages see of a snapshot."""
    candidate_keys = [
        [c.step.key for c in snapshot.index.candidates(request)] for request in SAMPLE_REQUESTS
    ]
    return snapshot.index.by_name, snapshot.problems, snapshot.number, candidate_keys


@settings(
    max_examples=example_count(100),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(st.tuples(st.sampled_from(sorted(EDITS)), st.integers(0, STEPS)), max_size=6))
def test_snapshot_after_edits_equals_a_new_snapshot(
    edits: list[tuple[str, int]],
) -> None:
    with transaction.atomic():
        scenario = create_steps()
        create_steps(2, "other")
        snapshot = take_snapshot(None)
        for name, n in edits:
            EDITS[name](scenario, n)
            snapshot = take_snapshot(snapshot)
            assert visible_state(snapshot) == visible_state(take_snapshot(None))
        transaction.set_rollback(True)


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_snapshot_after_one_edit_equals_a_new_snapshot(edit: Edit) -> None:
    scenario = create_steps()
    before = take_snapshot(None)
    edit(scenario, 2)
    assert visible_state(take_snapshot(before)) == visible_state(take_snapshot(None))


def test_unchanged_step_becomes_invalid_by_an_edit_of_its_scenario() -> None:
    scenario = create_steps()
    edit_answer("It rains in {{ city }}.")(scenario, 3)
    valid_snapshot = take_snapshot(None)
    edit_scenario(document={"variables": {"town": "Bergen"}})(scenario, 0)
    invalid_snapshot = take_snapshot(valid_snapshot)
    assert (valid_snapshot.problems, invalid_snapshot.index.by_name) == ((), {})
    assert [problem.step for problem in invalid_snapshot.problems] == [4]


def test_a_turn_that_another_step_has_is_a_problem() -> None:
    scenario = Scenario.objects.create(name="by id", select="first_user_message")
    steps = [Step(scenario=scenario, order=n, document=answer(f"{n}", turn=n)) for n in (1, 2, 3)]
    save_steps(new=steps)
    valid_snapshot = take_snapshot(None)
    edit_step(turn=1)(scenario, 2)
    invalid_snapshot = take_snapshot(valid_snapshot)
    assert len(valid_snapshot.index.by_name["by id"].steps) == 3
    assert invalid_snapshot.index.by_name == {}
    assert visible_state(invalid_snapshot) == visible_state(take_snapshot(None))


@pytest.mark.parametrize("steps", [10, 100])
def test_only_the_changed_step_of_an_edited_scenario_is_read(steps: int) -> None:
    scenario = create_steps(steps)
    before = take_snapshot(None)
    edit_answer("another")(scenario, 3)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        after = take_snapshot(before)
    row_queries = [q["sql"] for q in queries.captured_queries if '_step"."document' in q["sql"]]
    assert len(row_queries) == 1
    assert f"IN ({step_at(scenario, 3).pk})" in row_queries[0]
    old_steps, new_steps = (s.index.by_name["weather"].steps for s in (before, after))
    assert [a is b for a, b in zip(old_steps, new_steps, strict=True)] == [
        n != 3 for n in range(steps)
    ]


def test_lookup_is_rebuilt_only_for_changed_conditions() -> None:
    scenario = create_steps()
    first = take_snapshot(None)
    edit_answer("another")(scenario, 3)
    second = take_snapshot(first)
    edit_condition(contains="another")(scenario, 3)
    third = take_snapshot(second)
    first_lookup, second_lookup, third_lookup = (
        s.index.layers[0][0]._lookup for s in (first, second, third)
    )
    assert first_lookup is second_lookup
    assert second_lookup is not third_lookup
