"""`/control/scenarios`: documents are stored, replaced, deleted, and served immediately."""

from typing import Any
from urllib.parse import quote

import pytest
from django.db import IntegrityError

from scenarios_app.control.stores import append_step
from scenarios_app.engine.document import DocumentError, load_documents
from scenarios_app.models import Scenario, Step
from tests.control.control_client import Control, chat, error_of, reply_text, scenario, text_step

WEATHER = scenario(
    "weather",
    text_step("Look {{ city }}.", match={"messages": [{"role": "user", "contains": "weather"}]}),
    text_step("Sunny.", consume=False),
    priority=10,
    tags=["demo"],
    variables={"city": "Paris"},
)
INVALID_SCENARIO = scenario(
    "broken", {"produce": {"text": "x", "pacing": {"jitter": 2}}}, {"prodce": {}}
)


def test_posted_scenario_answers_the_next_request(control: Control) -> None:
    response = control.post("scenarios", WEATHER)
    assert (response.status_code, response.json()) == (201, WEATHER)
    assert reply_text(chat("the weather")) == "Look Paris."


def test_stored_document_equals_the_posted_one(control: Control) -> None:
    control.post("scenarios", WEATHER)
    assert control.get("scenarios/weather").json() == WEATHER
    assert control.get("scenarios").json() == {"scenarios": [WEATHER], "problems": []}


def test_document_with_several_scenarios_is_added(control: Control) -> None:
    document = {"scenarios": [scenario("one"), scenario("two")]}
    response = control.post("scenarios", document)
    assert (response.status_code, response.json()) == (201, document)
    assert control.get("scenarios").json()["scenarios"] == document["scenarios"]


def test_a_taken_name_is_a_conflict_and_nothing_is_added(control: Control) -> None:
    control.post("scenarios", scenario("one", text_step("first")))
    document = {"scenarios": [scenario("new"), scenario("one", text_step("second"))]}
    response = control.post("scenarios", document)
    assert error_of(response) == (409, "CONFLICT", "name")
    assert "“one”" in response.json()["message"]
    assert control.get("scenarios").json()["scenarios"] == [scenario("one", text_step("first"))]


def test_problems_of_a_document_are_listed_with_their_paths(control: Control) -> None:
    response = control.post("scenarios", INVALID_SCENARIO)
    assert error_of(response) == (400, "VALIDATION_ERROR", "steps[0].produce.pacing.jitter")
    message = response.json()["message"]
    assert "steps[0].produce.pacing.jitter: expected a number from 0 to 1" in message
    assert "steps[1].prodce" in message
    assert not Scenario.objects.exists()


@pytest.mark.parametrize("body", [[], "weather", 1, None, True])
def test_document_that_is_not_an_object_is_rejected(control: Control, body: object) -> None:
    response = control.request("POST", "scenarios", body=b"null" if body is None else body)
    assert error_of(response)[:2] == (400, "VALIDATION_ERROR")


def test_put_creates_then_replaces(control: Control) -> None:
    first = control.put("scenarios/weather", WEATHER)
    assert (first.status_code, first.json()) == (201, WEATHER)
    other = scenario("weather", text_step("Rain."))
    second = control.put("scenarios/weather", other)
    assert (second.status_code, second.json()) == (200, other)
    assert reply_text(chat("the weather")) == "Rain."


@pytest.mark.parametrize("name", ["other", "%0Aweather", "weather%0A", "a/b"])
def test_put_rejects_a_name_other_than_that_in_the_path(control: Control, name: str) -> None:
    response = control.put(f"scenarios/{name}", WEATHER)
    assert error_of(response) == (400, "VALIDATION_ERROR", "name")
    assert not Scenario.objects.exists()


def test_put_rejects_several_scenarios(control: Control) -> None:
    document = {"scenarios": [scenario("one"), scenario("two")]}
    assert error_of(control.put("scenarios/one", document)) == (
        400,
        "VALIDATION_ERROR",
        "scenarios",
    )
    assert control.put("scenarios/one", {"scenarios": [scenario("one")]}).status_code == 201


def test_replacing_a_scenario_resets_it_in_every_session(control: Control) -> None:
    control.post("scenarios", scenario("once", text_step("first")))
    control.post("scenarios", scenario("other", text_step("other"), priority=-1))
    for key in ("sk-one", "sk-two"):
        assert [reply_text(chat(key=key)) for _ in range(2)] == ["first", "other"]
    control.put("scenarios/once", scenario("once", text_step("again")))
    for key in ("sk-one", "sk-two"):
        consumed = control.get("state", session=key).json()["consumed"]
        assert consumed == [{"scenario": "other", "step": "1"}]
        assert reply_text(chat(key=key)) == "again"


def test_replacing_with_the_same_document_resets_sessions(control: Control) -> None:
    document = scenario("once", text_step("first"))
    control.put("scenarios/once", document)
    for _ in range(2):
        assert reply_text(chat()) == "first"
        assert control.put("scenarios/once", document).status_code == 200


def test_delete_removes_a_scenario_and_its_session_state(control: Control) -> None:
    control.post("scenarios", scenario("once"))
    chat()
    response = control.delete("scenarios/once")
    assert (response.status_code, response.content) == (204, b"")
    assert not Step.objects.exists()
    assert chat().status_code == 404
    assert control.get("state", session="sk-of-this-test").json()["consumed"] == []


@pytest.mark.parametrize("method", ["GET", "DELETE"])
@pytest.mark.parametrize("name", ["nobody", "weather/", "a%00b", "x" * 5_000])
def test_unknown_scenario_is_404(control: Control, method: str, name: str) -> None:
    control.post("scenarios", WEATHER)
    assert error_of(control.request(method, f"scenarios/{name}")) == (404, "NOT_FOUND", None)


def test_pushed_step_is_last_and_keeps_session_state(control: Control) -> None:
    control.post("scenarios", scenario("queue", text_step("one"), text_step("two", name="second")))
    assert reply_text(chat()) == "one"
    response = control.post("scenarios/queue/steps", text_step("three"))
    longer = scenario(
        "queue", text_step("one"), text_step("two", name="second"), text_step("three")
    )
    assert (response.status_code, response.json()) == (201, longer)
    assert control.get("scenarios/queue").json() == longer
    assert [reply_text(chat()) for _ in range(2)] == ["two", "three"]
    consumed = control.get("state", session="sk-of-this-test").json()["consumed"]
    assert [step["step"] for step in consumed] == ["1", "second", "3"]


def test_a_pushed_step_follows_steps_whose_order_has_gaps(control: Control) -> None:
    control.post("scenarios", scenario("queue", text_step("one"), text_step("two")))
    Step.objects.filter(order=2).update(order=40)
    control.post("scenarios/queue/steps", text_step("three"))
    texts = [step["produce"]["text"] for step in control.get("scenarios/queue").json()["steps"]]
    assert texts == ["one", "two", "three"]


def test_a_first_step_is_pushed_into_an_empty_scenario(control: Control) -> None:
    control.put("scenarios/empty", {"name": "empty"})
    assert control.post("scenarios/empty/steps", text_step("one")).status_code == 201
    assert reply_text(chat()) == "one"


@pytest.mark.parametrize(
    ("step", "field"),
    [
        ({"produce": {"text": 1}}, "produce.text"),
        ({"match": {"model": {"regex": "("}}, "produce": {"text": ""}}, "match.model.regex"),
        ({"produce": {"text": "{{ nobody }}"}}, "produce.text"),
        ({}, "produce"),
        ([], None),
        ("text", None),
    ],
)
def test_problem_of_a_pushed_step_has_its_place_in_the_step(
    control: Control, step: object, field: str | None
) -> None:
    control.post("scenarios", WEATHER)
    response = control.post("scenarios/weather/steps", step)
    assert error_of(response) == (400, "VALIDATION_ERROR", field)
    assert control.get("scenarios/weather").json() == WEATHER


def test_pushed_step_is_validated_with_the_other_steps(control: Control) -> None:
    turns = scenario("asked", text_step("one", turn=1), select="first_user_message")
    control.post("scenarios", turns)
    response = control.post("scenarios/asked/steps", text_step("again", turn=1))
    assert error_of(response) == (400, "VALIDATION_ERROR", "turn")


def test_pushing_to_an_unknown_scenario_is_404(control: Control) -> None:
    assert error_of(control.post("scenarios/nobody/steps", text_step("x"))) == (
        404,
        "NOT_FOUND",
        None,
    )


def test_concurrent_add_of_the_same_name_is_a_conflict(
    control: Control, monkeypatch: pytest.MonkeyPatch
) -> None:
    def added_meanwhile(_: object) -> None:
        raise IntegrityError

    monkeypatch.setattr("scenarios_app.control.stores.load", added_meanwhile)
    assert error_of(control.post("scenarios", WEATHER)) == (409, "CONFLICT", "name")


def test_problems_of_other_steps_keep_their_paths(control: Control, settings: Any) -> None:
    settings.MOCKLLM_MAX_TEXT_BYTES = 5
    (document,) = load_documents(scenario("long", text_step("too long")))
    with pytest.raises(DocumentError) as error_info:
        append_step(document, text_step("also long"))
    problem_paths = [problem.place for problem in error_info.value.problems]
    assert problem_paths == ["steps[0].produce", "produce"]


def test_invalid_stored_scenario_is_reported_and_left_out(control: Control) -> None:
    control.post("scenarios", scenario("bad", text_step("one"), text_step("two")))
    control.post("scenarios", scenario("good"))
    Step.objects.filter(order=2).update(document={"produce": {"txet": "?"}})
    scenario_list = control.get("scenarios").json()
    assert [document["name"] for document in scenario_list["scenarios"]] == ["good"]
    (problem,) = scenario_list["problems"]
    assert (problem["scenario"], problem["step"], problem["place"]) == ("bad", 2, "produce.txet")
    for response in (
        control.get("scenarios/bad"),
        control.post("scenarios/bad/steps", text_step("three")),
    ):
        assert error_of(response) == (409, "CONFLICT", None)
        assert "bad: step 2: produce.txet" in response.json()["message"]
    assert control.put("scenarios/bad", scenario("bad")).status_code == 200
    assert control.get("scenarios").json()["problems"] == []


@pytest.mark.parametrize("name", ["a b", "ünï ☃", "a/b", "50%", "a?b#c", "..", "steps", "x;y=1"])
def test_scenario_of_any_name_can_be_addressed(control: Control, name: str) -> None:
    path = f"scenarios/{quote(name, safe='')}"
    assert control.put(path, scenario(name)).status_code == 201
    assert control.get(path).json()["name"] == name
    assert control.post(f"{path}/steps", text_step("more")).status_code == 201
    assert control.delete(path).status_code == 204


def test_number_of_queries_is_independent_of_the_number_of_scenarios(
    control: Control, django_assert_max_num_queries: object
) -> None:
    documents = {
        "scenarios": [scenario(f"s{n}", text_step("a"), text_step("b")) for n in range(20)]
    }
    control.post("scenarios", documents)
    with django_assert_max_num_queries(4):
        assert len(control.get("scenarios").json()["scenarios"]) == 20
