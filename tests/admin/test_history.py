"""History of scenarios, restoring versions, and concurrent edits of one page."""

import pytest
from django.core.management import call_command
from django.test import Client

from mockllm_site.serve import first_start
from scenarios_app.admin.editor.forms import OPENED_AT_FIELD
from scenarios_app.admin.editor.step_inline import MAX_STEPS_WITH_FIELDS
from scenarios_app.engine.document import load_documents
from scenarios_app.models import Scenario, Step
from scenarios_app.store.history import (
    NO_USER,
    State,
    changes_between,
    state_at,
    versions_of,
)
from tests.admin.pages import create_scenario, error_lines, fields, fields_at, page_of, save, texts

pytestmark = pytest.mark.django_db


def history_url(scenario: Scenario) -> str:
    return page_of(scenario).replace("/change/", "/history/")


def test_history_lists_author_and_changes_of_each_save(root: Client) -> None:
    scenario = create_scenario("weather", {}, {})
    response = save(root, scenario, **{"steps-1-produce.text": "rain", "priority": "7"})
    assert response.status_code == 302
    newest, *_ = versions_of(scenario)
    assert newest.who == "root"
    assert newest.changes == (
        "priority set to 7",
        'step 2: produce.text from "answer 2" to "rain"',
    )


def test_history_lists_added_removed_and_moved_steps(root: Client) -> None:
    scenario = create_scenario("weather", {}, {}, {})
    save(root, scenario, **{"steps-0-DELETE": "on", "steps-1-order": "9"})
    newest, *_ = versions_of(scenario)
    assert set(newest.changes) == {"step 1 removed", "steps moved"}


def test_history_page_lists_versions_and_restores_one(root: Client) -> None:
    scenario = create_scenario("weather", {})
    save(root, scenario, **{"steps-0-produce.text": "changed"})
    page = root.get(history_url(scenario))
    _, *older = page.context["versions"]
    assert b'<span title="produce.text">Answer text</span> from' in page.content
    root.post(history_url(scenario), {"at": older[0].at.isoformat()})
    assert texts(scenario) == ["answer 1"]
    assert versions_of(scenario)[0].who == "root"


def test_time_before_creation_restores_nothing(root: Client) -> None:
    scenario = create_scenario("weather", {})
    page = root.post(history_url(scenario), {"at": "2020-01-01T00:00:00+00:00"}, follow=True)
    assert b"There was no such scenario then." in page.content
    assert texts(scenario) == ["answer 1"]


@pytest.mark.parametrize("at", ["", "yesterday", "2020-01-01"])
def test_invalid_time_restores_nothing(root: Client, at: str) -> None:
    scenario = create_scenario("weather", {})
    assert root.post(history_url(scenario), {"at": at}).status_code == 302
    assert texts(scenario) == ["answer 1"]


def test_reader_sees_the_history_and_restores_nothing(reader: Client) -> None:
    scenario = create_scenario("weather", {})
    page = reader.get(history_url(scenario))
    assert page.status_code == 200
    assert b"Restore this version" not in page.content
    version_time = versions_of(scenario)[0].at.isoformat()
    assert reader.post(history_url(scenario), {"at": version_time}).status_code == 403


def load_demo_scenario(name: str = "weather") -> Scenario:
    """Load the demo fixture, and return one of its scenarios."""
    call_command("loaddata", "demo", verbosity=0)
    return Scenario.objects.get(name=name)


def test_fixture_scenario_has_a_first_version() -> None:
    scenario = load_demo_scenario()
    (version,) = versions_of(scenario)
    assert (version.changes, version.reason) == (("created",), "loaded from demo")
    assert len(state_at(scenario, version.at).steps) == scenario.steps.count() > 0


def test_first_edit_of_a_loaded_scenario_can_be_undone(root: Client) -> None:
    scenario = load_demo_scenario()
    before = texts(scenario)
    save(root, scenario, **{"steps-1-produce.text": "changed"})
    _, oldest = versions_of(scenario)
    root.post(history_url(scenario), {"at": oldest.at.isoformat()})
    assert texts(scenario) == before


def test_concurrent_first_edits_of_a_loaded_scenario_are_merged(
    root: Client, editor: Client
) -> None:
    scenario = load_demo_scenario()
    opened_form = fields_at(root, page_of(scenario))
    assert save(editor, scenario, **{"steps-1-produce.text": "theirs"}).status_code == 302
    response = root.post(page_of(scenario), opened_form | {"steps-1-produce.text": "mine"})
    assert "QA editor changed this since you opened the page" in error_lines(response)[0]
    assert texts(scenario)[1] == "theirs"


def test_reloaded_fixture_adds_versions_only_of_changed_rows(root: Client) -> None:
    scenario, other = load_demo_scenario(), Scenario.objects.get(name="story")
    save(root, scenario, description="edited")
    call_command("loaddata", "demo", verbosity=0)
    newest, edit, _ = versions_of(Scenario.objects.get(pk=scenario.pk))
    assert (newest.reason, edit.who) == ("loaded from demo", "root")
    assert newest.changes[0].startswith("description")
    assert len(versions_of(Scenario.objects.get(pk=other.pk))) == 1


def test_configured_file_scenario_has_a_first_version() -> None:
    first_start.load_scenarios(
        load_documents({"name": "file", "steps": [{"produce": {"text": "x"}}]})
    )
    (version,) = versions_of(Scenario.objects.get(name="file"))
    assert version.reason == "loaded from MOCKLLM_SCENARIOS"


def test_changes_by_programs_have_no_author(root: Client) -> None:
    scenario = create_scenario("weather", {})
    assert {version.who for version in versions_of(scenario)} == {NO_USER}


def test_history_of_a_scenario_that_was_invalid_is_shown(root: Client) -> None:
    scenario = create_scenario("weather", {})
    step = scenario.steps.get()
    for document in ([1], step.document):
        step.document = document
        step.save()
    assert root.get(history_url(scenario)).status_code == 200


def test_number_that_becomes_true_is_a_change() -> None:
    before, after = (State({"variables": {"a": value}}, {1: {"x": [value]}}) for value in (1, True))
    assert list(changes_between(before, after)) == [
        "variables.a from 1 to true",
        "step 1: x from [1] to [true]",
    ]


def test_history_shows_values_escaped(root: Client) -> None:
    scenario = create_scenario("weather", {})
    save(root, scenario, description="<script>1</script>")
    page = root.get(history_url(scenario)).content.decode()
    assert "<script>1</script>" not in page
    assert "&lt;script&gt;1&lt;/script&gt;" in page


# ── Concurrent edits ──


def test_step_changed_by_another_editor_is_not_overwritten(root: Client, editor: Client) -> None:
    scenario = create_scenario("weather", {}, {})
    opened_form = fields_at(root, page_of(scenario))
    assert save(editor, scenario, **{"steps-0-produce.text": "theirs"}).status_code == 302
    response = root.post(page_of(scenario), opened_form | {"steps-0-produce.text": "mine"})
    assert error_lines(response) == [
        "Step 1, Answer text: QA editor changed this since you opened the page, "
        "to “theirs”. You have “mine”."
    ]
    assert b'name="overwrite"' in response.content
    assert texts(scenario)[0] == "theirs"


def test_opening_time_before_the_first_year_is_ignored(root: Client) -> None:
    scenario = create_scenario("weather", {})
    opened_form = fields_at(root, page_of(scenario)) | {"steps-0-produce.text": "mine"}
    form_data = opened_form | {OPENED_AT_FIELD: "0001-01-01T00:00:00+14:00"}
    assert root.post(page_of(scenario), form_data).status_code == 302
    assert texts(scenario) == ["mine"]


def test_overwrite_option_overwrites_the_other_editors_change(root: Client, editor: Client) -> None:
    scenario = create_scenario("weather", {})
    opened_form = fields_at(root, page_of(scenario))
    save(editor, scenario, **{"steps-0-produce.text": "theirs"})
    form_data = opened_form | {"steps-0-produce.text": "mine", "overwrite": "1"}
    assert root.post(page_of(scenario), form_data).status_code == 302
    assert texts(scenario) == ["mine"]


def test_scenario_field_changed_by_another_editor_is_not_overwritten(
    root: Client, editor: Client
) -> None:
    scenario = create_scenario("weather", {})
    opened_form = fields_at(root, page_of(scenario))
    save(editor, scenario, priority="3")
    response = root.post(page_of(scenario), opened_form | {"priority": "5"})
    assert error_lines(response) == [
        "Priority: QA editor changed this since you opened the page, to “3”. You have “5”."
    ]
    scenario.refresh_from_db()
    assert scenario.priority == 3


def test_two_editors_change_different_steps_of_a_long_scenario(
    root: Client, editor: Client
) -> None:
    scenario = create_scenario("weather", *({} for _ in range(MAX_STEPS_WITH_FIELDS + 1)))
    opened_form = fields_at(root, page_of(scenario))
    pages = {"root": (root, 0), "editor": (editor, 1)}
    for client, row in pages.values():
        client.get(page_of(scenario))
        step = scenario.steps.order_by("order")[row]
        url = f"{page_of(scenario).removesuffix('change/')}steps/{step.pk}/?prefix=steps-{row}"
        row_fields = fields(f'<form id="scenario_form">{client.get(url).content.decode()}</form>')
        changes = {f"steps-{row}-produce.text": f"by {client is root}"}
        assert client.post(page_of(scenario), opened_form | row_fields | changes).status_code == 302
    assert texts(scenario)[:3] == ["by True", "by False", "answer 3"]


def test_deleting_a_step_changed_by_another_editor_is_refused(root: Client, editor: Client) -> None:
    scenario = create_scenario("weather", {}, {})
    opened_form = fields_at(root, page_of(scenario))
    save(editor, scenario, **{"steps-1-produce.text": "theirs"})
    response = root.post(page_of(scenario), opened_form | {"steps-1-DELETE": "on"})
    assert response.status_code == 200
    assert Step.objects.filter(scenario=scenario).count() == 2
