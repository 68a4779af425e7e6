"""Explaining and verifying requests that go on from an answer which their session keeps."""

import json
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.test import Client

from scenarios_app.engine.state import key_session
from scenarios_app.journal import journal
from scenarios_app.serving.services import services
from tests.control.control_client import KEY, Control, says, scenario

PATH = "/v1/responses"
HEADERS = {"Authorization": f"Bearer {KEY}"}
TEA = [{"role": "user", "which": "first", "contains": "tea"}]


def ask(**body: Any) -> Any:
    """The answer of the server itself."""
    client = Client(headers={"host": "localhost:5099"})
    return client.post(PATH, body, content_type="application/json", headers=HEADERS).json()


@pytest.fixture
def first(control: Control) -> str:
    """The id of an answer to a question about tea."""
    tea = scenario("tea", says("Tea.", match={"messages": TEA}, consume=False))
    rest = scenario("rest", says("Whatever.", consume=False), priority=-1)
    control.post("scenarios", {"scenarios": [tea, rest]})
    name: str = ask(input="Is there tea?")["id"]
    return name


def explain(control: Control, **body: Any) -> Any:
    response = control.post("explain", {"path": PATH, "headers": HEADERS, "body": body})
    assert response.status_code == 200, response.content
    return response.json()


def test_explaining_reads_stored_responses(control: Control, first: str) -> None:
    found = explain(control, input="And?", previous_response_id=first)
    assert found["winner"] == {"scenario": "tea", "step": "1"}
    assert explain(control, input="And?")["winner"] == {"scenario": "rest", "step": "1"}


def test_explaining_keeps_and_drops_nothing(control: Control, first: str) -> None:
    explain(control, input="And?", previous_response_id=first)
    asked = {"method": "DELETE", "path": f"{PATH}/{first}", "headers": HEADERS}
    assert control.post("explain", asked).status_code == 200
    recall = async_to_sync(services().state.recall_response)
    assert recall(key_session(KEY), first) is not None


def test_explaining_an_unknown_previous_response_shows_the_error(
    control: Control, first: str
) -> None:
    found = explain(control, input="And?", previous_response_id="resp_nobody")
    assert found["winner"] is None
    assert "previous_response_not_found" in json.dumps(found)


def test_explaining_a_request_that_is_refused(control: Control, first: str) -> None:
    assert explain(control, input=1)["winner"] is None


def test_verifying_reads_stored_responses(control: Control, first: str) -> None:
    ask(input="And?", previous_response_id=first)
    ask(input="And?")
    assert journal.flush()
    body = {"session": KEY, "match": {"messages": TEA}, "count": {"equals": 2}}
    found = control.post("verify", body).json()
    assert (found["passed"], found["count"], found["unjudged"]) == (True, 2, [])


def test_requests_with_dropped_responses_are_unjudged(control: Control, first: str) -> None:
    ask(input="And?", previous_response_id=first)
    assert journal.flush()
    async_to_sync(services().state.forget_response)(key_session(KEY), first)
    body = {"session": KEY, "match": {"messages": TEA}, "count": {"equals": 2}}
    found = control.post("verify", body).json()
    assert (found["count"], len(found["unjudged"])) == (1, 1)


def test_reset_drops_stored_responses(control: Control, first: str) -> None:
    control.post("reset", {"session": KEY})
    assert ask(previous_response_id=first)["error"]["code"] == "previous_response_not_found"
