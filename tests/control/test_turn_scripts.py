"""Requirement 003's documents over the control API, and the session that they leave behind."""

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


def test_put_takes_a_document_in_turns_and_gives_it_back_in_our_form(control: Control) -> None:
    response = control.put(PATH, TWO)
    assert (response.status_code, response.json()) == (201, convert(TWO))  # type: ignore[attr-defined]
    assert control.get(PATH).json() == convert(TWO)  # type: ignore[attr-defined]
    assert reply_text(chat("run-test-1", temperature=0.5)) == "one"
    again = script(turn(text_response("anew")), id="run-test-1")
    assert control.put(PATH, again).status_code == 200
    assert reply_text(chat("run-test-1")) == "anew"


def test_post_takes_one_or_several_of_both_forms(control: Control) -> None:
    native = {"name": "ours", "steps": [{"produce": {"text": "x"}}]}
    assert control.post("scenarios", TWO).status_code == 201
    several = {"scenarios": [script(turn(), id="a"), native]}
    assert control.post("scenarios", several).status_code == 201
    assert control.post("scenarios", [script(turn(), id="b")]).status_code == 201
    listed = control.get("scenarios").json()["scenarios"]  # type: ignore[attr-defined]
    assert [document["name"] for document in listed] == ["a", "b", "ours", "run-test-1"]
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
def test_a_wrong_document_is_refused_with_the_place_in_it(
    control: Control, document: Any, field: str
) -> None:
    assert error_of(control.put(PATH, document)) == (400, "VALIDATION_ERROR", field)
    assert error_of(control.get(PATH)) == (404, "NOT_FOUND", None)


def test_a_session_may_have_a_script_of_its_own(control: Control) -> None:
    control.put(PATH, TWO)
    own = script(turn(text_response("mine")), id="run-test-1")
    assert control.put(PATH, own, session=KEY).status_code == 201
    assert reply_text(chat("run-test-1")) == "mine"
    assert reply_text(chat("run-test-1", key="another", temperature=0.5)) == "one"


def test_violations_mark_the_session_unsuccessful(control: Control) -> None:
    control.put(PATH, TWO)
    chat("run-test-1", temperature=0.5)
    before = control.get("state", session=KEY).json()  # type: ignore[attr-defined]
    assert (before["violations"], before["passed"]) == ([], True)
    chat("run-test-1")
    chat("nobody", model="test-llm")
    after = control.get("state", session=KEY).json()  # type: ignore[attr-defined]
    assert after["violations"] == [
        "Expected temperature 0.5 but received undefined",
        "Scenario not found: nobody",
    ]
    assert after["passed"] is False
    requests = control.get("requests", session=KEY).json()["requests"]  # type: ignore[attr-defined]
    told = [request["violations"] for request in requests]
    assert sorted(map(len, told)) == [0, 1, 1]


def test_attempts_are_counted_in_the_state(control: Control) -> None:
    control.put(PATH, script(turn(failuresBeforeSuccess=2), id="run-test-1"))
    assert [chat("run-test-1").status_code for _ in range(4)] == [500, 500, 200, 200]
    state = control.get("state", session=KEY).json()  # type: ignore[attr-defined]
    assert state["attempts"] == [
        {"scenario": "run-test-1", "step": "1", "provider": "openai", "count": 2}
    ]
