"""A conversation that is played: what a client remembers, what is compared and how it is told."""

import asyncio
from typing import Any

import pytest

from scenarios_app.engine.document import compile_scenario, load_documents
from scenarios_app.engine.matching.index import build_index
from scenarios_app.play.conversation import conversation_of
from scenarios_app.play.player import Alone, Run, play
from scenarios_app.play.report import cases_of, json_of, reasons, text_of
from scenarios_app.serving.options import Options
from scenarios_app.wire.registry import wires_by_name

LOOP = [
    {
        "name": "answer",
        "consume": False,
        "match": {"messages": [{"role": "tool", "which": "new"}]},
        "produce": {"text": "Sunny."},
    },
    {
        "name": "call",
        "consume": False,
        "turn": 1,
        "produce": {
            "text": "Let me see.",
            "reasoning": "A tool is needed.",
            "tool_calls": [{"name": "get_weather", "arguments": {"city": "Paris", "days": 1}}],
        },
    },
]
ASKED = {"user": "Weather?"}
RESULT = {"tool_results": [{"name": "get_weather", "content": "sun"}]}


def played(steps: list[Any], turns: list[Any], *, of: str = "", **given: Any) -> Run:
    documents = load_documents({"name": "weather", "steps": steps})
    catalog = Alone(build_index([compile_scenario(one) for one in documents]))
    conversation = conversation_of({"turns": turns, **given})
    return asyncio.run(play(conversation, catalog=catalog, options=Options(), of=of))


def told(run: Run) -> list[str]:
    return [reason for turn in run.turns for reason in reasons(turn)]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("provider", wires_by_name())
def test_a_tool_loop_is_played_in_every_providers_words(provider: str, stream: bool) -> None:
    first = {"step": "call", "text": "Let me see.", "reasoning": {"contains": "tool"}}
    first |= {"tool_calls": [{"name": "get_weather", "arguments": {"city": "Paris"}}]}
    turns = [{**ASKED, "expect": first}, {**RESULT, "expect": {"step": "answer", "cut": False}}]
    run = played(LOOP, turns, provider=provider, stream=stream, tools=["get_weather"])
    assert told(run) == []
    assert run.passed
    assert run.steps == {("weather", "call"), ("weather", "answer")}


@pytest.mark.parametrize(
    ("expect", "reason"),
    [
        ({"text": "Rain."}, 'text: expected equals "Rain.", got Let me see.'),
        ({"text": {"regex": "^Sun"}}, 'text: expected matches "^Sun", got Let me see.'),
        ({"reasoning": "x"}, 'reasoning: expected equals "x", got A tool is needed.'),
        ({"step": "answer"}, "step: expected answer, got call"),
        ({"scenario": "other"}, "scenario: expected other, got weather"),
        ({"status": 429}, "status: expected 429, got 200"),
        ({"cut": True}, "end: expected breaks off, got whole"),
        (
            {"tool_calls": []},
            'tool calls: expected none, got get_weather({"city": "Paris", "days": 1})',
        ),
        (
            {"tool_calls": [{"name": "get_weather", "arguments": {"city": "Rome"}}]},
            'tool calls: expected get_weather({"city": "Rome"}), '
            'got get_weather({"city": "Paris", "days": 1})',
        ),
        (
            {"tool_calls": [{"name": "get_weather", "arguments": {"days": True}}]},
            'tool calls: expected get_weather({"days": true}), '
            'got get_weather({"city": "Paris", "days": 1})',
        ),
    ],
)
def test_what_is_not_as_expected_is_told_beside_what_came(expect: Any, reason: str) -> None:
    run = played(LOOP, [{**ASKED, "expect": expect}])
    assert not run.passed
    assert told(run) == [reason]


def test_failures_are_retried_and_count_in_the_conversations_own_session() -> None:
    fault = {"times": 2, "fault": {"kind": "rate_limit"}}
    steps = [{"name": "busy", "failures": fault, "produce": {"text": "At last."}}]
    turns = [
        {"user": "Report", "expect": {"status": 429, "step": "busy"}},
        {"retry": True, "expect": {"status": 429}},
        {"retry": True, "expect": {"text": "At last."}},
    ]
    for _ in range(2):
        assert told(played(steps, turns)) == []


def test_a_step_that_answers_once_is_used_up_in_the_conversation() -> None:
    steps = [{"produce": {"text": "Once."}}]
    run = played(steps, [{"user": "a"}, {"user": "b"}])
    assert [turn.passed for turn in run.turns] == [True, False]
    assert told(run)[0] == "answered by: expected a step, got no step"
    assert told(run)[1].startswith("nearest: weather, step 1 wanted")


def test_an_answer_of_the_catch_all_is_none() -> None:
    documents = load_documents(
        {
            "name": "test-mode",
            "priority": -1000,
            "steps": [{"consume": False, "produce": {"generate": {"kind": "lorem"}}}],
        }
    )
    catalog = Alone(build_index([compile_scenario(one) for one in documents]))
    conversation = conversation_of({"turns": [{"user": "Hello"}]})
    run = asyncio.run(play(conversation, catalog=catalog, options=Options()))
    assert told(run)[0] == "answered by: expected a step, got the catch-all"


@pytest.mark.parametrize(
    ("kind", "stream", "cut"),
    [
        ("disconnect", True, True),
        ("disconnect", False, True),
        ("truncate", True, True),
        ("stall", True, False),
        ("error_event", True, True),
    ],
)
def test_an_answer_that_breaks_off_is_told(kind: str, stream: bool, cut: bool) -> None:
    fault = {"kind": kind, "after_chunks": 1}
    steps = [{"produce": {"text": "one two three four five six", "fault": fault}}]
    run = played(steps, [{"user": "a", "expect": {"cut": cut}}], stream=stream)
    assert told(run) == []


def test_what_failed_is_no_part_of_what_is_said_afterwards() -> None:
    steps = [
        {
            "match": {"messages": [{"role": "user", "contains": "bad"}]},
            "consume": False,
            "produce": {"fault": {"kind": "model_error"}},
        },
        {"name": "first", "turn": 1, "produce": {"text": "A."}},
    ]
    turns = [
        {"user": "bad", "expect": {"status": 500}},
        {"user": "good", "expect": {"step": "first", "text": "A."}},
    ]
    assert told(played(steps, turns)) == []


def test_two_calls_of_one_tool_get_their_results_in_order() -> None:
    calls = [{"id": f"c{n}", "name": "look", "arguments": {"n": n}} for n in (1, 2)]
    second = {"messages": [{"role": "tool", "which": "new"}]}
    second |= {"tool_results": [{"tool_call_id": "c1", "equals": "one"}]}
    second["tool_results"] += [{"tool_call_id": "c2", "equals": "two"}]
    steps = [
        {"name": "both", "match": second, "produce": {"text": "Both."}},
        {"name": "call", "turn": 1, "produce": {"tool_calls": calls}},
    ]
    results = [{"name": "look", "content": "one"}, {"name": "look", "content": "two"}]
    turns = [{"user": "Go"}, {"tool_results": results, "expect": {"step": "both"}}]
    assert told(played(steps, turns)) == []


def test_a_request_as_it_stands_is_sent() -> None:
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Weather?"}]}
    request = {"path": "/v1/chat/completions", "body": body}
    assert told(played(LOOP, [{"request": request, "expect": {"step": "call"}}])) == []
    broken = {"path": "/v1/chat/completions", "body": "{"}
    assert told(played(LOOP, [{"request": broken, "expect": {"status": 400}}])) == []


def test_steps_are_those_of_the_scenario_that_is_played() -> None:
    turn = {**ASKED, "expect": {"step": "call"}}
    assert told(played(LOOP, [turn], of="weather")) == []
    assert told(played(LOOP, [turn], of="other")) == ["scenario: expected other, got weather"]


def test_reports_tell_the_same() -> None:
    run = played(LOOP, [ASKED, {**RESULT, "expect": {"text": "Rain."}}], name="a day")
    text = text_of([run])
    assert "FAILED  a day" in text
    assert "  1. ok     Weather? → weather, step call" in text
    assert 'text: expected equals "Rain.", got Sunny.' in text
    assert text.endswith("conversations: 1, passed: 0, failed: 1")
    body: Any = json_of([run])
    assert (body["passed"], [t["passed"] for t in body["conversations"][0]["turns"]]) == (
        False,
        [True, False],
    )
    assert [bool(case.reasons) for case in cases_of([run])] == [False, True]
