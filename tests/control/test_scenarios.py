"""Scenario documents over HTTP: kept, replaced, deleted, and seen by the very next request."""

from typing import Any
from urllib.parse import quote

import pytest
from django.db import IntegrityError

from scenarios_app.control.stores import append_step
from scenarios_app.engine.document import DocumentError, load_documents
from scenarios_app.models import Scenario, Step
from tests.control.control_client import Control, chat, error_of, reply_text, says, scenario

WEATHER = scenario(
    "weather",
    says("Look {{ city }}.", match={"messages": [{"role": "user", "contains": "weather"}]}),
    says("Sunny.", consume=False),
    priority=10,
    tags=["demo"],
    variables={"city": "Paris"},
)
BROKEN = scenario("broken", {"produce": {"text": "x", "pacing": {"jitter": 2}}}, {"prodce": {}})


def test_a_posted_scenario_is_answered_with_by_the_next_request(control: Control) -> None:
    response = control.post("scenarios", WEATHER)
    assert (response.status_code, response.json()) == (201, WEATHER)
    assert reply_text(chat("the weather")) == "Look Paris."


def test_the_document_that_comes_back_is_the_one_that_was_sent(control: Control) -> None:
    control.post("scenarios", WEATHER)
    assert control.get("scenarios/weather").json() == WEATHER
    assert control.get("scenarios").json() == {"scenarios": [WEATHER], "problems": []}


def test_a_document_of_several_scenarios_is_added_whole(control: Control) -> None:
    both = {"scenarios": [scenario("one"), scenario("two")]}
    response = control.post("scenarios", both)
    assert (response.status_code, response.json()) == (201, both)
    assert control.get("scenarios").json()["scenarios"] == both["scenarios"]


def test_a_taken_name_is_a_conflict_and_nothing_is_added(control: Control) -> None:
    control.post("scenarios", scenario("one", says("first")))
    both = {"scenarios": [scenario("new"), scenario("one", says("second"))]}
    response = control.post("scenarios", both)
    assert error_of(response) == (409, "CONFLICT", "name")
    assert "“one”" in response.json()["message"]
    assert control.get("scenarios").json()["scenarios"] == [scenario("one", says("first"))]


def test_problems_of_a_document_are_listed_with_their_places(control: Control) -> None:
    response = control.post("scenarios", BROKEN)
    assert error_of(response) == (400, "VALIDATION_ERROR", "steps[0].produce.pacing.jitter")
    message = response.json()["message"]
    assert "steps[0].produce.pacing.jitter: expected a number from 0 to 1" in message
    assert "steps[1].prodce" in message
    assert not Scenario.objects.exists()


@pytest.mark.parametrize("body", [[], "weather", 1, None, True])
def test_a_document_that_is_no_object_is_refused(control: Control, body: object) -> None:
    response = control.ask("POST", "scenarios", body=b"null" if body is None else body)
    assert error_of(response)[:2] == (400, "VALIDATION_ERROR")


def test_put_creates_then_replaces(control: Control) -> None:
    first = control.put("scenarios/weather", WEATHER)
    assert (first.status_code, first.json()) == (201, WEATHER)
    other = scenario("weather", says("Rain."))
    second = control.put("scenarios/weather", other)
    assert (second.status_code, second.json()) == (200, other)
    assert reply_text(chat("the weather")) == "Rain."


@pytest.mark.parametrize("name", ["other", "%0Aweather", "weather%0A", "a/b"])
def test_put_wants_the_name_of_the_path(control: Control, name: str) -> None:
    response = control.put(f"scenarios/{name}", WEATHER)
    assert error_of(response) == (400, "VALIDATION_ERROR", "name")
    assert not Scenario.objects.exists()


def test_put_takes_one_scenario_alone(control: Control) -> None:
    both = {"scenarios": [scenario("one"), scenario("two")]}
    assert error_of(control.put("scenarios/one", both)) == (400, "VALIDATION_ERROR", "scenarios")
    assert control.put("scenarios/one", {"scenarios": [scenario("one")]}).status_code == 201


def test_replacing_makes_every_session_forget_the_scenario(control: Control) -> None:
    control.post("scenarios", scenario("once", says("first")))
    control.post("scenarios", scenario("other", says("other"), priority=-1))
    for key in ("sk-one", "sk-two"):
        assert [reply_text(chat(key=key)) for _ in range(2)] == ["first", "other"]
    control.put("scenarios/once", scenario("once", says("again")))
    for key in ("sk-one", "sk-two"):
        consumed = control.get("state", session=key).json()["consumed"]
        assert consumed == [{"scenario": "other", "step": "1"}]
        assert reply_text(chat(key=key)) == "again"


def test_replacing_by_the_same_document_makes_sessions_forget_too(control: Control) -> None:
    once = scenario("once", says("first"))
    control.put("scenarios/once", once)
    for _ in range(2):
        assert reply_text(chat()) == "first"
        assert control.put("scenarios/once", once).status_code == 200


def test_delete_removes_a_scenario_and_what_sessions_know_of_it(control: Control) -> None:
    control.post("scenarios", scenario("once"))
    chat()
    response = control.delete("scenarios/once")
    assert (response.status_code, response.content) == (204, b"")
    assert not Step.objects.exists()
    assert chat().status_code == 404
    assert control.get("state", session="sk-of-this-test").json()["consumed"] == []


@pytest.mark.parametrize("method", ["GET", "DELETE"])
@pytest.mark.parametrize("name", ["nobody", "weather/", "a%00b", "x" * 5_000])
def test_a_scenario_that_is_not_there_is_not_found(
    control: Control, method: str, name: str
) -> None:
    control.post("scenarios", WEATHER)
    assert error_of(control.ask(method, f"scenarios/{name}")) == (404, "NOT_FOUND", None)


def test_a_pushed_step_comes_last_and_sessions_keep_what_they_know(control: Control) -> None:
    control.post("scenarios", scenario("queue", says("one"), says("two", name="second")))
    assert reply_text(chat()) == "one"
    response = control.post("scenarios/queue/steps", says("three"))
    longer = scenario("queue", says("one"), says("two", name="second"), says("three"))
    assert (response.status_code, response.json()) == (201, longer)
    assert control.get("scenarios/queue").json() == longer
    assert [reply_text(chat()) for _ in range(2)] == ["two", "three"]
    consumed = control.get("state", session="sk-of-this-test").json()["consumed"]
    assert [step["step"] for step in consumed] == ["1", "second", "3"]


def test_a_pushed_step_follows_steps_whose_order_has_gaps(control: Control) -> None:
    control.post("scenarios", scenario("queue", says("one"), says("two")))
    Step.objects.filter(order=2).update(order=40)
    control.post("scenarios/queue/steps", says("three"))
    texts = [step["produce"]["text"] for step in control.get("scenarios/queue").json()["steps"]]
    assert texts == ["one", "two", "three"]


def test_a_first_step_is_pushed_into_an_empty_scenario(control: Control) -> None:
    control.put("scenarios/empty", {"name": "empty"})
    assert control.post("scenarios/empty/steps", says("one")).status_code == 201
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


def test_a_pushed_step_must_suit_the_others(control: Control) -> None:
    turns = scenario("asked", says("one", turn=1), select="first_user_message")
    control.post("scenarios", turns)
    response = control.post("scenarios/asked/steps", says("again", turn=1))
    assert error_of(response) == (400, "VALIDATION_ERROR", "turn")


def test_pushing_to_a_scenario_that_is_not_there_is_not_found(control: Control) -> None:
    assert error_of(control.post("scenarios/nobody/steps", says("x"))) == (404, "NOT_FOUND", None)


def test_concurrent_add_of_the_same_name_is_a_conflict(
    control: Control, monkeypatch: pytest.MonkeyPatch
) -> None:
    def added_meanwhile(_: object) -> None:
        raise IntegrityError

    monkeypatch.setattr("scenarios_app.control.stores.load", added_meanwhile)
    assert error_of(control.post("scenarios", WEATHER)) == (409, "CONFLICT", "name")


def test_a_step_is_not_blamed_for_what_is_wrong_with_others(
    control: Control, settings: Any
) -> None:
    settings.MOCKLLM_MAX_TEXT_BYTES = 5
    (document,) = load_documents(scenario("long", says("too long")))
    with pytest.raises(DocumentError) as raised:
        append_step(document, says("also long"))
    places = [problem.place for problem in raised.value.problems]
    assert places == ["steps[0].produce", "produce"]


def test_a_stored_scenario_that_is_no_document_is_reported_and_left_out(control: Control) -> None:
    control.post("scenarios", scenario("bad", says("one"), says("two")))
    control.post("scenarios", scenario("good"))
    Step.objects.filter(order=2).update(answer_extra={"txet": "?"})
    listed = control.get("scenarios").json()
    assert [document["name"] for document in listed["scenarios"]] == ["good"]
    (problem,) = listed["problems"]
    assert (problem["scenario"], problem["step"], problem["place"]) == ("bad", 2, "produce.txet")
    for response in (
        control.get("scenarios/bad"),
        control.post("scenarios/bad/steps", says("three")),
    ):
        assert error_of(response) == (409, "CONFLICT", None)
        assert "bad: step 2: produce.txet" in response.json()["message"]
    assert control.put("scenarios/bad", scenario("bad")).status_code == 200
    assert control.get("scenarios").json()["problems"] == []


@pytest.mark.parametrize("name", ["a b", "ünï ☃", "a/b", "50%", "a?b#c", "..", "steps", "x;y=1"])
def test_any_name_is_a_path(control: Control, name: str) -> None:
    path = f"scenarios/{quote(name, safe='')}"
    assert control.put(path, scenario(name)).status_code == 201
    assert control.get(path).json()["name"] == name
    assert control.post(f"{path}/steps", says("more")).status_code == 201
    assert control.delete(path).status_code == 204


def test_listing_asks_the_database_no_more_often_for_more_scenarios(
    control: Control, django_assert_max_num_queries: object
) -> None:
    documents = {"scenarios": [scenario(f"s{n}", says("a"), says("b")) for n in range(20)]}
    control.post("scenarios", documents)
    with django_assert_max_num_queries(4):  # type: ignore[operator]
        assert len(control.get("scenarios").json()["scenarios"]) == 20
