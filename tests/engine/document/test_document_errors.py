"""Error messages for invalid scenarios and steps: each has the path and the expected value."""

from typing import Any

import pytest

from scenarios_app.engine.shapes import DocumentError, Problem, format_location, quote_json
from tests.engine.documents import load_error_lines, one_step_scenario

NAME_EXPECTED = "expected 1 to 200 printable characters without spaces around them"

INVALID_SCENARIOS: list[tuple[object, str]] = [
    (None, "expected an object"),
    ([], "expected an object"),
    ("weather", "expected an object"),
    ({}, "name: missing"),
    ({"name": 5}, f"name: {NAME_EXPECTED}"),
    ({"name": ""}, f"name: {NAME_EXPECTED}"),
    ({"name": " a"}, f"name: {NAME_EXPECTED}"),
    ({"name": "a\nb"}, "name: U+000A CONTROL CHARACTER at position 2 is not allowed in a name"),
    ({"name": "ab\u200bc"}, "name: U+200B ZERO WIDTH SPACE at position 3 is not allowed in a name"),
    ({"name": "\u200da"}, "name: U+200D ZERO WIDTH JOINER at position 1 is not allowed in a name"),
    (
        {"name": "a\u200c"},
        "name: U+200C ZERO WIDTH NON-JOINER at position 2 is not allowed in a name",
    ),
    ({"name": "a\xa0"}, "name: U+00A0 NO-BREAK SPACE at position 2 is not allowed in a name"),
    (
        {"name": "\ue000"},
        "name: U+E000 PRIVATE USE CHARACTER at position 1 is not allowed in a name",
    ),
    (
        {"name": "\U000e0fff"},
        "name: U+E0FFF UNKNOWN CHARACTER at position 1 is not allowed in a name",
    ),
    ({"name": "a" * 201}, f"name: {NAME_EXPECTED}"),
    ({"name": "a", "steps": None}, "steps: expected a list"),
    ({"name": "a", "steps": {}}, "steps: expected a list"),
    ({"name": "a", "steps": [None]}, "steps[0]: expected an object"),
    ({"name": "a", "enabled": "yes"}, "enabled: expected true or false"),
    ({"name": "a", "enabled": 1}, "enabled: expected true or false"),
    (
        {"name": "a", "priority": "1"},
        "priority: expected a whole number from -2147483647 to 2147483647",
    ),
    (
        {"name": "a", "priority": True},
        "priority: expected a whole number from -2147483647 to 2147483647",
    ),
    (
        {"name": "a", "priority": 1.5},
        "priority: expected a whole number from -2147483647 to 2147483647",
    ),
    ({"name": "a", "select": "first"}, "select: expected match or first_user_message"),
    ({"name": "a", "tags": "demo"}, "tags: expected a list"),
    ({"name": "a", "tags": [1]}, f"tags[0]: {NAME_EXPECTED}"),
    ({"name": "a", "variables": []}, "variables: expected an object"),
    ({"name": "a", "description": None}, "description: expected a string"),
    (
        {"name": "a", "system_prompt_must_include": [""]},
        "system_prompt_must_include[0]: expected a string of at least one character",
    ),
    ({"name": "a", "Steps": []}, 'Steps: unknown key, did you mean "steps"?'),
    (
        {"name": "a", "x y": 1},
        '["x y"]: unknown key, expected one of $schema, version, name, description, priority, '
        "enabled, select, tags, variables, system_prompt_must_include, steps, user",
    ),
    ({"scenarios": None}, "scenarios: expected a list"),
    ({"scenarios": [5]}, "scenarios[0]: expected an object"),
    ({"scenarios": [{}]}, "scenarios[0].name: missing"),
    (
        {"scenarios": [], "name": "a"},
        "name: unknown key, expected one of $schema, version, scenarios",
    ),
    (
        {"name": "a", "variables": {"match": {"city": "Rome"}}},
        "variables.match: an object of this name would never be seen in an answer",
    ),
]


@pytest.mark.parametrize(("document", "line"), INVALID_SCENARIOS)
def test_invalid_scenario_is_rejected_with_its_path(document: object, line: str) -> None:
    assert load_error_lines(document) == [line]


INVALID_STEPS: list[tuple[dict[str, Any], str]] = [
    ({"name": ""}, f"name: {NAME_EXPECTED}"),
    ({"turn": 0}, "turn: expected a whole number from 1 to 2147483647"),
    ({"turn": "1"}, "turn: expected a whole number from 1 to 2147483647"),
    ({"consume": None}, "consume: expected true or false"),
    ({"prduce": {"text": "a"}}, 'prduce: unknown key, did you mean "produce"?'),
    ({"match": []}, "match: expected an object"),
    ({"match": {"provider": 5}}, "match.provider: expected a string or an object"),
    ({"match": {"provider": []}}, "match.provider: expected at least one"),
    ({"match": {"provider": [5]}}, "match.provider[0]: expected a string or an object"),
    (
        {"match": {"model": {}}},
        "match.model: expected at least one of equals, contains, startswith, regex",
    ),
    (
        {"match": {"model": {"ignore_case": True}}},
        "match.model: expected at least one of equals, contains, startswith, regex",
    ),
    (
        {"match": {"model": {"regexp": "a"}}},
        'match.model.regexp: unknown key, did you mean "regex"?',
    ),
    ({"match": {"model": {"regex": "("}}}, "match.model.regex: not an RE2 pattern: missing ): ("),
    ({"match": {"model": {"regex": 5}}}, "match.model.regex: expected an RE2 pattern"),
    ({"match": {"model": {"regex": ""}}}, "match.model.regex: expected an RE2 pattern"),
    (
        {"match": {"path": [{"contains": ""}]}},
        "match.path[0].contains: expected a string of at least one character",
    ),
    ({"match": {"stream": "true"}}, "match.stream: expected true or false"),
    ({"match": {"messages": {}}}, "match.messages: expected a list"),
    (
        {"match": {"messages": [{"role": "developer"}]}},
        "match.messages[0].role: expected system, user, assistant or tool",
    ),
    (
        {"match": {"messages": [{"role": "user", "which": -1}]}},
        "match.messages[0].which: expected last, first, any, new or an index from 0",
    ),
    (
        {"match": {"messages": [{"role": "user", "which": True}]}},
        "match.messages[0].which: expected last, first, any, new or an index from 0",
    ),
    (
        {"match": {"messages": [{"which": "any"}]}},
        "match.messages[0]: expected at least one of role, equals, contains, startswith, regex",
    ),
    ({"match": {"tools": [None]}}, "match.tools[0]: expected a string of at least one character"),
    (
        {"match": {"tool_calls": [{"arguments": "{}"}]}},
        "match.tool_calls[0].arguments: expected an object",
    ),
    ({"match": {"tool_results": [5]}}, "match.tool_results[0]: expected a string or an object"),
    (
        {"match": {"headers": {"x team": "a"}}},
        'match.headers["x team"]: this is not the name of a header',
    ),
    (
        {"match": {"headers": {"X-Team": "a", "x-team": "b"}}},
        "match.headers.x-team: this header is given twice",
    ),
    (
        {"match": {"metadata": {"a.b": None}}},
        'match.metadata["a.b"]: expected a string or an object',
    ),
    ({"expect": {"temperature": "hot"}}, "expect.temperature: expected a number"),
    ({"expect": {"top_p": True}}, "expect.top_p: expected a number"),
    ({"expect": {"reasoning": "on"}}, "expect.reasoning: expected enabled or disabled"),
    ({"failures": {}}, "failures.times: missing"),
    (
        {"failures": {"times": 0}},
        "failures.times: expected a whole number from 1 to 2147483647",
    ),
    (
        {"side_effects": {"status": 99}},
        "side_effects.status: expected an HTTP status from 200 to 599",
    ),
    (
        {"side_effects": {"status": 204}},
        "side_effects.status: an answer of status 204 has no body: script it as raw",
    ),
    (
        {"side_effects": {"headers": {"x-a": "ümlaut\r\n"}}},
        "side_effects.headers.x-a: expected printable latin-1 without spaces around it",
    ),
    (
        {"side_effects": {"headers": {"x-a": "→"}}},
        "side_effects.headers.x-a: expected printable latin-1 without spaces around it",
    ),
    (
        {"side_effects": {"headers": {"Content-Length": "1"}}},
        "side_effects.headers.Content-Length: this header is the connection's own",
    ),
    (
        {"side_effects": {"echo_headers": ["transfer-encoding"]}},
        "side_effects.echo_headers[0]: expected the name of a header, not one of the "
        "connection's own",
    ),
    (
        {"side_effects": {"asserts": []}},
        'side_effects.asserts: unknown key, did you mean "assert"?',
    ),
    (
        {"side_effects": {"assert": [{"model": {"regex": "["}}]}},
        "side_effects.assert[0].model.regex: not an RE2 pattern: missing ]: [",
    ),
]


@pytest.mark.parametrize(("step", "line"), INVALID_STEPS)
def test_invalid_step_is_rejected_with_its_path(step: dict[str, Any], line: str) -> None:
    assert load_error_lines(one_step_scenario(**step)) == [f"steps[0].{line}"]


def test_step_without_produce_is_rejected() -> None:
    assert load_error_lines({"name": "a", "steps": [{"match": {}}]}) == [
        "steps[0].produce: missing"
    ]


def test_steps_chosen_by_turn_need_turns_and_no_other_condition() -> None:
    steps = [
        {"turn": 1, "produce": {"text": "a"}},
        {"turn": 1, "produce": {"text": "b"}},
        {"produce": {"text": "c"}},
        {"turn": 2, "match": {"stream": True}, "produce": {"text": "d"}},
        {"turn": 3, "consume": True, "produce": {"text": "e"}},
    ]
    assert load_error_lines({"name": "a", "select": "first_user_message", "steps": steps}) == [
        "steps[1].turn: another step has turn 1",
        "steps[2].turn: missing: select first_user_message chooses by turn",
        "steps[3].match: has no place beside select first_user_message",
        "steps[4].consume: has no place beside select first_user_message",
    ]


def test_error_built_in_code_has_one_problem() -> None:
    error = DocumentError("steps[0]", "wrong")
    assert error.problems == (Problem("steps[0]", "wrong"),)
    assert (error.place, error.message, str(error)) == ("steps[0]", "wrong", "steps[0]: wrong")


def test_a_problem_in_a_file_begins_with_the_file() -> None:
    assert str(Problem("steps[0]", "wrong", "a.json")) == "a.json: steps[0]: wrong"
    assert str(Problem("", "wrong", "a.json")) == "a.json: wrong"


def test_location_is_formatted_like_the_document() -> None:
    loc = ("steps", 2, "match", "headers", "x-team", "a b", 0, "ü", "k" * 100)
    assert format_location(loc) == (
        'steps[2].match.headers.x-team["a b"][0]["ü"]["' + "k" * 78 + "…]"
    )


def test_a_quoted_value_is_valid_text_of_bounded_length() -> None:
    assert quote_json({"a": "ü"}) == '{"a": "ü"}'
    assert quote_json("\ud800") == '"\\ud800"'
    assert len(quote_json("a" * 1000)) == 80
