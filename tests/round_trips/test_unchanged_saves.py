"""Scenarios that are opened and saved in a browser do not change."""

from collections.abc import Callable, Sequence

import pytest
from django.core.management import call_command
from playwright.sync_api import expect

from mockllm_site.paths import FIXTURES
from scenarios_app.engine.document import ScenarioDocument, load_documents
from scenarios_app.models import Draft, Scenario
from scenarios_app.play.conversation import dump_play, examples
from scenarios_app.store.documents import load, save_conversation
from scenarios_app.store.drafts import create_draft
from tests.browser.conftest import Admin
from tests.browser.editing import open_test
from tests.round_trips.collected import docs_documents, gallery_documents, recorded_documents
from tests.round_trips.editing import (
    add_step,
    describe_differences,
    move_up,
    open_everything,
    open_page,
    save,
    save_unchanged,
    stored_document,
)
from tests.round_trips.generated import fault_scenarios, key_scenarios, short_fault_scenarios

# Each opens and saves many pages, which takes minutes on a slow machine.
pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]


def test_scenarios_of_the_fixtures_are_saved_unchanged(admin: Admin) -> None:
    for fixture in sorted(path.stem for path in FIXTURES.glob("*.json")):
        call_command("loaddata", fixture, verbosity=0)
    assert save_unchanged(admin, Scenario.objects.all()) == []


@pytest.mark.parametrize(
    "documents", [key_scenarios, fault_scenarios, recorded_documents, docs_documents]
)
def test_scenarios_are_saved_unchanged(
    admin: Admin, documents: Callable[[], Sequence[ScenarioDocument]]
) -> None:
    load(documents())
    assert save_unchanged(admin, Scenario.objects.all()) == []


@pytest.mark.parametrize("documents", [short_fault_scenarios, gallery_documents])
def test_drafts_are_saved_unchanged(
    admin: Admin, documents: Callable[[], Sequence[ScenarioDocument]]
) -> None:
    for document in documents():
        create_draft(document)
    assert save_unchanged(admin, Draft.objects.all()) == []


def test_duplicates_are_saved_unchanged(admin: Admin) -> None:
    load(short_fault_scenarios())
    for scenario in Scenario.objects.all():
        page = open_page(admin, scenario)
        page.get_by_role("button", name="Duplicate").click()
        expect(page.get_by_text("disabled until you enable it")).to_be_visible()
        copy = Scenario.objects.latest("pk")
        open_everything(page)
        save(page)
        before = stored_document(scenario) | {"name": copy.name, "enabled": False}
        assert describe_differences(copy.name, before, stored_document(copy)) == []


def test_adding_a_step_keeps_the_others_unchanged(admin: Admin) -> None:
    load(short_fault_scenarios())
    for scenario in Scenario.objects.all():
        before = stored_document(scenario)
        page = open_page(admin, scenario)
        add_step(page, "new")
        save(page)
        after = stored_document(scenario)
        assert after["steps"].pop() == {"consume": False, "produce": {"text": "new"}}
        assert describe_differences(scenario.name, before, after) == []


def test_moving_a_step_changes_the_order_of_steps_alone(admin: Admin) -> None:
    load(short_fault_scenarios())
    for scenario in Scenario.objects.all():
        before = stored_document(scenario)
        page = open_page(admin, scenario)
        move_up(page, 1)
        save(page)
        first, second, *others = before["steps"]
        expected = before | {"steps": [second, first, *others]}
        assert describe_differences(scenario.name, expected, stored_document(scenario)) == []


def test_gallery_examples_play_as_expected_from_their_pages(admin: Admin) -> None:
    for example in examples().values():
        draft = create_draft(example.scenario)
        save_conversation(draft.name, dump_play(example.conversation))
        tab = open_test(open_page(admin, draft), "Conversation")
        tab.get_by_role("button", name="Play", exact=True).click()
        expect(tab.locator("#told")).to_have_class("sc-note sc-note-good")
        tab.close()


def test_fault_of_an_unopened_step_is_tried_beside_unsaved_edits(admin: Admin) -> None:
    fault = {"kind": "http", "status": 418}
    (document,) = load_documents({"name": "teapot", "steps": [{"produce": {"fault": fault}}]})
    page = open_page(admin, create_draft(document))
    add_step(page, "unsaved")
    tab = open_test(page)
    expect(tab.locator("#told")).to_contain_text("418")
