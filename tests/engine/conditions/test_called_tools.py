"""Conditions on earlier calls: their input and namespace."""

from typing import Any

import pytest

from scenarios_app.engine.canonical import CanonicalRequest, Message
from scenarios_app.engine.conditions.match import Match, match_model
from scenarios_app.engine.conditions.subjects import RequestReader
from scenarios_app.engine.parts import ToolCallPart
from tests.engine.match_builders import chat_request, explain_match, match_request

EXEC_CALL = ToolCallPart("c1", "exec", "ls -l /tmp", custom=True, namespace="functions")
SQL_CALL = ToolCallPart("c2", "sql", '{"input":"select 1"}')
COUNT_CALL = ToolCallPart("c3", "sql", '{"input":1}')
LOGS_CALL = ToolCallPart("c4", "logs", "[]")


def build_tool_calls_match(*calls: Any) -> Match:
    return match_model().model_validate({"tool_calls": list(calls)}).compile()


def request_with_calls(*calls: ToolCallPart) -> CanonicalRequest:
    return chat_request("Go on.", Message("assistant", calls))


@pytest.mark.parametrize(
    "condition",
    [
        {"input": "ls -l /tmp"},
        {"name": "exec", "input": {"contains": "-l"}},
        {"namespace": "functions"},
        {"namespace": "functions", "name": "exec", "input": {"startswith": "ls"}},
        {"name": "sql", "input": {"startswith": "select"}},
    ],
)
def test_call_with_the_input_and_namespace_matches(condition: Any) -> None:
    assert match_request(
        build_tool_calls_match(condition), request_with_calls(SQL_CALL, EXEC_CALL)
    ).matched


@pytest.mark.parametrize(
    "condition",
    [
        {"input": {"contains": "rm"}},
        {"namespace": "crm"},
        {"name": "sql", "namespace": "functions"},
        {"name": "sql", "input": {"contains": "1"}},
        {"name": "logs", "input": {"contains": "["}},
    ],
)
def test_call_with_another_input_or_namespace_does_not_match(condition: Any) -> None:
    assert not match_request(
        build_tool_calls_match(condition), request_with_calls(EXEC_CALL, COUNT_CALL, LOGS_CALL)
    ).matched


def test_mismatch_names_the_expected_input_and_the_calls_with_their_namespace() -> None:
    condition = {"name": "exec", "namespace": "crm", "input": {"contains": "rm"}}
    (result,) = explain_match(build_tool_calls_match(condition), request_with_calls(EXEC_CALL))
    assert result.expected == ('call of "exec" with input that contains "rm", in namespace "crm"')
    assert result.actual == '"functions.exec ls -l /tmp"'


def test_named_groups_of_an_input_are_captured() -> None:
    two_calls_match = build_tool_calls_match(
        {"name": "exec", "input": {"regex": r"(?P<folder>/\w+)"}}, {"name": "exec"}
    )
    assert two_calls_match.group_names == ("folder",)
    assert match_request(two_calls_match, request_with_calls(EXEC_CALL)).groups == {
        "folder": "/tmp"
    }


def test_condition_without_a_call_has_no_groups() -> None:
    (condition,) = build_tool_calls_match({"input": {"regex": "(?P<a>x)"}}).conditions
    assert condition.groups(RequestReader(request_with_calls())) == {}


@pytest.mark.parametrize(
    ("narrow", "wide", "implied"),
    [
        ({"input": "ls"}, {"input": {"contains": "l"}}, True),
        ({"input": "ls"}, {}, True),
        ({"namespace": "a", "name": "f"}, {"namespace": "a"}, True),
        ({"name": "f"}, {"namespace": "a"}, False),
        ({"name": "f"}, {"input": {"contains": "l"}}, False),
    ],
)
def test_narrower_call_implies_the_wider(narrow: Any, wide: Any, implied: bool) -> None:
    assert build_tool_calls_match(narrow).implies(build_tool_calls_match(wide)) is implied
