"""Columns of the last version become the documents that it exported."""

from typing import Any

import pytest

from scenarios_app.store.former_columns import scenario_document, step_document

STEPS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {}),
    (
        {
            "name": "call the tool",
            "turn": 2,
            "consume": False,
            "match_provider": "openai",
            "match_path": "/v1/chat/completions",
            "match_model": "^gpt-4",
            "match_model_mode": "regex",
            "match_stream": False,
            "match_user": "weather",
            "match_user_ignore_case": True,
            "match_tools": ["get_weather"],
            "match_extra": {"headers": {"x-team": "qa"}},
            "expect_tools": ["get_weather"],
            "expect_allow_missing_tools": True,
            "expect_temperature": 0.0,
            "expect_reasoning": "enabled",
            "failures_times": 1,
            "failures_kind": "rate_limit",
            "failures_message": "slow down",
            "failures_retry_after_ms": 0,
            "answer_text": "Let me look.",
            "answer_tool_calls": [{"name": "get_weather"}],
            "answer_input_tokens": 64,
            "answer_extra": {"reasoning": [{"text": "Hm.", "signature": "s"}]},
            "words_per_second": 50.0,
            "jitter": 0.5,
            "counter": "calls",
            "response_headers": {"x-extra": "1"},
            "echo_headers": ["x-a"],
            "asserts": [{"tools": ["a"]}],
            "extra": {"equivalent_changes": {"name": "not shown"}},
        },
        {
            "name": "call the tool",
            "turn": 2,
            "consume": False,
            "match": {
                "provider": "openai",
                "path": "/v1/chat/completions",
                "model": {"regex": "^gpt-4"},
                "stream": False,
                "messages": [{"role": "user", "contains": "weather", "ignore_case": True}],
                "tools": ["get_weather"],
                "headers": {"x-team": "qa"},
            },
            "expect": {
                "tools": ["get_weather"],
                "allow_missing_tools": True,
                "temperature": 0.0,
                "reasoning": "enabled",
            },
            "failures": {
                "times": 1,
                "fault": {"kind": "rate_limit", "message": "slow down", "retry_after_ms": 0},
            },
            "produce": {
                "reasoning": [{"text": "Hm.", "signature": "s"}],
                "text": "Let me look.",
                "tool_calls": [{"name": "get_weather"}],
                "usage": {"input_tokens": 64},
                "pacing": {"words_per_second": 50.0, "jitter": 0.5},
            },
            "side_effects": {
                "counter": "calls",
                "headers": {"x-extra": "1"},
                "echo_headers": ["x-a"],
                "assert": [{"tools": ["a"]}],
            },
            "equivalent_changes": {"name": "not shown"},
        },
    ),
    (
        {
            "match_model": "gpt-4o",
            "match_system": "You are",
            "match_system_mode": "startswith",
            "match_tool_result": "sunny",
            "match_tool_result_name": "get_weather",
            "match_extra": {
                "messages": [{"role": "assistant", "contains": "more"}],
                "tool_results": [{"name": "second"}],
            },
            "fault_kind": "http",
            "fault_status": 418,
            "fault_extra": {"code": "teapot"},
            "report_content": "# Done",
            "report_format": "markdown",
        },
        {
            "match": {
                "model": "gpt-4o",
                "messages": [
                    {"role": "system", "startswith": "You are"},
                    {"role": "tool", "contains": "sunny"},
                    {"role": "assistant", "contains": "more"},
                ],
                "tool_results": [{"name": "get_weather"}, {"name": "second"}],
            },
            "produce": {
                "final_report": {"report_format": "markdown", "report_content": "# Done"},
                "fault": {"kind": "http", "status": 418, "code": "teapot"},
            },
        },
    ),
    # Rows that had errors.
    (
        {"answer_text": "seen", "extra": {"produce": {"text": "hidden"}, "unknown": 1}},
        {"produce": {"text": "seen"}, "unknown": 1},
    ),
    ({"match_extra": ["wrong"]}, {"match_extra": ["wrong"]}),
    (
        {"match_user": "hi", "match_extra": {"messages": {}}},
        {"match": {"messages": [{"role": "user", "contains": "hi"}, {}]}},
    ),
]


@pytest.mark.parametrize(("columns", "document"), STEPS)
def test_columns_of_a_step_become_its_document(
    columns: dict[str, Any], document: dict[str, Any]
) -> None:
    assert step_document(columns) == document


@pytest.mark.parametrize(
    ("columns", "document"),
    [
        ({"name": "a"}, {"name": "a"}),
        (
            {"name": "a", "enabled": True, "priority": 0, "tags": [], "variables": {}, "user": {}},
            {"name": "a"},
        ),
        (
            {"name": "a", "priority": -1, "enabled": False, "extra": {"variables": {"b": 1}}},
            {"name": "a", "priority": -1, "enabled": False, "variables": {"b": 1}},
        ),
        (
            {"name": "a", "user": {"turns": [{"say": "Hi"}]}},
            {"name": "a", "steps": [], "user": {"turns": [{"say": "Hi"}]}},
        ),
        ({"name": "a", "extra": {"unknown": 1}}, {"name": "a", "unknown": 1}),
        ({"name": "a", "extra": [1]}, {"name": "a", "extra": [1]}),
    ],
)
def test_columns_of_a_scenario_become_its_own_part_of_the_document(
    columns: dict[str, Any], document: dict[str, Any]
) -> None:
    assert list(scenario_document(columns).items()) == list(document.items())
