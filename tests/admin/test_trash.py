"""Deleted scenarios: the confirmation page, the trash, and restoring."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from scenarios_app.models import Draft, Revision, Scenario, TrialConversation
from scenarios_app.store import trash
from scenarios_app.store.documents import conversation_for, save_conversation
from scenarios_app.store.history import deletions, versions_of
from tests.admin.drafting import message_text, served_step_keys
from tests.admin.pages import LIST, create_scenario, fields_at, save, texts
from tests.admin.traffic import create_journal_row

pytestmark = pytest.mark.django_db

TRASH = f"{LIST}trash/"


def delete(client: Client, scenario: Scenario) -> Any:
    url = f"{LIST}{scenario.pk}/delete/"
    return client.post(url, fields_at(client, url, "delete_form"), follow=True)


def entry_key(scenario: Scenario) -> int:
    """Return the primary key of a deleted scenario's entry in the trash."""
    return deletions().get(key=scenario.key).pk


def restore(client: Client, scenario: Scenario) -> Any:
    return client.post(f"{TRASH}{entry_key(scenario)}/restore/", follow=True)


def age(scenario: Scenario, **old: int) -> None:
    then = timezone.now() - timedelta(**old)
    Revision.objects.of(scenario).filter(deleted=True).update(at=then)
    Revision.objects.of(scenario).filter(deleted=False).update(at=then - timedelta(seconds=1))


def test_deletion_names_answers_and_links_to_the_trash(editor: Client) -> None:
    scenario = create_scenario("weather", {})
    for _ in range(3):
        create_journal_row(scenario="weather")
    text = editor.get(f"{LIST}{scenario.pk}/delete/").content.decode()
    assert "answered 3 requests of the journal" in text
    page = delete(editor, scenario)
    assert "“weather” is deleted." in message_text(page)
    assert f'href="{TRASH}"' in message_text(page)
    assert served_step_keys() == {}


def test_deletion_of_several_names_the_answers_of_each(editor: Client) -> None:
    rows = [create_scenario(name, {}) for name in ("a", "b")]
    create_journal_row(scenario="b")
    form_data = {"action": "delete_selected", "_selected_action": [row.pk for row in rows]}
    text = editor.post(LIST, form_data).content.decode()
    assert "answered no request" in text
    assert "answered 1 request of the journal" in text
    editor.post(LIST, form_data | {"post": "yes"})
    assert {entry.name for entry in trash.trash_entries()} == {"a", "b"}


def test_restored_scenario_has_its_steps_history_and_conversation(editor: Client) -> None:
    scenario = create_scenario(
        "weather", {"produce.text": "one"}, {"produce.text": "two"}, tags=["x"]
    )
    save(editor, scenario, description="better")
    save_conversation("weather", {"turns": [{"user": "sun?"}]})
    delete(editor, scenario)
    (entry,) = trash.trash_entries()
    assert (entry.name, entry.steps, entry.deleted_by) == ("weather", 2, "QA editor")
    assert "“weather” is restored." in message_text(restore(editor, scenario))
    restored_scenario = Scenario.objects.get(key=scenario.key)
    assert (
        restored_scenario.name,
        restored_scenario.document["description"],
        restored_scenario.tags,
    ) == (
        "weather",
        "better",
        ["x"],
    )
    assert texts(restored_scenario) == ["one", "two"]
    assert list(served_step_keys()) == ["weather"]
    latest, *_, first = versions_of(restored_scenario)
    assert (latest.reason, first.changes) == ("restored from the trash", ("created",))
    assert conversation_for("weather") == {"turns": [{"user": "sun?"}]}
    assert trash.trash_entries() == []


def test_steps_deleted_earlier_are_not_restored(editor: Client) -> None:
    scenario = create_scenario("weather", {"produce.text": "old"}, {"produce.text": "new"})
    deleted_step = scenario.steps.first()
    assert deleted_step is not None
    deleted_step.delete()
    delete(editor, scenario)
    restore(editor, scenario)
    assert texts(Scenario.objects.get(key=scenario.key)) == ["new"]


def test_second_of_two_concurrent_restores_is_404(
    editor: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = create_scenario("weather", {})
    delete(editor, scenario)
    restore_first = trash.restore

    def restore_late(pk: int) -> Scenario:
        restore_first(pk)
        return restore_first(pk)

    monkeypatch.setattr(trash, "restore", restore_late)
    assert restore(editor, scenario).status_code == 404


def test_restored_scenario_with_a_taken_name_gets_a_number(editor: Client) -> None:
    scenario = create_scenario("weather", {"produce.text": "old"})
    delete(editor, scenario)
    create_scenario("weather", {"produce.text": "new"})
    assert "is restored as “weather (2)”, because its name is taken" in message_text(
        restore(editor, scenario)
    )
    assert texts(Scenario.objects.get(key=scenario.key)) == ["old"]


def test_history_of_a_deleted_scenario_is_shown(editor: Client) -> None:
    scenario = create_scenario("weather", {})
    delete(editor, scenario)
    page = f"{TRASH}{entry_key(scenario)}/"
    assert f'href="{page}"' in editor.get(TRASH).content.decode()
    text = editor.get(page).content.decode()
    assert "deleted</span>" in text
    assert "Restore this version" not in text


@pytest.mark.parametrize(("setting", "days"), [(None, 30), (3, 3)])
def test_deleted_scenarios_are_kept_for_the_retention(
    editor: Client, settings: Any, setting: int | None, days: int
) -> None:
    settings.RETENTION_DAYS = setting
    old_scenario, recent_scenario = create_scenario("old", {}), create_scenario("young", {})
    save_conversation("old", {})
    delete(editor, old_scenario)
    delete(editor, recent_scenario)
    age(old_scenario, days=days, minutes=1)
    age(recent_scenario, days=days, minutes=-1)
    assert [entry.name for entry in trash.trash_entries()] == ["young"]
    assert editor.get(f"{TRASH}{entry_key(old_scenario)}/").status_code == 404
    assert restore(editor, old_scenario).status_code == 404
    # The next deletion drops what is older.
    delete(editor, create_scenario("other", {}))
    assert not Revision.objects.of(old_scenario).exists()
    assert not TrialConversation.objects.exists()
    assert Revision.objects.of(recent_scenario).exists()


def test_conversation_outlives_an_expired_scenario_whose_name_is_still_used(
    editor: Client,
) -> None:
    expired = [create_scenario(name, {}) for name in ("drafted", "deleted again", "gone")]
    for scenario in expired:
        save_conversation(scenario.name, {})
        delete(editor, scenario)
    Draft.objects.create(name="drafted")
    delete(editor, create_scenario("deleted again", {}))
    for scenario in expired:
        age(scenario, days=31)
    assert trash.erase_expired() == 3
    assert {row.scenario for row in TrialConversation.objects.all()} == {"drafted", "deleted again"}


def test_reader_sees_the_trash_and_restores_nothing(editor: Client, reader: Client) -> None:
    scenario = create_scenario("weather", {})
    delete(editor, scenario)
    assert "Restore" not in reader.get(TRASH).content.decode()
    assert reader.post(f"{TRASH}{entry_key(scenario)}/restore/").status_code == 403
    assert not Scenario.objects.exists()


def test_scenario_outside_the_trash_is_404(editor: Client) -> None:
    pk = Revision.objects.of(create_scenario("weather", {})).get().pk
    assert editor.get(f"{TRASH}{pk}/").status_code == 404
    assert editor.post(f"{TRASH}{pk}/restore/").status_code == 404
    assert editor.get(f"{TRASH}{pk}/restore/").status_code == 405
