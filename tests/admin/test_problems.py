"""Paths of problems in a document map to fields of the form."""

import pytest

from scenarios_app.admin.editor.layout import SCENARIO, STEP
from scenarios_app.admin.editor.problems import problem_at
from tests.admin.pages import step_document


@pytest.mark.parametrize(
    ("columns", "path", "column", "message"),
    [
        ({"match.model": "("}, "match.model.regex", "match.model", "wrong"),
        ({"match.messages(user)": "("}, "match.messages[0].regex", "match.messages(user)", "wrong"),
        (
            {"match.messages(system)": "a", "match.messages(user)": "("},
            "match.messages[1].regex",
            "match.messages(user)",
            "wrong",
        ),
        (
            {"match.messages(user)": "a", "match.*": {"messages": [{"regex": "("}]}},
            "match.messages[1].regex",
            "match.*",
            "messages[0].regex: wrong",
        ),
        (
            {"match.tool_results(name)": "f", "match.*": {"tool_results": [{"which": 1}]}},
            "match.tool_results[1].which",
            "match.*",
            "tool_results[0].which: wrong",
        ),
        (
            {"match.tool_results(name)": "f"},
            "match.tool_results[0].name",
            "match.tool_results(name)",
            "wrong",
        ),
        ({"match.*": {"path": 1}}, "match.path", "match.*", "path: wrong"),
        (
            {"produce.tool_calls": [{}]},
            "produce.tool_calls[0].name",
            "produce.tool_calls",
            "[0].name: wrong",
        ),
        (
            {"produce.tool_calls": [{"name": "f", "input": "x", "arguments": {}}]},
            "produce.tool_calls[0].input",
            "produce.tool_calls",
            "[0].input: wrong",
        ),
        (
            {"side_effects.echo_headers": ["a b"]},
            "side_effects.echo_headers[0]",
            "side_effects.echo_headers",
            "[0]: wrong",
        ),
        ({"failures.fault.kind": "http"}, "failures.times", "failures.times", "wrong"),
        ({"produce.fault.kind": "http"}, "produce.fault.status", "produce.fault.status", "wrong"),
        (
            {"produce.fault.*": {"body": 1, "kind": "x"}},
            "produce.fault.kind",
            "produce.fault.kind",
            "wrong",
        ),
        ({}, "produce", "produce.text", "wrong"),
        ({"produce.reasoning": "r"}, "produce", "produce.reasoning", "wrong"),
        ({"match.tools": ["f"]}, "match", "match.tools", "wrong"),
        ({}, "match", "match.messages(user)", "wrong"),
        ({}, "turn", "turn", "wrong"),
        ({}, "consume", "consume", "wrong"),
        ({"*": {"what": 1}}, "what", "*", "what: wrong"),
    ],
)
def test_every_step_path_maps_to_a_field(
    columns: dict[str, object], path: str, column: str, message: str
) -> None:
    field, words = problem_at(STEP, path, "wrong", step_document(columns))
    assert (field.place, words) == (column, message)


def test_step_without_an_answer_is_an_error_at_the_answer_text() -> None:
    for message in ("missing", 'says nothing: give it an answer (text "" for an empty one)'):
        field, words = problem_at(STEP, "produce", message, {})
        assert (field.place, words) == ("produce.text", "enter an answer")


@pytest.mark.parametrize(
    ("path", "column", "message"),
    [
        ("name", "name", "wrong"),
        ("tags[1]", "tags", "[1]: wrong"),
        ("variables.a", "variables", "a: wrong"),
        ("colour", "*", "colour: wrong"),
        ("", "*", "wrong"),
    ],
)
def test_scenario_path_maps_to_a_field(path: str, column: str, message: str) -> None:
    field, words = problem_at(SCENARIO, path, "wrong", {"tags": ["a"], "variables": {"a": 1}})
    assert (field.place, words) == (column, message)
