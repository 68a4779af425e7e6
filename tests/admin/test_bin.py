"""Deleted scenarios: what is told before, what the bin keeps and how it gives that back."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from scenarios_app.models import Scenario, Step, TrialConversation
from scenarios_app.store import bin as the_bin
from scenarios_app.store.documents import conversation_for, keep
from scenarios_app.store.history import versions_of
from tests.admin.drafting import said, served
from tests.admin.pages import LIST, a_scenario, fields_at, save, texts
from tests.admin.traffic import served as asked

pytestmark = pytest.mark.django_db

BIN = f"{LIST}bin/"


def delete(client: Client, scenario: Scenario) -> Any:
    url = f"{LIST}{scenario.pk}/delete/"
    return client.post(url, fields_at(client, url, "delete_form"), follow=True)


def restore(client: Client, pk: int) -> Any:
    return client.post(f"{BIN}{pk}/restore/", follow=True)


def age(pk: int, **old: int) -> None:
    then = timezone.now() - timedelta(**old)
    Scenario.history.filter(id=pk, history_type="-").update(history_date=then)
    Step.history.filter(scenario_id=pk, history_type="-").update(history_date=then)


def test_a_deletion_says_how_much_was_answered_and_where_the_scenario_is(editor: Client) -> None:
    scenario = a_scenario("weather", {})
    for _ in range(3):
        asked(scenario="weather")
    text = editor.get(f"{LIST}{scenario.pk}/delete/").content.decode()
    assert "answered 3 requests of the journal" in text
    page = delete(editor, scenario)
    assert "“weather” is deleted." in said(page)
    assert f'href="{BIN}"' in said(page)
    assert served() == {}


def test_several_are_deleted_with_the_same_words(editor: Client) -> None:
    rows = [a_scenario(name, {}) for name in ("a", "b")]
    asked(scenario="b")
    posted = {"action": "delete_selected", "_selected_action": [row.pk for row in rows]}
    text = editor.post(LIST, posted).content.decode()
    assert "answered no request" in text
    assert "answered 1 request of the journal" in text
    editor.post(LIST, posted | {"post": "yes"})
    assert {one.name for one in the_bin.binned()} == {"a", "b"}


def test_what_comes_back_is_what_was_deleted_with_its_past(editor: Client) -> None:
    scenario = a_scenario("weather", {"answer_text": "one"}, {"answer_text": "two"}, tags=["x"])
    save(editor, scenario, description="better")
    keep("weather", {"turns": [{"user": "sun?"}]})
    pk = scenario.pk
    delete(editor, scenario)
    (binned,) = the_bin.binned()
    assert (binned.name, binned.steps, binned.who) == ("weather", 2, "QA editor")
    assert "“weather” is back." in said(restore(editor, pk))
    back = Scenario.objects.get(pk=pk)
    assert (back.name, back.description, back.tags) == ("weather", "better", ["x"])
    assert texts(back) == ["one", "two"]
    assert list(served()) == ["weather"]
    latest, *_, first = versions_of(back)
    assert (latest.why, first.changes) == ("brought back from the bin", ("created",))
    assert conversation_for("weather") == {"turns": [{"user": "sun?"}]}
    assert the_bin.binned() == []


def test_steps_that_were_gone_before_stay_gone(editor: Client) -> None:
    scenario = a_scenario("weather", {"answer_text": "old"}, {"answer_text": "new"})
    gone = scenario.steps.first()
    assert gone is not None
    gone.delete()
    then = timezone.now() - timedelta(minutes=1)
    Step.history.filter(history_type="-").update(history_date=then)
    pk = scenario.pk
    delete(editor, scenario)
    restore(editor, pk)
    assert texts(Scenario.objects.get(pk=pk)) == ["new"]


def test_a_taken_name_gets_a_number(editor: Client) -> None:
    scenario = a_scenario("weather", {"answer_text": "old"})
    pk = scenario.pk
    delete(editor, scenario)
    a_scenario("weather", {"answer_text": "new"})
    assert "as “weather (2)”: its name is taken" in said(restore(editor, pk))
    assert texts(Scenario.objects.get(pk=pk)) == ["old"]


def test_the_past_of_what_is_deleted_is_shown(editor: Client) -> None:
    scenario = a_scenario("weather", {})
    pk = scenario.pk
    delete(editor, scenario)
    assert f'href="{BIN}{pk}/"' in editor.get(BIN).content.decode()
    text = editor.get(f"{BIN}{pk}/").content.decode()
    assert "deleted</span>" in text
    assert "Restore this version" not in text


@pytest.mark.parametrize(("setting", "days"), [(None, 30), (3, 3)])
def test_the_bin_keeps_for_so_many_days(
    editor: Client, settings: Any, setting: int | None, days: int
) -> None:
    settings.RETENTION_DAYS = setting
    old, young = a_scenario("old", {}), a_scenario("young", {})
    keys = old.pk, young.pk
    keep("old", {})
    delete(editor, old)
    delete(editor, young)
    age(keys[0], days=days, minutes=1)
    age(keys[1], days=days, minutes=-1)
    assert [one.name for one in the_bin.binned()] == ["young"]
    assert editor.get(f"{BIN}{keys[0]}/").status_code == 404
    assert restore(editor, keys[0]).status_code == 404
    # The next deletion forgets what is older.
    delete(editor, a_scenario("other", {}))
    assert not Scenario.history.filter(id=keys[0]).exists()
    assert not Step.history.filter(scenario_id=keys[0]).exists()
    assert not TrialConversation.objects.exists()
    assert Scenario.history.filter(id=keys[1]).exists()


def test_readers_look_and_restore_nothing(editor: Client, reader: Client) -> None:
    scenario = a_scenario("weather", {})
    pk = scenario.pk
    delete(editor, scenario)
    assert "Restore" not in reader.get(BIN).content.decode()
    assert reader.post(f"{BIN}{pk}/restore/").status_code == 403
    assert not Scenario.objects.exists()


def test_what_is_not_in_the_bin_is_not_there(editor: Client) -> None:
    scenario = a_scenario("weather", {})
    assert editor.get(f"{BIN}{scenario.pk}/").status_code == 404
    assert restore(editor, scenario.pk).status_code == 404
    assert editor.get(f"{BIN}{scenario.pk}/restore/").status_code == 405
