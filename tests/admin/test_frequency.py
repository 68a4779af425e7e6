"""How often a step answers: one choice, whatever its columns are."""

import pytest
from django.test import Client

from scenarios_app.admin.editor.frequency import ALWAYS, FAILING, FAILING_ONCE, ONCE
from scenarios_app.models import Scenario, Step
from tests.admin.pages import ADD, a_scenario, fields_at, new_step, page_of, save, told

pytestmark = pytest.mark.django_db

ONE = {ALWAYS: (False, None), ONCE: (True, None), FAILING: (False, 1), FAILING_ONCE: (True, 1)}


def choice(client: Client, scenario: Scenario) -> str:
    return fields_at(client, page_of(scenario))["steps-0-consume"]


def stored(scenario: Scenario) -> tuple[bool, int | None]:
    step = scenario.steps.get()
    return step.consume, step.failures_times


@pytest.mark.parametrize("often", ONE)
def test_each_choice_is_stored_and_shown_again(root: Client, often: str) -> None:
    scenario = a_scenario("one", {"consume": often == ALWAYS})
    save(root, scenario, **{"steps-0-consume": often})
    assert stored(scenario) == ONE[often]
    assert choice(root, scenario) == often


def test_a_new_step_answers_every_time(root: Client) -> None:
    posted = fields_at(root, ADD) | {"name": "fresh", "steps-TOTAL_FORMS": "1"}
    added = new_step(0, answer_text="Hi!")
    del added["steps-0-consume"]
    assert root.post(ADD, posted | added).status_code == 302
    assert Step.objects.get().consume is False


def test_what_is_out_of_sight_is_taken_out(root: Client) -> None:
    failing = {"failures_times": 3, "failures_kind": "http", "failures_status": 503}
    scenario = a_scenario("one", {**failing, "failures_extra": {"code": "busy"}})
    posted = fields_at(root, page_of(scenario))
    # A browser leaves out what is disabled.
    shown = {name: value for name, value in posted.items() if "-failures_" not in name}
    extra = {"steps-0-failures_extra": posted["steps-0-failures_extra"]}
    response = root.post(page_of(scenario), {**shown, **extra, "steps-0-consume": ONCE})
    assert response.status_code == 302
    step = scenario.steps.get()
    assert (step.failures_times, step.failures_kind, step.failures_status) == (None, "", None)
    assert step.failures_extra == {} and step.consume


def test_a_kind_without_a_status_leaves_none_behind(root: Client) -> None:
    scenario = a_scenario("one", {"fault_kind": "http", "fault_status": 503, "answer_text": ""})
    posted = fields_at(root, page_of(scenario)) | {"steps-0-fault_kind": "rate_limit"}
    del posted["steps-0-fault_status"]
    assert root.post(page_of(scenario), posted).status_code == 302
    assert scenario.steps.get().fault_status is None


def test_a_scenario_chosen_by_its_name_knows_no_once(root: Client) -> None:
    scenario = a_scenario("talk", {"turn": 1}, select="first_user_message")
    assert choice(root, scenario) == ALWAYS
    assert b"once per session</span>" not in root.get(page_of(scenario)).content
    assert save(root, scenario, description="changed").status_code == 302
    assert scenario.steps.get().consume
    refused = save(root, scenario, **{"steps-0-consume": ONCE})
    assert told(refused) == [
        "Step 1, Answers: A scenario that is chosen by the first user message answers every time."
    ]
