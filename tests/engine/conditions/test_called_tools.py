"""Conditions on earlier calls: their input and namespace."""

from typing import Any

import pytest

from scenarios_app.engine.canonical import CanonicalRequest, Message
from scenarios_app.engine.conditions.match import Match, match_model
from scenarios_app.engine.conditions.subjects import RequestReader
from scenarios_app.engine.parts import ToolCallPart
from tests.engine.asking import ask, explain_match, match_request

LIST = ToolCallPart("c1", "exec", "ls -l /tmp", custom=True, namespace="functions")
SQL = ToolCallPart("c2", "sql", '{"input":"select 1"}')
COUNT = ToolCallPart("c3", "sql", '{"input":1}')
LOGS = ToolCallPart("c4", "logs", "[]")


def match(*calls: Any) -> Match:
    return match_model().model_validate({"tool_calls": list(calls)}).compile()


def request(*calls: ToolCallPart) -> CanonicalRequest:
    return ask("Go on.", Message("assistant", calls))


@pytest.mark.parametrize(
    "wanted",
    [
        {"input": "ls -l /tmp"},
        {"name": "exec", "input": {"contains": "-l"}},
        {"namespace": "functions"},
        {"namespace": "functions", "name": "exec", "input": {"startswith": "ls"}},
        {"name": "sql", "input": {"startswith": "select"}},
    ],
)
def test_call_with_the_input_and_namespace_is_found(wanted: Any) -> None:
    assert match_request(match(wanted), request(SQL, LIST)).matched


@pytest.mark.parametrize(
    "wanted",
    [
        {"input": {"contains": "rm"}},
        {"namespace": "crm"},
        {"name": "sql", "namespace": "functions"},
        {"name": "sql", "input": {"contains": "1"}},
        {"name": "logs", "input": {"contains": "["}},
    ],
)
def test_call_with_another_input_or_namespace_is_not_found(wanted: Any) -> None:
    assert not match_request(match(wanted), request(LIST, COUNT, LOGS)).matched


def test_mismatch_names_the_wanted_input_and_the_calls_with_their_namespace() -> None:
    wanted = {"name": "exec", "namespace": "crm", "input": {"contains": "rm"}}
    (result,) = explain_match(match(wanted), request(LIST))
    assert result.expected == ('call of "exec" with input that contains "rm", in namespace "crm"')
    assert result.actual == '"functions.exec ls -l /tmp"'


def test_named_groups_of_an_input_are_captured() -> None:
    wanted = match({"name": "exec", "input": {"regex": r"(?P<folder>/\w+)"}}, {"name": "exec"})
    assert wanted.group_names == ("folder",)
    assert match_request(wanted, request(LIST)).groups == {"folder": "/tmp"}


def test_condition_without_a_call_has_no_groups() -> None:
    (condition,) = match({"input": {"regex": "(?P<a>x)"}}).conditions
    assert condition.groups(RequestReader(request())) == {}


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
    assert match(narrow).implies(match(wide)) is implied
