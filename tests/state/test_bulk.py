"""Bulk writes leave the same rows and revisions as single writes."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from scenarios_app.models import (
    CatalogVersion,
    Draft,
    DraftStep,
    Revision,
    Scenario,
    Step,
    author_request,
    one_save,
)
from scenarios_app.store import save_steps

pytestmark = pytest.mark.django_db

MODELS = {"published": (Scenario, Step), "drafts": (Draft, DraftStep)}
UNUSUAL_DOCUMENTS: list[dict[str, Any]] = [
    {"produce": {"text": '50 % of "it\'s" \\ back'}, "match": {"turn": None, "z": 1, "a": [True]}},
    {"match": {"user": "%s ? :x {{ y }}", "stream": False}, "expect": {"temperature": 0.5}},
    {"name": "ünïcode ✓", "turn": 3, "match": {"tools": ["a", "b"]}, "consume": False},
]


def step_rows(scenario: Any) -> list[dict[str, Any]]:
    varying_columns = {"id", "key", "version", "scenario_id"}
    return [
        {k: v for k, v in row.items() if k not in varying_columns}
        for row in scenario.steps.values()
    ]


@pytest.mark.parametrize(("parent", "model"), MODELS.values(), ids=MODELS)
def test_bulk_write_gives_the_rows_and_history_of_single_writes(parent: Any, model: Any) -> None:
    single_scenario, bulk_scenario = (
        parent.objects.create(name=name) for name in ("single", "bulk")
    )
    for number, document in enumerate(UNUSUAL_DOCUMENTS):
        model.objects.create(scenario=single_scenario, order=number, document=document)
    new = [
        model(scenario=bulk_scenario, order=number, document=document)
        for number, document in enumerate(UNUSUAL_DOCUMENTS)
    ]
    save_steps(new=new)
    for scenario in (single_scenario, bulk_scenario):
        steps = list(scenario.steps.all())
        for step in steps[1:]:
            step.order, step.document = step.order + 5, {"name": "changed", "match": {"a": "%s"}}
        if scenario is single_scenario:
            for step in steps[1:]:
                step.save()
            steps[0].delete()
        else:
            save_steps(changed=steps[1:], gone=steps[:1])
    assert step_rows(bulk_scenario) == step_rows(single_scenario)
    single, bulk = (list(Revision.objects.of(row)) for row in (single_scenario, bulk_scenario))
    assert bulk[-1].document["steps"] == single[-1].document["steps"]
    # The scenario, its new steps, and the changes together.
    assert len(bulk) == 3


def test_revision_has_user_and_reason(rf: Any) -> None:
    request = rf.get("/")
    request.user = User.objects.create_user("editor")
    token = author_request.set(request)
    try:
        with one_save():
            scenario = Scenario.objects.create(name="a")
            save_steps(new=[Step(scenario=scenario, order=1)], reason="published")
    finally:
        author_request.reset(token)
    revision = Revision.objects.get()
    assert (revision.user, revision.reason) == ("editor", "published")


def test_many_more_rows_than_a_statement_takes_are_written() -> None:
    scenario = Scenario.objects.create(name="a")
    save_steps(new=[Step(scenario=scenario, order=n) for n in range(1_234)])
    latest = Revision.objects.of(scenario).latest_of_each().get()
    assert latest.step_keys == list(scenario.steps.values_list("key", flat=True))
    assert len(latest.step_keys) == 1_234


def test_bulk_write_changes_the_versions_of_catalog_and_scenario() -> None:
    scenario = Scenario.objects.create(name="a")
    steps = [Step(scenario=scenario, order=n) for n in range(3)]
    writes: list[dict[str, Any]] = [
        {"new": steps},
        {"changed": steps[:1]},
        {"gone": steps[1:]},
    ]
    for write in writes:
        number, version = CatalogVersion.objects.get().number, scenario.version
        save_steps(**write)
        scenario.refresh_from_db()
        assert CatalogVersion.objects.get().number > number
        assert scenario.version != version


def test_a_changed_step_keeps_its_key_and_gets_a_new_version() -> None:
    scenario = Scenario.objects.create(name="a")
    step = scenario.steps.create(order=1)
    key, version = step.key, step.version
    save_steps(changed=[step])
    step.refresh_from_db()
    assert step.key == key
    assert step.version != version


def test_empty_bulk_write_changes_no_version() -> None:
    Scenario.objects.create(name="a")
    number = CatalogVersion.objects.get().number
    save_steps()
    assert CatalogVersion.objects.get().number == number
