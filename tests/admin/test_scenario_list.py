"""The list of scenarios: columns, filters, search, switches and actions."""

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
from scenarios_app.store.history import versions_of
from tests.admin.drafting import DRAFTS
from tests.admin.pages import LIST, create_scenario, fields_at, inputs_of, save, texts

pytestmark = pytest.mark.django_db


def post_action(client: Client, action: str, *scenarios: Scenario) -> HttpResponse:
    selected_keys = [scenario.pk for scenario in scenarios]
    return client.post(LIST, {"action": action, "_selected_action": selected_keys}, follow=True)


def messages_of(response: HttpResponse) -> list[str]:
    return [str(message) for message in response.context["messages"]]


def names(client: Client, **query: str) -> list[str]:
    return [row.name for row in client.get(LIST, query).context["cl"].result_list]


def test_list_shows_steps_tags_and_problems(root: Client) -> None:
    create_scenario("fine", {}, {}, tags=["demo"], description="Says\nmuch")
    create_scenario("broken", {"produce.text": "{{ nobody }}"}, {})
    html = unescape(root.get(LIST).content.decode())
    assert 'sc-tag-group" title="Group">demo</span>' in html and ">Says</span>" in html
    assert "1 problem<" in html and "unknown name in {{ nobody }}" in html
    result_rows = root.get(LIST).context["cl"].result_list
    assert {row.name: row.steps_in_it for row in result_rows} == {"fine": 2, "broken": 2}


@pytest.mark.parametrize("path", [LIST, DRAFTS])
def test_step_count_is_the_same_after_a_search(root: Client, path: str) -> None:
    scenario = create_scenario("many", *({"produce.text": "sunny"} for _ in range(3)))
    get_or_create_draft(scenario)
    for query in ({}, {"q": "sunny"}, {"q": "many sunny"}):
        (row,) = root.get(path, query).context["cl"].result_list
        assert row.steps_in_it == 3, query


def test_switch_saves_its_own_scenario_alone(root: Client) -> None:
    first, second = create_scenario("a", {}), create_scenario("b", {}, enabled=False)
    form_data = fields_at(root, LIST, "changelist-form")
    assert form_data.pop(f"enabled-{first.pk}") == "on"
    root.post(f"{LIST}{first.pk}/switch/", form_data | {f"enabled-{second.pk}": "on"})
    assert set(Scenario.objects.values_list("name", "enabled")) == {("a", False), ("b", False)}
    root.post(f"{LIST}{second.pk}/switch/", {f"enabled-{second.pk}": "on"})
    assert set(catalog.index().by_name) == {"b"}
    assert [str(entry) for entry in LogEntry.objects.order_by("pk")] == [
        "Changed “a” — Disabled.",
        "Changed “b” — Enabled.",
    ]


def test_switch_answers_with_its_effects_on_others(root: Client) -> None:
    create_scenario("a", {"match.messages(user)": "hi", "consume": False})
    general = create_scenario("b", {"consume": False}, priority=5, enabled=False)
    page = root.post(f"{LIST}{general.pk}/switch/", {f"enabled-{general.pk}": "on"})
    assert "step 1 is now never reached: step 1 of b answers first" in page.content.decode()


def test_switch_needs_a_post_and_the_permission(root: Client, reader: Client) -> None:
    scenario = create_scenario("a", {})
    url = f"{LIST}{scenario.pk}/switch/"
    assert (root.get(url).status_code, reader.post(url).status_code) == (405, 403)
    assert root.post(f"{LIST}{scenario.pk + 1}/switch/").status_code == 404
    assert Scenario.objects.get().enabled


@pytest.mark.parametrize(
    "term",
    ["Hellö", "look up", "tagged", "Be brief", "sunny", "get_weather", "umbrella", "call_it", "Hm"],
)
def test_search_covers_steps_and_tags(root: Client, term: str) -> None:
    create_scenario("other", {"match.messages(user)": "something else"})
    step = {
        "match.messages(user)": "Hellö",
        "name": "look up",
        "match.messages(system)": "Be brief",
    }
    step |= {
        "match.messages(tool)": "sunny",
        "match.tools": ["get_weather"],
        "produce.reasoning": "Hm",
    }
    step |= {"produce.text": "umbrella", "produce.tool_calls": [{"name": "call_it"}]}
    create_scenario("wanted", step, {"produce.text": "umbrella"}, tags=["tagged"])
    assert names(root, q=term) == ["wanted"]


def test_actions_disable_and_enable_scenarios(root: Client) -> None:
    scenario_one, scenario_two = (
        create_scenario("one", {}),
        create_scenario("two", {}, enabled=False),
    )
    assert messages_of(post_action(root, "disable", scenario_one, scenario_two)) == [
        "Disabled 1 of 2."
    ]
    assert set(catalog.index().by_name) == set()
    assert versions_of(scenario_one)[0].changes == ("enabled set to false",)
    assert LogEntry.objects.get().change_message == "Disabled."
    assert messages_of(post_action(root, "enable", scenario_one, scenario_two)) == [
        "Enabled 2 of 2."
    ]
    assert set(catalog.index().by_name) == {"one", "two"}


def test_duplicate_has_a_free_name_new_keys_and_is_disabled(root: Client) -> None:
    scenario = create_scenario(
        "one", {"produce.text": "a", "match.messages(user)": "x"}, {}, tags=["t"], priority=5
    )
    create_scenario("one copy", {})
    messages = messages_of(post_action(root, "duplicate", scenario))
    assert messages == ["Created “one copy 2”, disabled until you enable them."]
    copy = Scenario.objects.get(name="one copy 2")
    assert (copy.enabled, copy.tags, copy.priority) == (False, ["t"], 5)
    assert (
        texts(copy) == texts(scenario)
        and inputs_of(copy.steps.first())["match.messages(user)"] == "x"
    )
    assert Step.objects.values("key").distinct().count() == Step.objects.count() == 5


def test_name_of_a_duplicate_is_cut_to_the_limit(root: Client) -> None:
    post_action(root, "duplicate", create_scenario("n" * 200, {}))
    assert Scenario.objects.filter(name="n" * 195 + " copy").exists()


def test_export_returns_the_documents(root: Client) -> None:
    scenario_one, scenario_two = (
        create_scenario("öne", {"produce.text": "ä"}),
        create_scenario("two", {}),
    )
    response = post_action(root, "export", scenario_one)
    assert response["Content-Type"] == "application/json; charset=utf-8"
    assert response["Content-Disposition"] == "attachment; filename*=utf-8''%C3%B6ne.json"
    document = {"name": "öne", "steps": [{"produce": {"text": "ä"}}]}
    assert json.loads(response.content) == document
    response = post_action(root, "export", scenario_one, scenario_two)
    assert [d["name"] for d in json.loads(response.content)["scenarios"]] == ["two", "öne"]
    assert "scenarios.json" in response["Content-Disposition"]


def test_invalid_scenario_is_neither_exported_nor_duplicated(root: Client) -> None:
    valid_scenario, invalid_scenario = (
        create_scenario("fine", {}),
        create_scenario("broken", {"produce.text": "{{ nobody }}"}),
    )
    for action, began in (("export", "Nothing was exported"), ("duplicate", "Nothing was dup")):
        (message,) = messages_of(post_action(root, action, valid_scenario, invalid_scenario))
        assert message.startswith(began) and "steps[0].produce.text" in message
    assert Scenario.objects.count() == 2


def test_deletion_removes_steps_and_session_state(
    root: Client, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    scenario_one, scenario_two = create_scenario("one", {}), create_scenario("two", {})
    state = services().state
    for scenario in (scenario_one, scenario_two):
        ref = StepRef(scenario.name, scenario.steps.get().key, "1")
        async_to_sync(state.consume)("s", ref)
    with django_capture_on_commit_callbacks(execute=True):
        form_data = {
            "action": "delete_selected",
            "_selected_action": [scenario_one.pk],
            "post": "yes",
        }
        root.post(LIST, form_data)
    assert list(Scenario.objects.values_list("name", flat=True)) == ["two"]
    assert [ref.scenario for ref in async_to_sync(state.read)("s").consumed] == ["two"]


def test_filters_and_search(root: Client) -> None:
    create_scenario("a", {"match.messages(user)": "weather"}, tags=["x", "y"], enabled=False)
    create_scenario("b", {"produce.text": "sunny"}, tags=["y"])
    create_scenario("c", {}, description="Sunday", select="first_user_message")
    assert names(root, tag="y") == ["a", "b"] and names(root, tag="x") == ["a"]
    assert names(root, tag="z") == []
    assert names(root, enabled__exact="0") == ["a"]
    assert names(root, select__exact="first_user_message") == ["c"]
    assert names(root, q="sun") == ["b", "c"] and names(root, q="weather") == ["a"]


def test_longer_list_takes_no_more_queries(
    root: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(30):
        create_scenario(f"s{number}", {}, {})
    catalog.index()
    with django_assert_max_num_queries(16):
        assert len(names(root)) == 30


@pytest.mark.django_db(transaction=True)
def test_warnings_are_shown_counted_and_filtered_after_a_save(root: Client) -> None:
    scenario = create_scenario("weather", {"match.messages(user)": "rain", "consume": False})
    create_scenario("fine", {"match.messages(user)": "sun"})
    assert "sc-doubt" not in root.get(LIST).content.decode()
    assert names(root, problems="warnings") == []
    response = save(root, scenario, **{"steps-0-match.messages(user)": ""})
    page = root.get(response["Location"]).content.decode()
    assert "Saved, with " in page and ">1 warning</a>" in page
    assert "it has no condition" in page
    assert ">1 warning</span>" in page
    assert names(root, problems="warnings") == ["weather"]


def test_errors_and_warnings_have_separate_filters(root: Client) -> None:
    create_scenario("broken", {"produce.text": "{{ nobody }}"})
    create_scenario("doubtful", {"consume": False})
    assert names(root, problems="yes") == ["broken"]
    assert names(root, problems="warnings") == ["doubtful"]


def test_filters_are_titled_by_their_field(root: Client) -> None:
    create_scenario("weather", {})
    html = root.get(LIST).content.decode()
    titles = re.findall(r"<h3[^>]*>\s*(.*?)\s*</h3>", html)
    assert {"Enabled", "Selected by", "Draft"} <= set(titles)
    assert not [title for title in titles if title.startswith("By ")]
