"""Two people in one scenario: who is there, what comes together, what is asked about."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from scenarios_app.models import Presence, Scenario
from scenarios_app.store.history import versions_of
from tests.admin.drafting import draft_page, edit_as_draft
from tests.admin.pages import a_scenario, fields_at, page_of, save, told

pytestmark = pytest.mark.django_db


def here(client: Client, url: str) -> str:
    return client.post(url.replace("/change/", "/here/")).content.decode()


def posted(client: Client, scenario: Scenario, mine: dict[str, str], **changes: str) -> Any:
    return client.post(page_of(scenario), mine | changes)


# ── Who is there ──


def test_others_on_the_page_are_named_until_they_leave(root: Client, editor: Client) -> None:
    scenario = a_scenario("weather", {})
    url = page_of(scenario)
    assert here(root, url).strip() == ""
    assert "root is on this page too" in here(editor, url)
    assert "QA editor is on this page too" in here(root, url)
    Presence.objects.filter(user__username="root").update(at=timezone.now() - timedelta(minutes=1))
    assert here(editor, url).strip() == ""
    assert Presence.objects.count() == 1


def test_a_draft_is_another_page(root: Client, editor: Client) -> None:
    scenario = a_scenario("weather", {})
    draft = edit_as_draft(root, scenario)
    here(root, draft_page(draft))
    assert here(editor, page_of(scenario)).strip() == ""
    assert "root" in here(editor, draft_page(draft))


def test_the_page_asks_for_itself_and_readers_do_not(root: Client, reader: Client) -> None:
    url = page_of(a_scenario("weather", {}))
    assert 'id="here"' in root.get(url).content.decode()
    assert 'id="here"' not in reader.get(url).content.decode()


def test_who_is_at_what_is_gone_is_told_once(root: Client, reader: Client) -> None:
    scenario = a_scenario("weather", {})
    url = page_of(scenario).replace("/change/", "/here/")
    scenario.delete()
    told_of = root.post(url)
    assert (told_of.status_code, "out of date" in told_of.content.decode()) == (286, True)
    assert reader.post(url).status_code == 403


# ── What comes together ──


def test_different_fields_of_one_step_come_together(root: Client, editor: Client) -> None:
    scenario = a_scenario("weather", {"name": "a", "answer_text": "b"})
    mine = fields_at(root, page_of(scenario))
    save(editor, scenario, **{"steps-0-answer_text": "theirs", "description": "theirs"})
    changed = {"steps-0-name": "mine", "priority": "4"}
    assert posted(root, scenario, mine, **changed).status_code == 302
    step = scenario.steps.get()
    scenario.refresh_from_db()
    assert (step.name, step.answer_text) == ("mine", "theirs")
    assert (scenario.priority, scenario.description) == (4, "theirs")


@pytest.mark.parametrize(
    ("column", "theirs", "mine"),
    [
        ("match_tools", "one", "two"),
        ("failures_kind", "rate_limit", "timeout"),
        ("latency_ms", "5", "6"),
        ("answer_tool_calls", '[{"name": "a"}]', '[{"name": "b"}]'),
        ("match_stream", "true", "false"),
        ("response_headers", '{"x-a": "1"}', '{"x-a": "2"}'),
    ],
)
def test_every_kind_of_field_comes_together_and_is_asked_about(
    root: Client, editor: Client, column: str, theirs: str, mine: str
) -> None:
    scenario = a_scenario("weather", {"consume": False})
    opened = fields_at(root, page_of(scenario))
    field = f"steps-0-{column}"
    assert save(editor, scenario, **{field: theirs}).status_code == 302
    stored = scenario.steps.values(column).get()
    page = posted(root, scenario, opened, **{"steps-0-name": "mine"})
    assert page.status_code == 302, told(page)
    assert scenario.steps.values(column).get() == stored
    response = posted(root, scenario, opened, **{field: mine})
    assert response.status_code == 200
    lines = told(response)
    assert any("changed this since you opened the page" in one for one in lines), lines


def test_what_goes_wrong_is_one_choice_and_comes_together_whole(
    root: Client, editor: Client
) -> None:
    scenario = a_scenario("weather", {"consume": False})
    opened = fields_at(root, page_of(scenario))
    theirs = {"steps-0-failures_times": "3"}
    theirs |= {"steps-0-failures_kind": "rate_limit", "steps-0-failures_message": "Slow."}
    save(editor, scenario, **theirs)
    assert posted(root, scenario, opened, **{"steps-0-name": "mine"}).status_code == 302
    step = scenario.steps.get()
    found = (step.name, step.failures_times, step.failures_kind, step.failures_message)
    assert found == ("mine", 3, "rate_limit", "Slow.")


def test_the_same_change_is_no_conflict(root: Client, editor: Client) -> None:
    scenario = a_scenario("weather", {})
    mine = fields_at(root, page_of(scenario))
    same = {"steps-0-answer_text": "the same", "priority": "2"}
    save(editor, scenario, **same)
    assert posted(root, scenario, mine, **same).status_code == 302


def test_a_conflict_keeps_what_was_written_in_the_field(root: Client, editor: Client) -> None:
    scenario = a_scenario("weather", {})
    mine = fields_at(root, page_of(scenario))
    save(editor, scenario, **{"steps-0-answer_text": "theirs", "steps-0-name": "theirs"})
    response = posted(root, scenario, mine, **{"steps-0-answer_text": "mine"})
    text = response.content.decode()
    assert ">\nmine</textarea>" in text or ">mine</textarea>" in text
    assert " disabled" not in text.split('name="steps-0-name"')[1].split(">")[0]


# ── Versions ──


def test_a_version_stands_beside_what_is_there_now(root: Client) -> None:
    scenario = a_scenario("weather", {"answer_text": "old"})
    moment = versions_of(scenario)[0].at.isoformat()
    save(root, scenario, **{"steps-0-answer_text": "new", "description": "better"})
    url = page_of(scenario).replace("/change/", "/history/")
    assert "#compared" in root.get(url).content.decode()
    page = root.get(url, {"at": moment})
    found = [(one.step, one.place, one.before, one.after) for one in page.context["differences"]]
    assert found == [(0, "description", None, "better"), (1, "produce.text", "old", "new")]
    assert 'title="produce.text">Answer text</span>' in page.content.decode()
    assert b'id="compared"' not in root.get(url, {"at": "nonsense"}).content


def test_bringing_a_version_back_keeps_the_steps_themselves(root: Client) -> None:
    scenario = a_scenario("weather", {"answer_text": "old"}, {"answer_text": "gone"})
    keys = list(scenario.steps.values_list("key", flat=True))
    moment = versions_of(scenario)[0].at.isoformat()
    save(root, scenario, **{"steps-0-answer_text": "new", "steps-1-DELETE": "on"})
    url = page_of(scenario).replace("/change/", "/history/")
    root.post(url, {"at": moment})
    back = list(scenario.steps.values_list("answer_text", "key"))
    assert back[0] == ("old", keys[0])
    assert back[1][0] == "gone"
