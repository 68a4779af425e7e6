"""Lint of steps that answer the results of their own tool calls."""

from typing import Any

import pytest

from tests.engine.matching.lint_helpers import (
    CALL,
    hi_step,
    lint_steps,
    suspicion_kinds,
    user_match,
)


def test_a_step_that_answers_its_own_tools_result_loops() -> None:
    [suspicion] = lint_steps(hi_step(user_match(contains="weather"), produce=CALL))
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
    assert suspicion_kinds(hi_step(match, produce=CALL)) == []


def test_a_turn_ends_the_loop() -> None:
    assert suspicion_kinds(hi_step(user_match(contains="weather"), turn=1, produce=CALL)) == []


def test_a_step_above_that_awaits_the_result_ends_the_loop() -> None:
    result_step = hi_step({"messages": [{"role": "tool", "contains": "sunny"}]})
    assert suspicion_kinds(result_step, hi_step(user_match(contains="weather"), produce=CALL)) == []
    named_result_step = hi_step({"tool_results": [{"name": "get_weather"}]})
    assert (
        suspicion_kinds(named_result_step, hi_step(user_match(contains="weather"), produce=CALL))
        == []
    )


def test_a_step_below_that_awaits_the_result_never_gets_it() -> None:
    result_step = hi_step({"messages": [{"role": "tool", "contains": "sunny"}]})
    [suspicion] = lint_steps(hi_step(user_match(contains="weather"), produce=CALL), result_step)
    assert (suspicion.kind, suspicion.step) == ("looping", 1)
    assert suspicion.by == (suspicion.scenario, 2)


def test_a_step_below_for_another_tools_result_does_not_end_the_loop() -> None:
    other_result_step = hi_step({"tool_results": [{"name": "get_time"}]})
    [suspicion] = lint_steps(
        hi_step(user_match(contains="weather"), produce=CALL), other_result_step
    )
    assert (suspicion.kind, suspicion.by) == ("looping", None)


def test_a_step_after_a_call_that_makes_the_call_again_loops() -> None:
    assert suspicion_kinds(hi_step({"tool_calls": [{"name": "get_weather"}]}, produce=CALL)) == [
        (1, "looping")
    ]


def test_a_final_report_has_no_result() -> None:
    report = {"status": "success", "report_format": "text", "report_content": "Done."}
    assert (
        suspicion_kinds(hi_step(user_match(contains="weather"), produce={"final_report": report}))
        == []
    )


@pytest.mark.parametrize("which", ["last", "new"])
def test_a_step_that_calls_a_tool_on_any_result_loops(which: str) -> None:
    match = {"messages": [{"role": "tool", "which": which}]}
    assert suspicion_kinds(hi_step(match, produce=CALL)) == [(1, "looping")]
