"""Private scenarios: `?session=` on every route of scenarios."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.test import Client

from scenarios_app.control.stores import SessionScenarios
from scenarios_app.engine.state import key_session
from scenarios_app.models import Scenario
from scenarios_app.serving.services import services
from tests.control.control_client import Control, chat, error_of, reply_text, scenario, text_step

KEY = "sk-mine"
OTHER_KEY = "sk-other"


def test_private_scenario_answers_only_in_its_session(control: Control) -> None:
    response = control.post("scenarios", scenario("own", text_step("Mine.")), session=KEY)
    assert (response.status_code, response.json()) == (201, scenario("own", text_step("Mine.")))
    assert reply_text(chat(key=KEY)) == "Mine."
    assert chat(key=OTHER_KEY).status_code == 404
    assert not Scenario.objects.exists()


def test_private_scenario_hides_the_common_one(control: Control) -> None:
    control.post("scenarios", scenario("greeting", text_step("Common.", consume=False)))
    private_scenario = scenario("greeting", text_step("Mine.", consume=False))
    assert control.post("scenarios", private_scenario, session=KEY).status_code == 201
    assert (reply_text(chat(key=KEY)), reply_text(chat(key=OTHER_KEY))) == ("Mine.", "Common.")
    assert control.delete("scenarios/greeting", session=KEY).status_code == 204
    assert reply_text(chat(key=KEY)) == "Common."


def test_sessions_may_have_scenarios_of_one_name(control: Control) -> None:
    for key in (KEY, OTHER_KEY):
        control.post("scenarios", scenario("own", text_step(key)), session=key)
    assert [reply_text(chat(key=key)) for key in (KEY, OTHER_KEY)] == [KEY, OTHER_KEY]


def test_routes_with_session_see_only_private_scenarios(control: Control) -> None:
    control.post("scenarios", scenario("common"))
    control.post("scenarios", {"scenarios": [scenario("b"), scenario("a")]}, session=KEY)
    scenario_list = control.get("scenarios", session=KEY).json()
    assert scenario_list == {"scenarios": [scenario("a"), scenario("b")], "problems": []}
    assert control.get("scenarios/a", session=KEY).json() == scenario("a")
    for response in (
        control.get("scenarios/common", session=KEY),
        control.delete("scenarios/common", session=KEY),
        control.post("scenarios/common/steps", text_step("x"), session=KEY),
        control.get("scenarios/a"),
        control.get("scenarios/a", session=OTHER_KEY),
    ):
        assert error_of(response) == (404, "NOT_FOUND", None)


def test_duplicate_private_name_is_a_conflict_and_adds_nothing(control: Control) -> None:
    control.post("scenarios", scenario("own"), session=KEY)
    document = {"scenarios": [scenario("new"), scenario("own")]}
    assert error_of(control.post("scenarios", document, session=KEY)) == (409, "CONFLICT", "name")
    scenarios = control.get("scenarios", session=KEY).json()["scenarios"]
    assert scenarios == [scenario("own")]


def test_replacing_a_private_scenario_resets_its_session_only(control: Control) -> None:
    control.post("scenarios", scenario("once", text_step("Common.")))
    control.put("scenarios/once", scenario("once", text_step("first")), session=KEY)
    assert reply_text(chat(key=OTHER_KEY)) == "Common."
    assert reply_text(chat(key=KEY)) == "first"
    response = control.put("scenarios/once", scenario("once", text_step("second")), session=KEY)
    assert response.status_code == 200
    assert control.get("state", session=KEY).json()["consumed"] == []
    assert reply_text(chat(key=KEY)) == "second"
    assert chat(key=OTHER_KEY).status_code == 404


def test_deleted_private_scenario_leaves_no_consumed_steps(control: Control) -> None:
    for text in ("first", "second"):
        assert control.put(
            "scenarios/once", scenario("once", text_step(text)), session=KEY
        ).status_code in (201,)
        assert reply_text(chat(key=KEY)) == text
        control.delete("scenarios/once", session=KEY)


def test_pushed_step_keeps_the_session_state(control: Control) -> None:
    control.post("scenarios", scenario("queue", text_step("one")), session=KEY)
    assert reply_text(chat(key=KEY)) == "one"
    response = control.post("scenarios/queue/steps", text_step("two"), session=KEY)
    assert (response.status_code, len(response.json()["steps"])) == (201, 2)
    assert reply_text(chat(key=KEY)) == "two"


def test_disabled_private_scenario_hides_the_common_one(control: Control) -> None:
    control.post("scenarios", scenario("greeting", text_step("Common.", consume=False)))
    control.post("scenarios", scenario("greeting", enabled=False), session=KEY)
    assert chat(key=KEY).status_code == 404
    assert reply_text(chat(key=OTHER_KEY)) == "Common."


def test_invalid_private_scenario_is_rejected(control: Control) -> None:
    invalid_scenario = scenario("own", {"produce": {"txet": "x"}})
    response = control.post("scenarios", invalid_scenario, session=KEY)
    assert error_of(response) == (400, "VALIDATION_ERROR", "steps[0].produce.txet")
    assert control.get("scenarios", session=KEY).json()["scenarios"] == []


@pytest.mark.parametrize("session", ["alpha", key_session("alpha")])
def test_session_without_requests_is_found_by_key_and_by_name(
    control: Control, session: str
) -> None:
    # Before the first request the server cannot know whether `alpha` is a header or a key.
    control.post("scenarios", scenario("own", text_step("Mine.", consume=False)), session=session)
    assert reply_text(chat(key="alpha")) == "Mine."
    assert reply_text(chat(key="other", headers={"x-mockllm-session": "alpha"})) == "Mine."


def test_key_of_a_session_without_requests_is_hashed(control: Control) -> None:
    control.post("scenarios", scenario("own"), session="sk-secret-of-somebody")
    assert async_to_sync(services().state.sessions)() == (key_session("sk-secret-of-somebody"),)


def test_named_session_is_listed_by_its_name(control: Control) -> None:
    chat(headers={"x-mockllm-session": "alpha"})
    control.post("scenarios", scenario("own"), session="alpha")
    assert async_to_sync(services().state.sessions)() == ("alpha",)


def test_private_scenario_is_limited_by_the_settings(control: Control, settings: object) -> None:
    settings.MOCKLLM_MAX_TEXT_BYTES = 3_000_000
    long = scenario("own", text_step("x" * 2_500_000))
    assert control.put("scenarios/own", long, session=KEY).status_code == 201
    assert Client().get("/v1/models", headers={"authorization": f"Bearer {KEY}"}).status_code == 200
    assert control.get("scenarios/own", session=KEY).status_code == 200


def test_private_scenario_that_is_invalid_by_now_is_reported_and_left_out(
    control: Control, settings: Any
) -> None:
    documents = [scenario("long", text_step("x" * 100)), scenario("short")]
    control.post("scenarios", {"scenarios": documents}, session=KEY)
    settings.MOCKLLM_MAX_TEXT_BYTES = 50
    scenario_list = control.get("scenarios", session=KEY).json()
    assert [document["name"] for document in scenario_list["scenarios"]] == ["short"]
    (problem,) = scenario_list["problems"]
    assert (problem["scenario"], problem["step"]) == ("long", 1)
    for response in (
        control.get("scenarios/long", session=KEY),
        control.post("scenarios/long/steps", text_step("more"), session=KEY),
    ):
        assert error_of(response) == (409, "CONFLICT", None)
    assert control.put("scenarios/long", scenario("long"), session=KEY).status_code == 200
    assert control.get("scenarios", session=KEY).json()["problems"] == []


def test_steps_pushed_at_the_same_time_all_arrive(db: None) -> None:
    SessionScenarios("crowd").put(_document("queue"))
    with ThreadPoolExecutor(8) as threads:
        list(
            threads.map(
                lambda n: SessionScenarios("crowd").push("queue", text_step(str(n))), range(40)
            )
        )
    steps = SessionScenarios("crowd").get("queue").steps
    assert sorted(str(step.produce.text) for step in steps[1:]) == sorted(map(str, range(40)))


def _document(name: str) -> object:
    from scenarios_app.engine.document import load_documents

    (document,) = load_documents(scenario(name))
    return document
