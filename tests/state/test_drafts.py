"""Drafts in the database: visible only on their pages, and kept by fixtures."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client

from scenarios_app.catalog import catalog
from scenarios_app.catalog.lint import stored_suspicions
from scenarios_app.control.stores import CommonScenarios
from scenarios_app.engine.document import dump, load_documents
from scenarios_app.journal.coverage import coverage
from scenarios_app.models import CatalogVersion, Draft, DraftStep, Scenario, Step
from scenarios_app.store import document_of
from scenarios_app.store.documents import load
from scenarios_app.store.drafts import get_or_create_draft, plan_publication, publish
from scenarios_app.store.history import NO_USER
from tests.state.catalogs import answer

pytestmark = pytest.mark.django_db

WEATHER = {
    "name": "weather",
    "steps": [
        {"match": {"model": "a"}, "produce": {"text": "rain"}},
        {"match": {"model": "b"}, "produce": {"text": "sun"}},
    ],
}


def load_weather(**changes: object) -> Scenario:
    load(load_documents({**changes, **WEATHER}))
    return Scenario.objects.get(name="weather")


def create_draft(text: str = "snow") -> Draft:
    """Create a draft of a published scenario, with a changed answer and a broad step."""
    draft, _ = get_or_create_draft(load_weather())
    draft.steps.filter(order=2).update(document=WEATHER["steps"][1] | answer(text))
    draft.steps.create(order=3, document=answer("anything"))
    return draft


def command_output(*command: str, **options: object) -> str:
    output = StringIO()
    call_command(*command, stdout=output, **options)
    return output.getvalue()


def publish_draft(draft: Draft) -> Scenario:
    return publish(draft, seen=plan_publication(draft).token)


def answer_texts(scenario: Scenario) -> list[str]:
    return [step.document["produce"]["text"] for step in scenario.steps.all()]


def test_scenario_queries_return_no_drafts(client: Client) -> None:
    create_draft()
    Draft.objects.create(name="new").steps.create(order=1, document=answer("x"))
    document = dump(document_of(Scenario.objects.get()))
    assert json.loads(command_output("export_scenarios")) == document
    assert [
        dump(listed_document) for listed_document in CommonScenarios().list_all().documents
    ] == [document]
    assert command_output("check_scenarios") == "no problems; scenarios: 1, steps: 2\n"
    assert list(catalog.index().by_name) == ["weather"]
    assert coverage().steps == 2
    assert stored_suspicions() == ()
    assert client.get("/").context["scenarios"] == 1


def test_draft_changes_do_not_reload_the_catalog() -> None:
    draft = create_draft()
    number = CatalogVersion.objects.get().number
    snapshot = catalog.snapshot()
    draft.name = "other"
    draft.save()
    draft.steps.first().save()
    draft.delete()
    assert CatalogVersion.objects.get().number == number
    assert catalog.snapshot() is snapshot


@pytest.mark.parametrize("natural", [True, False])
def test_loaded_dump_restores_drafts(natural: bool, tmp_path: Path) -> None:
    draft = create_draft()
    Draft.objects.create(name="new").steps.create(order=1, document=answer("x"))
    keys = list(Step.objects.values_list("key", flat=True))
    file = tmp_path / "all.json"
    options = {"use_natural_primary_keys": natural, "use_natural_foreign_keys": natural}
    file.write_text(command_output("dumpdata", "scenarios_app", **options))
    plan = plan_publication(draft)
    Draft.objects.all().delete()
    Scenario.objects.all().delete()
    # Twice: the second time, existing rows are found.
    for _ in range(2):
        call_command("loaddata", str(file), verbosity=0)
    assert sorted(Draft.objects.values_list("name", "published__name")) == [
        ("new", None),
        ("weather", "weather"),
    ]
    assert DraftStep.objects.count() == 4
    draft_again = Draft.objects.get(name="weather")
    assert plan_publication(draft_again) == plan
    scenario = publish_draft(draft_again)
    assert answer_texts(scenario) == ["rain", "snow", "anything"]
    assert list(scenario.steps.values_list("key", flat=True))[:2] == keys


def test_load_replaces_the_published_scenario_and_keeps_the_draft() -> None:
    draft = create_draft()
    load_weather(priority=7)
    assert Draft.objects.get(published__name="weather") == draft
    assert plan_publication(draft).meanwhile[0] == "priority set to 7"


def test_load_of_the_same_document_is_no_change() -> None:
    draft = create_draft()
    scenario = load_weather()
    assert plan_publication(draft).meanwhile == ()
    keys = list(scenario.steps.values_list("key", flat=True))
    publish_draft(draft)
    assert list(scenario.steps.values_list("key", flat=True))[:2] == keys


def test_change_by_a_fixture_is_seen_without_history(tmp_path: Path) -> None:
    draft = create_draft()
    file = tmp_path / "one.json"
    fields = {"scenario": ["weather"], "order": 1, "document": answer("hail")}
    file.write_text(json.dumps([{"model": "scenarios_app.step", "fields": fields}]))
    call_command("loaddata", str(file), verbosity=0)
    plan = plan_publication(draft)
    assert (plan.meanwhile, plan.who) == (
        (
            "step 1 removed",
            "step 1 added",
        ),
        NO_USER,
    )


@pytest.mark.parametrize("base", [{}, [], {"scenario": 1, "steps": {}}, {"steps": []}])
def test_draft_without_a_valid_base_reports_a_change(
    base: object,
) -> None:
    draft = create_draft()
    Draft.objects.filter(pk=draft.pk).update(base=base)
    draft.refresh_from_db()
    assert plan_publication(draft).meanwhile


def test_draft_has_natural_keys_and_readable_names() -> None:
    draft = create_draft()
    step = draft.steps.get(order=2)
    assert Draft.objects.get_by_natural_key(*draft.natural_key()) == draft
    assert DraftStep.objects.get_by_natural_key(*step.natural_key()) == step
    with pytest.raises(DraftStep.DoesNotExist):
        DraftStep.objects.get_by_natural_key(draft.key, 9)
    assert (str(draft), str(step)) == ("weather", "step 2")
