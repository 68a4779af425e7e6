"""Invalid arguments are tool errors with one message; malformed messages are protocol errors."""

import json
from typing import Any

import pytest

from scenarios_app.control.mcp.view import MAX_MESSAGE_BYTES
from scenarios_app.models import Step
from tests.control.control_client import Control, chat, error_of, scenario, text_step
from tests.control.mcp.tool_caller import ToolCaller

pytestmark = pytest.mark.django_db
UNKNOWN_ID = "00000000-0000-4000-8000-000000000000"
MISTAKES = [
    ("read_scenario", {"name": "a"}, "There is no scenario “a”."),
    ("delete_scenario", {"name": "a"}, "There is no scenario “a”."),
    ("play", {"scenario": "a"}, "There is no scenario “a”."),
    ("play", {}, "Send a scenario, a conversation, or both."),
    ("play", {"conversation": {"turns": []}}, "turns"),
    ("play", {"conversation": [1]}, "conversation: Expected a dictionary"),
    ("read_scenario", {}, "name: missing"),
    ("read_scenario", {"name": 1}, "name: expected a string"),
    (
        "read_scenario",
        {"label": "a", "name": "a"},
        "label: unknown; known are session, name, first_",
    ),
    ("list_scenarios", {"limit": 0}, "limit: expected a whole number from 1 up"),
    ("read_request", {"request": UNKNOWN_ID}, f"The journal has no request {UNKNOWN_ID}."),
    ("read_request", {"request": "x"}, "request: "),
    ("make_step", {"request": UNKNOWN_ID}, "Send text or produce, one of the two."),
    ("make_step", {"request": UNKNOWN_ID, "text": "a"}, "The journal has no request"),
    ("explain", {}, "Send the id of a request or a path, one of the two."),
    ("explain", {"path": "/elsewhere"}, "path: no provider answers /elsewhere"),
    (
        "add_scenario",
        {"document": {"name": "a", "stps": []}},
        'stps: unknown key, did you mean "st',
    ),
    ("change_scenario", {"name": "b", "document": scenario("a")}, "name: expected 'b'"),
    ("verdict", {"scenarios": "a"}, "There is no enabled scenario “a”."),
    ("verdict", {"ignore": "a"}, "ignore: there is no rule 'a'"),
    ("coverage", {"scenarios": "a"}, "There is no enabled scenario “a”."),
    ("start_recording", {}, "No upstream is set; add one to MOCKLLM_UPSTREAMS."),
    ("start_recording", {"mode": "x"}, "mode: "),
    ("stop_recording", {"session": "s"}, "There is no recording of session “s”."),
]


@pytest.mark.parametrize(("tool", "arguments", "message"), MISTAKES)
def test_mistake_is_a_tool_error_that_says_what_to_correct(
    tools: ToolCaller, tool: str, arguments: Any, message: str
) -> None:
    assert message in tools.error(tool, **arguments)


def test_taken_name_is_a_tool_error(tools: ToolCaller) -> None:
    tools.call("add_scenario", document=scenario("a"))
    assert "There is a scenario of this name already" in tools.error(
        "add_scenario", document=scenario("a")
    )


def test_answer_that_is_invalid_names_its_place_in_the_step(tools: ToolCaller) -> None:
    chat()
    (line,) = tools.call("unmatched")["requests"]
    message = tools.error("make_step", request=line["id"], produce={"txt": "x"})
    assert message.startswith("produce.txt: unknown key")
    assert tools.call("list_scenarios")["scenarios"] == []


def test_name_of_an_invalid_scenario_is_taken(tools: ToolCaller) -> None:
    tools.call("add_scenario", document=scenario("table for tonight"))
    Step.objects.update(document={"produce": {"txet": "?"}})
    chat("A table for tonight")
    (line,) = tools.call("unmatched")["requests"]
    created_step = tools.call("make_step", request=line["id"], text="Booked.")
    assert created_step["scenario"] == "table for tonight (2)"
    second_call = {"request": line["id"], "text": "Booked.", "scenario": "table for tonight"}
    assert "What is stored is no valid document" in tools.error("make_step", **second_call)


def test_step_behind_another_one_is_reported(tools: ToolCaller) -> None:
    chat()
    (line,) = tools.call("unmatched")["requests"]
    tools.call(
        "add_scenario", document=scenario("first", text_step("a", consume=False), priority=9)
    )
    created_step = tools.call("make_step", request=line["id"], text="b")
    assert not created_step["answers"] and created_step["winner"] == {
        "scenario": "first",
        "step": "1",
    }


def test_null_counts_as_left_out(tools: ToolCaller) -> None:
    assert tools.call("list_scenarios", session=None, limit=None)["scenarios"] == []


def test_failure_of_the_server_is_a_tool_error_without_details(
    tools: ToolCaller, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr("scenarios_app.control.requests.flush_journal", fail)
    assert tools.error("unmatched") == "The server failed; its log says why."


def test_unknown_tool_is_a_protocol_error(tools: ToolCaller) -> None:
    answer = tools.send("tools/call", {"name": "nope", "arguments": {}}).json()
    assert answer["error"] == {"code": -32602, "message": "There is no tool 'nope'."}


def test_broken_message_is_a_protocol_error(tools: ToolCaller) -> None:
    answer = tools.post(b"{")
    assert answer.status_code == 400
    assert json.loads(answer.content)["error"]["code"] == -32700


def test_form_is_refused_with_the_content_type_to_send(control: Control) -> None:
    response = control.client.post("/control/mcp", b"{}", "application/x-www-form-urlencoded")
    assert error_of(response) == (415, "VALIDATION_ERROR", None)
    assert "Content-Type: application/json" in response.json()["message"]


def test_large_message_is_refused(tools: ToolCaller) -> None:
    assert error_of(tools.post(b" " * (MAX_MESSAGE_BYTES + 1)))[:1] == (413,)


def test_server_without_the_sdk_names_the_missing_extra(
    tools: ToolCaller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scenarios_app.control.mcp.view.find_spec", lambda name: None)
    response = tools.send("tools/list")
    assert error_of(response) == (503, "SERVICE_UNAVAILABLE", None)
    assert "mockllm-server[mcp]" in response.json()["message"]
