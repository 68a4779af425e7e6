"""*Test* with unsaved edits."""

from typing import Any

import pytest
from django.test import Client

from scenarios_app.models import Scenario
from tests.admin.drafting import draft_page, edit_as_draft
from tests.admin.pages import (
    ADD,
    LIST,
    create_scenario,
    fields,
    fields_at,
    new_step,
    page_of,
    texts,
)
from tests.admin.trying.tries import TRY, post_try

pytestmark = pytest.mark.django_db


def try_edits(client: Client, page: str, form_id: str = "scenario_form", **changes: str) -> Any:
    """Post *Test* for a page with changed fields."""
    form_data = fields_at(client, page, form_id) | changes
    return client.post(f"{page.removesuffix('change/')}test/", form_data)


def summary_of(page: Any) -> tuple[str, str, str]:
    answer = page.context["told"]
    return answer.scenario, answer.step, answer.said


def test_unsaved_edits_are_tried_and_not_saved(root: Client) -> None:
    scenario = create_scenario("weather", {"match.messages(user)": "rain"})
    changes = {
        "name": "climate",
        "steps-0-match.messages(user)": "snow",
        "steps-0-produce.text": "It snows.",
    }
    page = try_edits(root, page_of(scenario), **changes)
    assert page.context["form"]["user"].value() == "snow"
    assert summary_of(page) == ("climate", "1", "It snows.")
    assert texts(scenario) == ["answer 1"] and not Scenario.objects.filter(name="climate").exists()


def test_unsaved_edits_are_tried_with_another_request(root: Client) -> None:
    scenario = create_scenario("weather", {"match.messages(user)": "rain"})
    changes = {
        "name": "climate",
        "steps-0-match.messages(user)": "snow",
        "steps-0-produce.text": "It snows.",
    }
    html = try_edits(root, page_of(scenario), **changes).content.decode()
    form_data = fields(html, "test_form")
    page = root.post(TRY, form_data | {"user": "More snow?"})
    assert summary_of(page) == ("climate", "1", "It snows.")
    # The edited scenario replaces the stored one.
    assert root.post(TRY, form_data | {"user": "rain"}).context["answer"] == "none"


def test_unsaved_edits_keep_the_used_steps_of_the_session(root: Client) -> None:
    scenario = create_scenario("weather", {"match.messages(user)": "rain", "consume": True})
    key = scenario.steps.get().key
    hidden_fields = try_edits(root, page_of(scenario)).context["tried"].hidden
    assert (hidden_fields["keys"], hidden_fields["of"]) == (key, "weather")


def test_new_scenario_is_tried_before_its_first_save(root: Client) -> None:
    step = new_step(0, {"match.messages(user)": "snow", "produce.text": "It snows."})
    page = try_edits(root, ADD, name="new", **step, **{"steps-TOTAL_FORMS": "1"})
    assert summary_of(page) == ("new", "1", "It snows.")
    assert not Scenario.objects.exists()


def test_unsaved_edits_of_a_draft_are_tried(root: Client) -> None:
    draft = edit_as_draft(root, create_scenario("weather", {"match.messages(user)": "rain"}))
    changes = {"steps-0-produce.text": "It pours."}
    page = try_edits(root, draft_page(draft), "draft_form", **changes)
    assert summary_of(page) == ("weather", "1", "It pours.")


def test_edits_with_errors_list_the_errors(root: Client) -> None:
    scenario = create_scenario("weather", {"match.messages(user)": "rain"})
    page = try_edits(root, page_of(scenario), **{"steps-0-produce.tool_calls": "[", "name": ""})
    text = page.content.decode()
    assert {line.where for line in page.context["wrong"]} == {"Name", "Step 1, Tool calls"}
    assert "Fix this first:" in text and 'id="test_form"' not in text


def test_try_page_says_that_the_scenario_is_disabled(root: Client) -> None:
    scenario = create_scenario("weather", {"match.messages(user)": "rain"})
    changes = fields_at(root, page_of(scenario))
    del changes["enabled"]
    page = root.post(f"{LIST}{scenario.pk}/test/", changes)
    assert "The scenario is disabled, so it answers no requests." in page.content.decode()
    assert page.context["answer"] == "none"


@pytest.mark.parametrize("document", ["", "{", '{"scenarios": []}', '{"name": "a", "x": 1}'])
def test_invalid_edits_fall_back_to_the_stored_scenarios(root: Client, document: str) -> None:
    create_scenario("weather", {"match.messages(user)": "rain"})
    page = post_try(root, user="rain", document=document, keys="", of="")
    assert summary_of(page) == ("weather", "1", "answer 1")
