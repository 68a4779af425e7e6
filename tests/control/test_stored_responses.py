"""Explain and verify requests that refer to a stored response of their session."""

import json
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.test import Client

from scenarios_app.engine.state import key_session
from scenarios_app.journal import journal
from scenarios_app.serving.services import services
from tests.control.control_client import KEY, Control, scenario, text_step

PATH = "/v1/responses"
HEADERS = {"Authorization": f"Bearer {KEY}"}
TEA = [{"role": "user", "which": "first", "contains": "tea"}]


def create_response(**body: Any) -> Any:
    """Send a Responses request and return the JSON of its response."""
    client = Client(headers={"host": "localhost:5099"})
    return client.post(PATH, body, content_type="application/json", headers=HEADERS).json()


@pytest.fixture
def first_response_id(control: Control) -> str:
    """Create a response that matched the scenario `tea`, and return its id."""
    tea = scenario("tea", text_step("Tea.", match={"messages": TEA}, consume=False))
    catch_all = scenario("rest", text_step("Whatever.", consume=False), priority=-1)
    control.post("scenarios", {"scenarios": [tea, catch_all]})
    response_id: str = create_response(input="Is there tea?")["id"]
    return response_id


def explain(control: Control, **body: Any) -> Any:
    response = control.post("explain", {"path": PATH, "headers": HEADERS, "body": body})
    assert response.status_code == 200, response.content
    return response.json()


def test_explaining_reads_stored_responses(control: Control, first_response_id: str) -> None:
    explanation = explain(control, input="And?", previous_response_id=first_response_id)
    assert explanation["winner"] == {"scenario": "tea", "step": "1"}
    assert explain(control, input="And?")["winner"] == {"scenario": "rest", "step": "1"}


def test_explaining_stores_and_deletes_no_response(
    control: Control, first_response_id: str
) -> None:
    explain(control, input="And?", previous_response_id=first_response_id)
    request_data = {"method": "DELETE", "path": f"{PATH}/{first_response_id}", "headers": HEADERS}
    assert control.post("explain", request_data).status_code == 200
    recall_response = async_to_sync(services().state.recall_response)
    assert recall_response(key_session(KEY), first_response_id) is not None


def test_explaining_an_unknown_previous_response_shows_the_error(
    control: Control, first_response_id: str
) -> None:
    explanation = explain(control, input="And?", previous_response_id="resp_nobody")
    assert explanation["winner"] is None
    assert "previous_response_not_found" in json.dumps(explanation)


def test_explaining_a_rejected_request(control: Control, first_response_id: str) -> None:
    assert explain(control, input=1)["winner"] is None


def test_verifying_reads_stored_responses(control: Control, first_response_id: str) -> None:
    create_response(input="And?", previous_response_id=first_response_id)
    create_response(input="And?")
    assert journal.flush()
    body = {"session": KEY, "match": {"messages": TEA}, "count": {"equals": 2}}
    result = control.post("verify", body).json()
    assert (result["passed"], result["count"], result["unjudged"]) == (True, 2, [])


def test_requests_with_dropped_responses_are_unjudged(
    control: Control, first_response_id: str
) -> None:
    create_response(input="And?", previous_response_id=first_response_id)
    assert journal.flush()
    async_to_sync(services().state.forget_response)(key_session(KEY), first_response_id)
    body = {"session": KEY, "match": {"messages": TEA}, "count": {"equals": 2}}
    result = control.post("verify", body).json()
    assert (result["count"], len(result["unjudged"])) == (1, 1)


def test_reset_drops_stored_responses(control: Control, first_response_id: str) -> None:
    control.post("reset", {"session": KEY})
    assert (
        create_response(previous_response_id=first_response_id)["error"]["code"]
        == "previous_response_not_found"
    )
