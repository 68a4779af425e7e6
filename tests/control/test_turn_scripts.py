"""Turn scripts (requirement 003) over the control API, and the session state they leave."""

from typing import Any

import pytest

from tests.control.control_client import KEY, Control, chat, error_of, reply_text
from tests.engine.turn_scripts import convert, final_report_response, script, text_response, turn

TWO = script(
    turn(text_response("one"), expectedTemperature=0.5),
    turn(text_response("two"), 2),
    id="run-test-1",
)
PATH = "scenarios/run-test-1"


def test_put_turn_script_returns_a_scenario_document(control: Control) -> None:
    response = control.put(PATH, TWO)
    assert (response.status_code, response.json()) == (201, convert(TWO))
    assert control.get(PATH).json() == convert(TWO)
    assert reply_text(chat("run-test-1", temperature=0.5)) == "one"
    replacement = script(turn(text_response("anew")), id="run-test-1")
    assert control.put(PATH, replacement).status_code == 200
    assert reply_text(chat("run-test-1")) == "anew"


def test_post_accepts_scenarios_and_turn_scripts(control: Control) -> None:
    scenario_document = {"name": "ours", "steps": [{"produce": {"text": "x"}}]}
    assert control.post("scenarios", TWO).status_code == 201
    several = {"scenarios": [script(turn(), id="a"), scenario_document]}
    assert control.post("scenarios", several).status_code == 201
    assert control.post("scenarios", [script(turn(), id="b")]).status_code == 201
    scenarios = control.get("scenarios").json()["scenarios"]
    assert [document["name"] for document in scenarios] == ["a", "b", "ours", "run-test-1"]
    assert error_of(control.post("scenarios", TWO)) == (409, "CONFLICT", "name")


WRONG: list[tuple[Any, str]] = [
    ({**TWO, "id": "other"}, "id"),
    ({**TWO, "turn": []}, "turn"),
    (
        script(turn(final_report_response("x", format="md")), id="run-test-1"),
        "turns[0].response.format",
    ),
    ([TWO, script(id="b")], "scenarios"),
]


@pytest.mark.parametrize(("document", "field"), WRONG)
def test_invalid_turn_script_is_rejected_with_its_path(
    control: Control, document: Any, field: str
) -> None:
    assert error_of(control.put(PATH, document)) == (400, "VALIDATION_ERROR", field)
    assert error_of(control.get(PATH)) == (404, "NOT_FOUND", None)


def test_session_can_have_a_private_turn_script(control: Control) -> None:
    control.put(PATH, TWO)
    private_script = script(turn(text_response("mine")), id="run-test-1")
    assert control.put(PATH, private_script, session=KEY).status_code == 201
    assert reply_text(chat("run-test-1")) == "mine"
    assert reply_text(chat("run-test-1", key="another", temperature=0.5)) == "one"


def test_violations_mark_the_session_unsuccessful(control: Control) -> None:
    control.put(PATH, TWO)
    chat("run-test-1", temperature=0.5)
    before = control.get("state", session=KEY).json()
    assert (before["violations"], before["passed"]) == ([], True)
    chat("run-test-1")
    chat("nobody", model="test-llm")
    after = control.get("state", session=KEY).json()
    assert after["violations"] == [
        "Expected temperature 0.5 but received undefined",
        "Scenario not found: nobody",
    ]
    assert after["passed"] is False
    requests = control.get("requests", session=KEY).json()["requests"]
    violations_by_request = [request["violations"] for request in requests]
    assert sorted(map(len, violations_by_request)) == [0, 1, 1]


def test_attempts_are_counted_in_the_state(control: Control) -> None:
    control.put(PATH, script(turn(failuresBeforeSuccess=2), id="run-test-1"))
    assert [chat("run-test-1").status_code for _ in range(4)] == [500, 500, 200, 200]
    state = control.get("state", session=KEY).json()
    assert state["attempts"] == [
        {"scenario": "run-test-1", "step": "1", "provider": "openai", "count": 2}
    ]
