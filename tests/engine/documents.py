"""Scenario documents for tests: the contract's example and one-step scenarios."""

from typing import Any

import pytest

from scenarios_app.engine.document import DocumentError, load_documents

CONTRACT: dict[str, Any] = {
    "name": "weather",
    "description": "asks for a tool, then answers",
    "priority": 10,
    "enabled": True,
    "select": "match",
    "tags": ["demo"],
    "variables": {"city": "Paris"},
    "system_prompt_must_include": [],
    "steps": [
        {
            "name": "call the tool",
            "turn": None,
            "consume": True,
            "match": {
                "provider": "openai",
                "path": "/v1/chat/completions",
                "model": {"regex": "^gpt-4"},
                "stream": True,
                "messages": [
                    {"role": "user", "which": "last", "contains": "weather", "ignore_case": True}
                ],
                "tools": ["get_weather"],
                "tool_calls": [],
                "tool_results": [],
                "headers": {"x-team": "qa"},
                "metadata": {},
            },
            "expect": {
                "tools": ["get_weather"],
                "allow_missing_tools": False,
                "temperature": 0.2,
                "top_p": 1.0,
                "reasoning": "enabled",
            },
            "failures": {
                "times": 1,
                "fault": {"kind": "rate_limit", "message": "slow down", "retry_after_ms": 1000},
            },
            "produce": {
                "reasoning": [{"text": "I need the tool.", "signature": "sig-1"}],
                "text": "Let me look at {{ city }}.",
                "tool_calls": [
                    {"id": "call_1", "name": "get_weather", "arguments": {"city": "{{ city }}"}}
                ],
                "finish_reason": None,
                "usage": {"input_tokens": 64, "output_tokens": 32},
                "latency_ms": 0,
                "pacing": {
                    "first_ms": 0,
                    "words_per_second": 0,
                    "words_per_chunk": 5,
                    "jitter": 0.0,
                },
            },
            "side_effects": {
                "counter": "weather_calls",
                "status": 200,
                "headers": {"x-extra": "1"},
                "echo_headers": ["x-request-id"],
                "assert": [],
            },
        },
        {
            "match": {"messages": [{"role": "tool", "which": "last", "contains": "sunny"}]},
            "consume": False,
            "produce": {"text": "It is sunny in {{ city }}."},
        },
    ],
}


def load_error_lines(document: object) -> list[str]:
    """Return the lines of the error with which loading an invalid document fails."""
    with pytest.raises(DocumentError) as error:
        load_documents(document)
    return str(error.value).splitlines()


def one_step_scenario(**step: Any) -> dict[str, Any]:
    """Return a scenario of one step, which answers "ok" if it has no `produce`."""
    return {"name": "one", "steps": [{**({} if "produce" in step else ANSWER), **step}]}


ANSWER: dict[str, Any] = {"produce": {"text": "ok"}}
