"""Steering: input for a response that is being sent becomes the next request of its lane."""

import json
from typing import Any

import pytest

from scenarios_app.wire.openai.responses import steer
from tests.wire.openai.socket.rules import Rules

CALLS = [
    {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
    {"type": "custom_tool_call", "call_id": "c2", "name": "exec", "input": "ls"},
    {"type": "message", "id": "msg_1"},
]


def rules_with_active_response(**fields: Any) -> Rules:
    """Return rules with one response under way."""
    rules = Rules()
    rules.create(model="m", input="Hi", **fields)
    rules.begin()
    return rules


def test_input_is_accepted_and_continues_the_response_with_its_settings() -> None:
    rules = rules_with_active_response(stream_id="a", store=False, temperature=0)
    event = rules.steer(value="Stop.")
    assert (event["type"], event["stream_id"]) == ("response.steer.accepted", "a")
    assert event["steer"]["previous_response_id"] == "resp_1"
    second_event = rules.steer(value=[{"role": "user", "content": "Now."}])
    assert second_event["steer"]["id"] != event["steer"]["id"]
    assert second_event["sequence_number"] == event["sequence_number"] + 1
    rules.create(model="later", stream_id="a")
    rules.complete()
    (successor,) = rules.started
    body = json.loads(successor.body)
    assert [item["content"] for item in body["input"]] == ["Stop.", "Now."]
    assert (body["previous_response_id"], body["temperature"]) == ("resp_1", 0)
    assert successor.recall("resp_1") is not None
    rules.complete("resp_2")
    assert json.loads(rules.started[0].body)["model"] == "later"


def test_input_waits_for_the_results_of_tools() -> None:
    rules = rules_with_active_response()
    accepted_input = rules.steer()["steer"]
    rules.complete(output=CALLS)
    (event,) = rules.sent
    assert event["type"] == "response.steer.pending"
    assert (event["steer"], event["reason"]) == (accepted_input, "waiting_for_required_input")
    assert event["required_input"] == [
        {"type": "function_call_output", "call_id": "c1", "name": "f"},
        {"type": "custom_tool_call_output", "call_id": "c2"},
    ]
    result = {"type": "function_call_output", "call_id": "c1", "output": "1"}
    for expected in (["Stop.", None], [None]):
        rules.create(previous_response_id="resp_1", input=[result])
        items = json.loads(rules.started[-1].body)["input"]
        assert [item.get("content") for item in items] == expected
        rules.complete("resp_2")


@pytest.mark.parametrize("fields", [{}, {"input": None}])
def test_waiting_input_is_all_of_a_request_without_input(fields: Any) -> None:
    rules = rules_with_active_response()
    rules.steer()
    rules.complete(output=CALLS)
    rules.create(previous_response_id="resp_1", **fields)
    (item,) = json.loads(rules.started[-1].body)["input"]
    assert item["content"] == "Stop."


def test_oldest_waiting_input_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steer, "MAX_WAITING", 1)
    rules = rules_with_active_response()
    for name in ("resp_1", "resp_2"):
        rules.steer(name)
        rules.complete(name, output=CALLS)
        rules.create(model="m")
        rules.begin("resp_2")
    rules.create(previous_response_id="resp_1", stream_id="a")
    assert "input" not in json.loads(rules.started[-1].body)


def test_failed_response_returns_its_input() -> None:
    rules = rules_with_active_response()
    accepted_input = rules.steer()["steer"]
    rules.fail()
    (event,) = rules.sent
    assert (event["type"], event["error"]["code"]) == (
        "response.steer.failed",
        "successor_creation_failed",
    )
    assert event["steer"] == {**accepted_input, "input": "Stop."}


def test_failed_request_returns_the_waiting_input() -> None:
    rules = rules_with_active_response()
    accepted_input = rules.steer()["steer"]
    rules.complete(output=CALLS)
    rules.create(previous_response_id="resp_1", input="result")
    rules.fail()
    assert rules.sent[-1]["steer"] == {**accepted_input, "input": "Stop."}


def test_failed_successor_reports_its_input() -> None:
    rules = rules_with_active_response()
    rules.steer()
    rules.complete()
    rules.fail()
    (event,) = rules.sent
    assert event["error"]["code"] == "successor_creation_failed"


def test_successor_that_is_answered_sends_nothing_about_steering() -> None:
    rules = rules_with_active_response()
    rules.steer()
    rules.complete()
    rules.complete("resp_2")
    assert rules.sent == []


@pytest.mark.parametrize(
    ("name", "code"),
    [("resp_0", "response_already_completed"), ("resp_9", "response_not_found")],
)
def test_response_that_is_not_under_way_cannot_be_steered(name: str, code: str) -> None:
    rules = Rules()
    rules.create(model="m")
    rules.complete("resp_0")
    rules.create(model="m")
    event = rules.steer(name)
    assert (event["type"], event["error"]["code"]) == ("response.steer.failed", code)
    assert event["steer"] == {"previous_response_id": name, "input": "Stop."}
    assert "stream_id" not in event


@pytest.mark.parametrize(
    ("name", "value", "fields"),
    [
        ("resp_1", "", {}),
        ("resp_1", [], {}),
        ("resp_1", None, {}),
        ("resp_1", ["text"], {}),
        ("resp_1", [{"role": "assistant", "content": "a"}], {}),
        ("resp_1", [{"role": "user", "content": "a", "name": "b"}], {}),
        ("resp_1", [{"type": "reasoning"}], {}),
        ("resp_1", "Stop.", {"stream_id": "a"}),
        (None, "Stop.", {}),
    ],
)
def test_invalid_steering_input_is_rejected(name: Any, value: Any, fields: Any) -> None:
    event = rules_with_active_response().steer(name, value, **fields)
    assert event["error"]["code"] == "invalid_input"


def test_function_result_is_accepted_as_steering_input() -> None:
    result = {"type": "function_call_output", "call_id": "c", "output": "1"}
    assert rules_with_active_response().steer(value=[result])["type"] == "response.steer.accepted"


@pytest.mark.parametrize("field", ["conversation", "context_management"])
def test_response_of_a_conversation_cannot_be_steered(field: str) -> None:
    event = rules_with_active_response(**{field: "any"}).steer()
    assert event["error"]["code"] == "steering_not_supported"


def test_response_takes_a_limited_number_of_inputs() -> None:
    rules = rules_with_active_response()
    for _ in range(steer.MAX_STEERS):
        assert rules.steer()["type"] == "response.steer.accepted"
    assert rules.steer()["error"]["code"] == "too_many_pending_steers"
