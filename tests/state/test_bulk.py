"""Bulk writes leave the same rows and history as single writes."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from simple_history.models import HistoricalRecords

from scenarios_app.models import CatalogVersion, Draft, DraftStep, Scenario, Step
from scenarios_app.store import add_history, save_steps

pytestmark = pytest.mark.django_db

MODELS = {"published": (Scenario, Step), "drafts": (Draft, DraftStep)}
UNUSUAL_DOCUMENTS: list[dict[str, Any]] = [
    {"produce": {"text": '50 % of "it\'s" \\ back'}, "match": {"turn": None, "z": 1, "a": [True]}},
    {"match": {"user": "%s ? :x {{ y }}", "stream": False}, "expect": {"temperature": 0.5}},
    {"name": "ünïcode ✓", "turn": 3, "match": {"tools": ["a", "b"]}, "consume": False},
]
# Columns that differ between two writes.
VARYING_COLUMNS = {
    "history_id",
    "key",
    "history_date",
    "id",
    "scenario",
    "scenario_id",
    "updated_at",
}


def history_rows(model: Any, scenario: Any) -> list[dict[str, Any]]:
    records = model.history.filter(scenario_id=scenario.pk).order_by("history_id")
    return [{k: v for k, v in row.items() if k not in VARYING_COLUMNS} for row in records.values()]


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
    bulk_history = sorted(history_rows(model, bulk_scenario), key=lambda row: row["history_type"])
    assert bulk_history == sorted(
        history_rows(model, single_scenario), key=lambda row: row["history_type"]
    )
    assert [row["history_type"] for row in bulk_history] == ["+"] * 3 + ["-"] + ["~"] * 2


def test_history_has_user_and_reason(rf: Any) -> None:
    scenario = Scenario.objects.create(name="a")
    request = rf.get("/")
    request.user = User.objects.create_user("editor")
    HistoricalRecords.context.request = request
    try:
        save_steps(new=[Step(scenario=scenario, order=1)], reason="published")
    finally:
        del HistoricalRecords.context.request
    record = Step.history.get()
    assert (record.history_user, record.history_change_reason) == (request.user, "published")


def test_many_more_rows_than_a_statement_takes_are_written() -> None:
    scenario = Scenario.objects.create(name="a")
    save_steps(new=[Step(scenario=scenario, order=n) for n in range(1_234)])
    assert Step.history.filter(history_type="+").count() == scenario.steps.count() == 1_234
    assert set(Step.history.values_list("id", flat=True)) == set(
        scenario.steps.values_list("pk", flat=True)
    )


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
    add_history("+", [])
    assert CatalogVersion.objects.get().number == number
