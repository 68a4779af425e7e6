"""Paths of problems in a document map to fields of the form."""

import pytest

from scenarios_app.admin.editor.problems import scenario_problem, step_problem
from scenarios_app.models import Step


@pytest.mark.parametrize(
    ("columns", "path", "column", "message"),
    [
        ({"match_model": "("}, "match.model.regex", "match_model", "wrong"),
        ({"match_user": "("}, "match.messages[0].regex", "match_user", "wrong"),
        (
            {"match_system": "a", "match_user": "("},
            "match.messages[1].regex",
            "match_user",
            "wrong",
        ),
        (
            {"match_user": "a", "match_extra": {"messages": [{"regex": "("}]}},
            "match.messages[1].regex",
            "match_extra",
            "messages[0].regex: wrong",
        ),
        (
            {"match_tool_result_name": "f", "match_extra": {"tool_results": [{"which": 1}]}},
            "match.tool_results[1].which",
            "match_extra",
            "tool_results[0].which: wrong",
        ),
        (
            {"match_tool_result_name": "f"},
            "match.tool_results[0].name",
            "match_tool_result_name",
            "wrong",
        ),
        ({"match_extra": {"path": 1}}, "match.path", "match_extra", "path: wrong"),
        (
            {"answer_tool_calls": [{}]},
            "produce.tool_calls[0].name",
            "answer_tool_calls",
            "[0].name: wrong",
        ),
        (
            {"answer_tool_calls": [{"name": "f", "input": "x", "arguments": {}}]},
            "produce.tool_calls[0].input",
            "answer_tool_calls",
            "[0].input: wrong",
        ),
        ({"echo_headers": ["a b"]}, "side_effects.echo_headers[0]", "echo_headers", "[0]: wrong"),
        ({"failures_kind": "http"}, "failures.times", "failures_times", "wrong"),
        ({"fault_kind": "http"}, "produce.fault.status", "fault_status", "wrong"),
        (
            {"fault_extra": {"body": 1, "kind": "x"}},
            "produce.fault.kind",
            "fault_extra",
            "kind: wrong",
        ),
        ({}, "produce", "answer_text", "wrong"),
        ({"answer_reasoning": "r"}, "produce", "answer_reasoning", "wrong"),
        ({"match_tools": ["f"]}, "match", "match_tools", "wrong"),
        ({}, "match", "match_user", "wrong"),
        ({}, "turn", "turn", "wrong"),
        ({}, "consume", "consume", "wrong"),
        ({"extra": {"what": 1}}, "what", "extra", "what: wrong"),
    ],
)
def test_every_step_path_maps_to_a_field(
    columns: dict[str, object], path: str, column: str, message: str
) -> None:
    assert step_problem(path, "wrong", Step(**columns)) == (column, message)


def test_step_without_an_answer_is_an_error_at_the_answer_text() -> None:
    for message in ("missing", 'says nothing: give it an answer (text "" for an empty one)'):
        assert step_problem("produce", message, Step()) == (
            "answer_text",
            "enter an answer",
        )


@pytest.mark.parametrize(
    ("path", "column", "message"),
    [
        ("name", "name", "wrong"),
        ("tags[1]", "tags", "[1]: wrong"),
        ("variables.a", "variables", "a: wrong"),
        ("colour", "extra", "colour: wrong"),
        ("", "extra", "wrong"),
    ],
)
def test_scenario_path_maps_to_a_field(path: str, column: str, message: str) -> None:
    assert scenario_problem(path, "wrong") == (column, message)
