"""Steps that would be asked again by what their own calls bring."""

from typing import Any

import pytest

from tests.engine.matching.linted import CALL, found, kinds, one, user


def test_a_step_that_answers_its_own_tools_result_loops() -> None:
    [suspicion] = found(one(user(contains="weather"), produce=CALL))
    assert suspicion.kind == "looping"
    assert suspicion.tools == ("get_weather",)
    assert suspicion.message == ("endless loop: it calls get_weather again after its result")


@pytest.mark.parametrize(
    "match",
    [
        {"messages": [{"contains": "weather"}]},
        {"messages": [{"role": "tool", "contains": "again"}]},
        {"messages": [{"role": "user", "which": "new", "contains": "weather"}]},
    ],
)
def test_a_condition_on_the_newest_message_ends_the_loop(match: dict[str, Any]) -> None:
    assert kinds(one(match, produce=CALL)) == []


def test_a_turn_ends_the_loop() -> None:
    assert kinds(one(user(contains="weather"), turn=1, produce=CALL)) == []


def test_a_step_above_that_awaits_the_result_ends_the_loop() -> None:
    awaits = one({"messages": [{"role": "tool", "contains": "sunny"}]})
    assert kinds(awaits, one(user(contains="weather"), produce=CALL)) == []
    by_result = one({"tool_results": [{"name": "get_weather"}]})
    assert kinds(by_result, one(user(contains="weather"), produce=CALL)) == []


def test_a_step_below_that_awaits_the_result_never_gets_it() -> None:
    awaits = one({"messages": [{"role": "tool", "contains": "sunny"}]})
    [suspicion] = found(one(user(contains="weather"), produce=CALL), awaits)
    assert (suspicion.kind, suspicion.step) == ("looping", 1)
    assert suspicion.by == (suspicion.scenario, 2)


def test_a_step_below_for_another_tools_result_does_not_end_the_loop() -> None:
    other = one({"tool_results": [{"name": "get_time"}]})
    [suspicion] = found(one(user(contains="weather"), produce=CALL), other)
    assert (suspicion.kind, suspicion.by) == ("looping", None)


def test_a_step_after_a_call_that_makes_the_call_again_loops() -> None:
    assert kinds(one({"tool_calls": [{"name": "get_weather"}]}, produce=CALL)) == [(1, "looping")]


def test_a_final_report_has_no_result() -> None:
    report = {"status": "success", "report_format": "text", "report_content": "Done."}
    assert kinds(one(user(contains="weather"), produce={"final_report": report})) == []


@pytest.mark.parametrize("which", ["last", "new"])
def test_a_step_that_calls_a_tool_on_any_result_loops(which: str) -> None:
    match = {"messages": [{"role": "tool", "which": which}]}
    assert kinds(one(match, produce=CALL)) == [(1, "looping")]
