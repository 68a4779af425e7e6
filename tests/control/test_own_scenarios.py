"""Scenarios of one session alone: `?session=` on every route of scenarios."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.test import Client

from scenarios_app.control.stores import SessionScenarios
from scenarios_app.engine.state import key_session
from scenarios_app.models import Scenario
from scenarios_app.serving.services import services
from tests.control.control_client import Control, chat, error_of, reply_text, says, scenario

MINE = "sk-mine"
OTHER = "sk-other"


def test_a_sessions_own_scenario_answers_in_that_session_alone(control: Control) -> None:
    response = control.post("scenarios", scenario("own", says("Mine.")), session=MINE)
    assert (response.status_code, response.json()) == (201, scenario("own", says("Mine.")))
    assert reply_text(chat(key=MINE)) == "Mine."
    assert chat(key=OTHER).status_code == 404
    assert not Scenario.objects.exists()


def test_private_scenario_hides_the_common_one(control: Control) -> None:
    control.post("scenarios", scenario("greeting", says("Common.", consume=False)))
    own = scenario("greeting", says("Mine.", consume=False))
    assert control.post("scenarios", own, session=MINE).status_code == 201
    assert (reply_text(chat(key=MINE)), reply_text(chat(key=OTHER))) == ("Mine.", "Common.")
    assert control.delete("scenarios/greeting", session=MINE).status_code == 204
    assert reply_text(chat(key=MINE)) == "Common."


def test_sessions_may_have_scenarios_of_one_name(control: Control) -> None:
    for key in (MINE, OTHER):
        control.post("scenarios", scenario("own", says(key)), session=key)
    assert [reply_text(chat(key=key)) for key in (MINE, OTHER)] == [MINE, OTHER]


def test_routes_of_a_session_see_its_own_scenarios_alone(control: Control) -> None:
    control.post("scenarios", scenario("common"))
    control.post("scenarios", {"scenarios": [scenario("b"), scenario("a")]}, session=MINE)
    listed = control.get("scenarios", session=MINE).json()
    assert listed == {"scenarios": [scenario("a"), scenario("b")], "problems": []}
    assert control.get("scenarios/a", session=MINE).json() == scenario("a")
    for response in (
        control.get("scenarios/common", session=MINE),
        control.delete("scenarios/common", session=MINE),
        control.post("scenarios/common/steps", says("x"), session=MINE),
        control.get("scenarios/a"),
        control.get("scenarios/a", session=OTHER),
    ):
        assert error_of(response) == (404, "NOT_FOUND", None)


def test_a_name_that_the_session_has_is_a_conflict_and_nothing_is_added(control: Control) -> None:
    control.post("scenarios", scenario("own"), session=MINE)
    both = {"scenarios": [scenario("new"), scenario("own")]}
    assert error_of(control.post("scenarios", both, session=MINE)) == (409, "CONFLICT", "name")
    listed = control.get("scenarios", session=MINE).json()["scenarios"]
    assert listed == [scenario("own")]


def test_replacing_a_private_scenario_resets_its_session_only(control: Control) -> None:
    control.post("scenarios", scenario("once", says("Common.")))
    control.put("scenarios/once", scenario("once", says("first")), session=MINE)
    assert reply_text(chat(key=OTHER)) == "Common."
    assert reply_text(chat(key=MINE)) == "first"
    replaced = control.put("scenarios/once", scenario("once", says("second")), session=MINE)
    assert replaced.status_code == 200
    assert control.get("state", session=MINE).json()["consumed"] == []
    assert reply_text(chat(key=MINE)) == "second"
    assert chat(key=OTHER).status_code == 404


def test_deleted_private_scenario_leaves_no_consumed_steps(control: Control) -> None:
    for text in ("first", "second"):
        assert control.put(
            "scenarios/once", scenario("once", says(text)), session=MINE
        ).status_code in (201,)
        assert reply_text(chat(key=MINE)) == text
        control.delete("scenarios/once", session=MINE)


def test_pushing_keeps_what_the_session_knows(control: Control) -> None:
    control.post("scenarios", scenario("queue", says("one")), session=MINE)
    assert reply_text(chat(key=MINE)) == "one"
    response = control.post("scenarios/queue/steps", says("two"), session=MINE)
    assert (response.status_code, len(response.json()["steps"])) == (201, 2)
    assert reply_text(chat(key=MINE)) == "two"


def test_disabled_private_scenario_hides_the_common_one(control: Control) -> None:
    control.post("scenarios", scenario("greeting", says("Common.", consume=False)))
    control.post("scenarios", scenario("greeting", enabled=False), session=MINE)
    assert chat(key=MINE).status_code == 404
    assert reply_text(chat(key=OTHER)) == "Common."


def test_documents_are_checked_as_common_ones_are(control: Control) -> None:
    broken = scenario("own", {"produce": {"txet": "x"}})
    response = control.post("scenarios", broken, session=MINE)
    assert error_of(response) == (400, "VALIDATION_ERROR", "steps[0].produce.txet")
    assert control.get("scenarios", session=MINE).json()["scenarios"] == []


@pytest.mark.parametrize("given", ["alpha", key_session("alpha")])
def test_a_session_that_has_not_begun_is_named_by_key_or_by_name(
    control: Control, given: str
) -> None:
    """Who pushes first cannot be asked whether `alpha` is a header or a key."""
    control.post("scenarios", scenario("own", says("Mine.", consume=False)), session=given)
    assert reply_text(chat(key="alpha")) == "Mine."
    assert reply_text(chat(key="other", headers={"x-mockllm-session": "alpha"})) == "Mine."


def test_a_key_whose_session_has_not_begun_is_shown_nowhere(control: Control) -> None:
    control.post("scenarios", scenario("own"), session="sk-secret-of-somebody")
    assert async_to_sync(services().state.sessions)() == (key_session("sk-secret-of-somebody"),)


def test_a_session_that_began_under_a_name_is_called_by_it(control: Control) -> None:
    chat(headers={"x-mockllm-session": "alpha"})
    control.post("scenarios", scenario("own"), session="alpha")
    assert async_to_sync(services().state.sessions)() == ("alpha",)


def test_private_scenario_is_limited_by_the_settings(control: Control, settings: object) -> None:
    settings.MOCKLLM_MAX_TEXT_BYTES = 3_000_000  # type: ignore[attr-defined]
    long = scenario("own", says("x" * 2_500_000))
    assert control.put("scenarios/own", long, session=MINE).status_code == 201
    assert (
        Client().get("/v1/models", headers={"authorization": f"Bearer {MINE}"}).status_code == 200
    )
    assert control.get("scenarios/own", session=MINE).status_code == 200


def test_private_scenario_that_is_invalid_by_now_is_reported_and_left_out(
    control: Control, settings: Any
) -> None:
    documents = [scenario("long", says("x" * 100)), scenario("short")]
    control.post("scenarios", {"scenarios": documents}, session=MINE)
    settings.MOCKLLM_MAX_TEXT_BYTES = 50
    listed = control.get("scenarios", session=MINE).json()
    assert [document["name"] for document in listed["scenarios"]] == ["short"]
    (problem,) = listed["problems"]
    assert (problem["scenario"], problem["step"]) == ("long", 1)
    for response in (
        control.get("scenarios/long", session=MINE),
        control.post("scenarios/long/steps", says("more"), session=MINE),
    ):
        assert error_of(response) == (409, "CONFLICT", None)
    assert control.put("scenarios/long", scenario("long"), session=MINE).status_code == 200
    assert control.get("scenarios", session=MINE).json()["problems"] == []


def test_steps_pushed_at_the_same_time_all_arrive(db: None) -> None:
    SessionScenarios("crowd").put(_document("queue"))
    with ThreadPoolExecutor(8) as threads:
        list(
            threads.map(lambda n: SessionScenarios("crowd").push("queue", says(str(n))), range(40))
        )
    steps = SessionScenarios("crowd").get("queue").steps
    assert sorted(str(step.produce.text) for step in steps[1:]) == sorted(map(str, range(40)))


def _document(name: str) -> object:
    from scenarios_app.engine.document import load_documents

    (document,) = load_documents(scenario(name))
    return document
