"""Scenarios that are opened in a browser and saved unchanged stay as they are."""

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
from tests.round_trips.collected import of_recordings, of_the_docs, of_the_gallery
from tests.round_trips.editing import (
    add_step,
    differing,
    move_up,
    open_everything,
    open_page,
    opened_by,
    save,
    saved_unchanged,
    stored,
)
from tests.round_trips.generated import short, with_every_fault, with_every_key

# Each opens and saves many pages, which takes minutes on a slow machine.
pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]


def test_scenarios_of_the_fixtures_are_saved_unchanged(admin: Admin) -> None:
    for fixture in sorted(path.stem for path in FIXTURES.glob("*.json")):
        call_command("loaddata", fixture, verbosity=0)
    assert saved_unchanged(admin, Scenario.objects.all()) == []


@pytest.mark.parametrize(
    "documents", [with_every_key, with_every_fault, of_recordings, of_the_docs]
)
def test_scenarios_are_saved_unchanged(
    admin: Admin, documents: Callable[[], Sequence[ScenarioDocument]]
) -> None:
    load(documents())
    assert saved_unchanged(admin, Scenario.objects.all()) == []


@pytest.mark.parametrize("documents", [short, of_the_gallery])
def test_drafts_are_saved_unchanged(
    admin: Admin, documents: Callable[[], Sequence[ScenarioDocument]]
) -> None:
    for document in documents():
        create_draft(document)
    assert saved_unchanged(admin, Draft.objects.all()) == []


def test_duplicates_are_saved_unchanged(admin: Admin) -> None:
    load(short())
    for scenario in Scenario.objects.all():
        page = open_page(admin, scenario)
        page.get_by_role("button", name="Duplicate").click()
        expect(page.get_by_text("disabled until you enable it")).to_be_visible()
        copy = Scenario.objects.latest("pk")
        open_everything(page)
        save(page)
        before = stored(scenario) | {"name": copy.name, "enabled": False}
        assert differing(copy.name, before, stored(copy)) == []


def test_adding_a_step_keeps_the_others_unchanged(admin: Admin) -> None:
    load(short())
    for scenario in Scenario.objects.all():
        before = stored(scenario)
        page = open_page(admin, scenario)
        add_step(page, "new")
        save(page)
        after = stored(scenario)
        assert after["steps"].pop() == {"consume": False, "produce": {"text": "new"}}
        assert differing(scenario.name, before, after) == []


def test_moving_a_step_changes_the_order_of_steps_alone(admin: Admin) -> None:
    load(short())
    for scenario in Scenario.objects.all():
        before = stored(scenario)
        page = open_page(admin, scenario)
        move_up(page, 1)
        save(page)
        first, second, *others = before["steps"]
        moved = before | {"steps": [second, first, *others]}
        assert differing(scenario.name, moved, stored(scenario)) == []


def test_gallery_examples_play_as_expected_from_their_pages(admin: Admin) -> None:
    for example in examples().values():
        draft = create_draft(example.scenario)
        save_conversation(draft.name, dump_play(example.conversation))
        tab = opened_by(open_page(admin, draft), "Play it")
        tab.get_by_role("button", name="Play", exact=True).click()
        expect(tab.locator("#told")).to_have_class("sc-note sc-note-good")
        tab.close()


def test_fault_of_an_unopened_step_is_tried_beside_unsaved_edits(admin: Admin) -> None:
    fault = {"kind": "http", "status": 418}
    (document,) = load_documents({"name": "teapot", "steps": [{"produce": {"fault": fault}}]})
    page = open_page(admin, create_draft(document))
    add_step(page, "unsaved")
    tab = opened_by(page, "Try it")
    expect(tab.locator("#told")).to_contain_text("418")
