"""The list of scenarios: what it shows, its filters and search, its switches and actions."""

import json
import re
from html import unescape

import pytest
from asgiref.sync import async_to_sync
from django.contrib.admin.models import LogEntry
from django.http import HttpResponse
from django.test import Client
from pytest_django import DjangoAssertNumQueries, DjangoCaptureOnCommitCallbacks

from scenarios_app.catalog import catalog
from scenarios_app.engine.state import StepRef
from scenarios_app.models import Scenario, Step
from scenarios_app.serving.services import services
from scenarios_app.store.drafts import get_or_create_draft
from tests.admin.drafting import DRAFTS
from tests.admin.pages import LIST, a_scenario, fields_at, save, texts

pytestmark = pytest.mark.django_db


def act(client: Client, action: str, *scenarios: Scenario) -> HttpResponse:
    chosen = [scenario.pk for scenario in scenarios]
    return client.post(LIST, {"action": action, "_selected_action": chosen}, follow=True)


def messages_of(response: HttpResponse) -> list[str]:
    return [str(message) for message in response.context["messages"]]


def names(client: Client, **query: str) -> list[str]:
    return [row.name for row in client.get(LIST, query).context["cl"].result_list]


def test_list_shows_steps_tags_and_problems(root: Client) -> None:
    a_scenario("fine", {}, {}, tags=["demo"], description="Says\nmuch")
    a_scenario("broken", {"answer_text": "{{ nobody }}"}, {})
    html = unescape(root.get(LIST).content.decode())
    assert 'sc-tag-group" title="Group">demo</span>' in html and ">Says</span>" in html
    assert "1 problem<" in html and "unknown name in {{ nobody }}" in html
    listed = root.get(LIST).context["cl"].result_list
    assert {row.name: row.steps_in_it for row in listed} == {"fine": 2, "broken": 2}


@pytest.mark.parametrize("path", [LIST, DRAFTS])
def test_step_count_is_the_same_after_a_search(root: Client, path: str) -> None:
    scenario = a_scenario("many", *({"answer_text": "sunny"} for _ in range(3)))
    get_or_create_draft(scenario)
    for query in ({}, {"q": "sunny"}, {"q": "many sunny"}):
        (row,) = root.get(path, query).context["cl"].result_list
        assert row.steps_in_it == 3, query


def test_enabled_switches_are_saved_together(root: Client) -> None:
    a_scenario("a", {}), a_scenario("b", {}, enabled=False)
    posted = fields_at(root, LIST, "changelist-form") | {"_save": "Save"}
    assert posted.pop("form-0-enabled") == "on"
    root.post(LIST, posted | {"form-1-enabled": "on"})
    assert dict(Scenario.objects.values_list("name", "enabled")) == {"a": False, "b": True}
    assert set(catalog.index().by_name) == {"b"}


@pytest.mark.parametrize(
    "term",
    ["Hellö", "look up", "tagged", "Be brief", "sunny", "get_weather", "umbrella", "call_it", "Hm"],
)
def test_search_covers_steps_and_tags(root: Client, term: str) -> None:
    a_scenario("other", {"match_user": "something else"})
    step = {"match_user": "Hellö", "name": "look up", "match_system": "Be brief"}
    step |= {"match_tool_result": "sunny", "match_tools": ["get_weather"], "answer_reasoning": "Hm"}
    step |= {"answer_text": "umbrella", "answer_tool_calls": [{"name": "call_it"}]}
    a_scenario("wanted", step, {"answer_text": "umbrella"}, tags=["tagged"])
    assert names(root, q=term) == ["wanted"]


def test_actions_disable_and_enable_scenarios(root: Client) -> None:
    one, two = a_scenario("one", {}), a_scenario("two", {}, enabled=False)
    assert messages_of(act(root, "disable", one, two)) == ["Disabled 1 of 2."]
    assert set(catalog.index().by_name) == set()
    assert one.history.first().enabled is False
    assert LogEntry.objects.get().change_message == "Disabled."
    assert messages_of(act(root, "enable", one, two)) == ["Enabled 2 of 2."]
    assert set(catalog.index().by_name) == {"one", "two"}


def test_duplicate_has_a_free_name_new_keys_and_is_disabled(root: Client) -> None:
    one = a_scenario("one", {"answer_text": "a", "match_user": "x"}, {}, tags=["t"], priority=5)
    a_scenario("one copy", {})
    said_so = messages_of(act(root, "duplicate", one))
    assert said_so == ["Created “one copy 2”, disabled until you enable them."]
    copy = Scenario.objects.get(name="one copy 2")
    assert (copy.enabled, copy.tags, copy.priority) == (False, ["t"], 5)
    assert texts(copy) == texts(one) and copy.steps.first().match_user == "x"
    assert Step.objects.values("key").distinct().count() == Step.objects.count() == 5


def test_name_of_a_duplicate_is_cut_to_the_limit(root: Client) -> None:
    act(root, "duplicate", a_scenario("n" * 200, {}))
    assert Scenario.objects.filter(name="n" * 195 + " copy").exists()


def test_export_returns_the_documents(root: Client) -> None:
    one, two = a_scenario("öne", {"answer_text": "ä"}), a_scenario("two", {})
    response = act(root, "export", one)
    assert response["Content-Type"] == "application/json; charset=utf-8"
    assert response["Content-Disposition"] == "attachment; filename*=utf-8''%C3%B6ne.json"
    document = {"name": "öne", "steps": [{"produce": {"text": "ä"}}]}
    assert json.loads(response.content) == document
    response = act(root, "export", one, two)
    assert [d["name"] for d in json.loads(response.content)["scenarios"]] == ["two", "öne"]
    assert "scenarios.json" in response["Content-Disposition"]


def test_invalid_scenario_is_neither_exported_nor_duplicated(root: Client) -> None:
    fine, broken = a_scenario("fine", {}), a_scenario("broken", {"answer_text": "{{ nobody }}"})
    for action, began in (("export", "Nothing was exported"), ("duplicate", "Nothing was dup")):
        (message,) = messages_of(act(root, action, fine, broken))
        assert message.startswith(began) and "steps[0].produce.text" in message
    assert Scenario.objects.count() == 2


def test_deletion_removes_steps_and_session_state(
    root: Client, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    one, two = a_scenario("one", {}), a_scenario("two", {})
    state = services().state
    for scenario in (one, two):
        ref = StepRef(scenario.name, scenario.steps.get().key, "1")
        async_to_sync(state.consume)("s", ref)
    with django_capture_on_commit_callbacks(execute=True):
        chosen = {"action": "delete_selected", "_selected_action": [one.pk], "post": "yes"}
        root.post(LIST, chosen)
    assert list(Scenario.objects.values_list("name", flat=True)) == ["two"]
    assert [ref.scenario for ref in async_to_sync(state.read)("s").consumed] == ["two"]


def test_filters_and_search(root: Client) -> None:
    a_scenario("a", {"match_user": "weather"}, tags=["x", "y"], enabled=False)
    a_scenario("b", {"answer_text": "sunny"}, tags=["y"])
    a_scenario("c", {}, description="Sunday", select="first_user_message")
    assert names(root, tag="y") == ["a", "b"] and names(root, tag="x") == ["a"]
    assert names(root, tag="z") == []
    assert names(root, enabled__exact="0") == ["a"]
    assert names(root, select__exact="first_user_message") == ["c"]
    assert names(root, q="sun") == ["b", "c"] and names(root, q="weather") == ["a"]


def test_longer_list_takes_no_more_queries(
    root: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(30):
        a_scenario(f"s{number}", {}, {})
    catalog.index()
    with django_assert_max_num_queries(16):
        assert len(names(root)) == 30


@pytest.mark.django_db(transaction=True)
def test_warnings_are_shown_counted_and_filtered_after_a_save(root: Client) -> None:
    scenario = a_scenario("weather", {"match_user": "rain", "consume": False})
    a_scenario("fine", {"match_user": "sun"})
    assert "sc-doubt" not in root.get(LIST).content.decode()
    assert names(root, problems="warnings") == []
    response = save(root, scenario, **{"steps-0-match_user": ""})
    page = root.get(response["Location"]).content.decode()
    assert "Saved, with " in page and ">1 warning</a>" in page
    assert "it has no condition" in page
    assert ">1 warning</span>" in page
    assert names(root, problems="warnings") == ["weather"]


def test_errors_and_warnings_have_separate_filters(root: Client) -> None:
    a_scenario("broken", {"answer_text": "{{ nobody }}"})
    a_scenario("doubtful", {"consume": False})
    assert names(root, problems="yes") == ["broken"]
    assert names(root, problems="warnings") == ["doubtful"]


def test_filters_are_titled_by_their_field(root: Client) -> None:
    a_scenario("weather", {})
    html = root.get(LIST).content.decode()
    titles = re.findall(r"<h3[^>]*>\s*(.*?)\s*</h3>", html)
    assert {"Enabled", "Selected by", "Draft"} <= set(titles)
    assert not [title for title in titles if title.startswith("By ")]
