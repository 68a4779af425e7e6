"""Two editors of one scenario: presence, merged changes, conflicts."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Event
from typing import Any

import pytest
from django.db import connection
from django.forms import inlineformset_factory
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from scenarios_app.admin.editor import step_inline
from scenarios_app.admin.editor.forms import StepForm
from scenarios_app.models import Presence, Scenario, Step
from scenarios_app.store.history import ConcurrentChanges, versions_of
from tests.admin.drafting import draft_page, edit_as_draft
from tests.admin.pages import (
    create_scenario,
    error_lines,
    fields_at,
    inputs_of,
    page_of,
    save,
    texts,
)

pytestmark = pytest.mark.django_db


def here(client: Client, url: str) -> str:
    return client.post(url.replace("/change/", "/here/")).content.decode()


def post_changes(
    client: Client, scenario: Scenario, opened_form: dict[str, str], **changes: str
) -> Any:
    return client.post(page_of(scenario), opened_form | changes)


# ── Presence ──


def test_other_editors_are_named_until_they_leave(root: Client, editor: Client) -> None:
    scenario = create_scenario("weather", {})
    url = page_of(scenario)
    assert here(root, url).strip() == ""
    assert "root is on this page too" in here(editor, url)
    assert "QA editor is on this page too" in here(root, url)
    Presence.objects.filter(user__username="root").update(at=timezone.now() - timedelta(minutes=1))
    assert here(editor, url).strip() == ""
    assert Presence.objects.count() == 1


def test_editors_of_a_draft_are_separate_from_its_scenario(root: Client, editor: Client) -> None:
    scenario = create_scenario("weather", {})
    draft = edit_as_draft(root, scenario)
    here(root, draft_page(draft))
    assert here(editor, page_of(scenario)).strip() == ""
    assert "root" in here(editor, draft_page(draft))


def test_page_reports_presence_except_for_readers(root: Client, reader: Client) -> None:
    url = page_of(create_scenario("weather", {}))
    assert 'id="here"' in root.get(url).content.decode()
    assert 'id="here"' not in reader.get(url).content.decode()


def test_deleted_scenario_is_reported_and_polling_stops(root: Client, reader: Client) -> None:
    scenario = create_scenario("weather", {})
    url = page_of(scenario).replace("/change/", "/here/")
    scenario.delete()
    deletion_response = root.post(url)
    assert (deletion_response.status_code, "out of date" in deletion_response.content.decode()) == (
        286,
        True,
    )
    assert reader.post(url).status_code == 403


# ── Merged changes ──


def test_changes_of_different_fields_are_merged(root: Client, editor: Client) -> None:
    scenario = create_scenario("weather", {"name": "a", "produce.text": "b"})
    opened_form = fields_at(root, page_of(scenario))
    save(editor, scenario, **{"steps-0-produce.text": "theirs", "description": "theirs"})
    changes = {"steps-0-name": "mine", "priority": "4"}
    assert post_changes(root, scenario, opened_form, **changes).status_code == 302
    step = scenario.steps.get()
    scenario.refresh_from_db()
    assert (step.document["name"], step.document["produce"]["text"]) == ("mine", "theirs")
    assert (scenario.priority, scenario.document["description"]) == (4, "theirs")


@pytest.mark.parametrize(
    ("column", "other_value", "own_value"),
    [
        ("match.tools", "one", "two"),
        ("failures.fault.kind", "rate_limit", "timeout"),
        ("produce.latency_ms", "5", "6"),
        ("produce.tool_calls", '[{"name": "a"}]', '[{"name": "b"}]'),
        ("match.stream", "true", "false"),
        ("side_effects.headers", '{"x-a": "1"}', '{"x-a": "2"}'),
    ],
)
def test_every_kind_of_field_is_merged_or_conflicts(
    root: Client, editor: Client, column: str, other_value: str, own_value: str
) -> None:
    scenario = create_scenario("weather", {"consume": False})
    opened_form = fields_at(root, page_of(scenario))
    field = f"steps-0-{column}"
    assert save(editor, scenario, **{field: other_value}).status_code == 302
    stored_value = inputs_of(scenario.steps.get())[column]
    page = post_changes(root, scenario, opened_form, **{"steps-0-name": "mine"})
    assert page.status_code == 302, error_lines(page)
    assert inputs_of(scenario.steps.get())[column] == stored_value
    response = post_changes(root, scenario, opened_form, **{field: own_value})
    assert response.status_code == 200
    lines = error_lines(response)
    assert any("changed this since you opened the page" in line for line in lines), lines


def test_failure_choice_is_merged_as_a_whole(root: Client, editor: Client) -> None:
    scenario = create_scenario("weather", {"consume": False})
    opened_form = fields_at(root, page_of(scenario))
    other_changes = {"steps-0-failures.times": "3"}
    other_changes |= {
        "steps-0-failures.fault.kind": "rate_limit",
        "steps-0-failures.fault.message": "Slow.",
    }
    save(editor, scenario, **other_changes)
    assert post_changes(root, scenario, opened_form, **{"steps-0-name": "mine"}).status_code == 302
    step = scenario.steps.get()
    assert step.document["name"] == "mine"
    fault = {"kind": "rate_limit", "message": "Slow."}
    assert step.document["failures"] == {"times": 3, "fault": fault}


def test_same_change_by_both_is_no_conflict(root: Client, editor: Client) -> None:
    scenario = create_scenario("weather", {})
    opened_form = fields_at(root, page_of(scenario))
    changes = {"steps-0-produce.text": "the same", "priority": "2"}
    save(editor, scenario, **changes)
    assert post_changes(root, scenario, opened_form, **changes).status_code == 302


def test_conflict_keeps_the_typed_value(root: Client, editor: Client) -> None:
    scenario = create_scenario("weather", {})
    opened_form = fields_at(root, page_of(scenario))
    save(editor, scenario, **{"steps-0-produce.text": "theirs", "steps-0-name": "theirs"})
    response = post_changes(root, scenario, opened_form, **{"steps-0-produce.text": "mine"})
    text = response.content.decode()
    assert ">\nmine</textarea>" in text or ">mine</textarea>" in text
    assert " disabled" not in text.split('name="steps-0-name"')[1].split(">")[0]


# ── Versions ──


EDGES_OF_TIME = ("0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59")


@pytest.mark.parametrize("time", EDGES_OF_TIME)
def test_impossible_time_of_opening_merges_nothing(root: Client, time: str) -> None:
    assert save(root, create_scenario("shared", {}), seen_at=time).status_code == 302


@pytest.mark.parametrize("time", EDGES_OF_TIME)
def test_impossible_time_is_no_version(root: Client, time: str) -> None:
    history = page_of(create_scenario("shared", {})).replace("/change/", "/history/")
    assert "compared" not in root.get(history, {"at": time}).context
    assert "cannot be restored" in root.post(history, {"at": time}, follow=True).content.decode()


def test_version_is_compared_with_the_current_one(root: Client) -> None:
    scenario = create_scenario("weather", {"produce.text": "old"})
    version_time = versions_of(scenario)[0].at.isoformat()
    save(root, scenario, **{"steps-0-produce.text": "new", "description": "better"})
    url = page_of(scenario).replace("/change/", "/history/")
    assert "#compared" in root.get(url).content.decode()
    page = root.get(url, {"at": version_time})
    differences = [
        (difference.step, difference.place, difference.before, difference.after)
        for difference in page.context["differences"]
    ]
    assert differences == [(0, "description", None, "better"), (1, "produce.text", "old", "new")]
    assert 'title="produce.text">Answer text</span>' in page.content.decode()
    assert b'id="compared"' not in root.get(url, {"at": "nonsense"}).content


def test_restored_version_keeps_the_keys_of_its_steps(root: Client) -> None:
    scenario = create_scenario("weather", {"produce.text": "old"}, {"produce.text": "gone"})
    keys = list(scenario.steps.values_list("key", flat=True))
    version_time = versions_of(scenario)[0].at.isoformat()
    save(root, scenario, **{"steps-0-produce.text": "new", "steps-1-DELETE": "on"})
    url = page_of(scenario).replace("/change/", "/history/")
    root.post(url, {"at": version_time})
    assert texts(scenario) == ["old", "gone"]
    assert scenario.steps.earliest("order").key == keys[0]


def test_form_that_waits_for_the_database_keeps_no_other_form_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Otherwise a save, which locks the in-memory database, and a check would deadlock.
    is_waiting, may_go_on = Event(), Event()

    def changes_by_others(scenario: Scenario, _: object) -> ConcurrentChanges:
        if scenario.name == "waiting":
            is_waiting.set()
            may_go_on.wait(30)
        return ConcurrentChanges()

    monkeypatch.setattr(step_inline, "changes_by_others", changes_by_others)
    steps = inlineformset_factory(Scenario, Step, StepForm, formset=step_inline.StepFormSet)
    data = {"steps-TOTAL_FORMS": "1", "steps-INITIAL_FORMS": "0"}
    with ThreadPoolExecutor(2) as threads:
        blocked_form = threads.submit(lambda: steps(data, instance=Scenario(name="waiting")).forms)
        assert is_waiting.wait(30)
        try:
            other = threads.submit(lambda: steps(data, instance=Scenario(name="other")).forms)
            assert len(other.result(5)) == 1
        finally:
            may_go_on.set()
        assert len(blocked_form.result(30)) == 1


def test_open_page_holds_no_transaction(root: Client) -> None:
    """In SQLite a transaction of a page would keep all others from writing."""
    scenario = create_scenario("weather", {})
    with CaptureQueriesContext(connection) as queries:
        root.get(page_of(scenario))
    assert not [query for query in queries if "SAVEPOINT" in query["sql"]]
