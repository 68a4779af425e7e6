"""The player: the client's history, the checks of responses, and the reports."""

import asyncio
from typing import Any

import pytest

from scenarios_app.engine.document import compile_scenario, load_documents
from scenarios_app.engine.matching.index import build_index
from scenarios_app.play.conversation import load_conversation
from scenarios_app.play.player import FixedCatalog, PlayedConversation, play
from scenarios_app.play.report import failure_reasons, to_cases, to_json, to_text
from scenarios_app.serving.options import Options
from scenarios_app.wire.registry import wires_by_name
from tests.play.runs import answering_steps

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
QUESTION = {"user": "Weather?"}
RESULT = {"tool_results": [{"name": "get_weather", "content": "sun"}]}


def play_steps(
    steps: list[Any], turns: list[Any], *, scenario: str = "", **fields: Any
) -> PlayedConversation:
    documents = load_documents({"name": "weather", "steps": steps})
    catalog = FixedCatalog(build_index([compile_scenario(one) for one in documents]))
    conversation = load_conversation({"turns": turns, **fields})
    return asyncio.run(play(conversation, catalog=catalog, options=Options(), scenario=scenario))


def failure_lines(run: PlayedConversation) -> list[str]:
    return [reason for turn in run.turns for reason in failure_reasons(turn)]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("provider", wires_by_name())
def test_tool_loop_is_played_in_the_format_of_each_provider(provider: str, stream: bool) -> None:
    first = {"step": "call", "text": "Let me see.", "reasoning": {"contains": "tool"}}
    first |= {"tool_calls": [{"name": "get_weather", "arguments": {"city": "Paris"}}]}
    turns = [{**QUESTION, "expect": first}, {**RESULT, "expect": {"step": "answer", "cut": False}}]
    run = play_steps(LOOP, turns, provider=provider, stream=stream, tools=["get_weather"])
    assert failure_lines(run) == []
    assert run.passed
    assert answering_steps(run) == {("weather", "call"), ("weather", "answer")}


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
def test_failed_check_names_expected_and_actual_value(expect: Any, reason: str) -> None:
    run = play_steps(LOOP, [{**QUESTION, "expect": expect}])
    assert not run.passed
    assert failure_lines(run) == [reason]


def test_retries_count_in_the_session_of_the_conversation() -> None:
    fault = {"times": 2, "fault": {"kind": "rate_limit"}}
    steps = [{"name": "busy", "failures": fault, "produce": {"text": "At last."}}]
    turns = [
        {"user": "Report", "expect": {"status": 429, "step": "busy"}},
        {"retry": True, "expect": {"status": 429}},
        {"retry": True, "expect": {"text": "At last."}},
    ]
    for _ in range(2):
        assert failure_lines(play_steps(steps, turns)) == []


def test_consumed_step_does_not_answer_the_next_turn() -> None:
    steps = [{"produce": {"text": "Once."}}]
    run = play_steps(steps, [{"user": "a"}, {"user": "b"}])
    assert [turn.passed for turn in run.turns] == [True, False]
    assert failure_lines(run)[0] == "answered by: expected a step, got no step"
    assert failure_lines(run)[1].startswith("nearest: weather, step 1 wanted")


def test_default_answer_does_not_count_as_a_step() -> None:
    documents = load_documents(
        {
            "name": "test-mode",
            "priority": -1000,
            "steps": [{"consume": False, "produce": {"generate": {"kind": "lorem"}}}],
        }
    )
    catalog = FixedCatalog(build_index([compile_scenario(one) for one in documents]))
    conversation = load_conversation({"turns": [{"user": "Hello"}]})
    run = asyncio.run(play(conversation, catalog=catalog, options=Options()))
    assert failure_lines(run)[0] == "answered by: expected a step, got the default answer"


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
def test_truncated_response_is_checked_by_cut(kind: str, stream: bool, cut: bool) -> None:
    fault = {"kind": kind, "after_chunks": 1}
    steps = [{"produce": {"text": "one two three four five six", "fault": fault}}]
    run = play_steps(steps, [{"user": "a", "expect": {"cut": cut}}], stream=stream)
    assert failure_lines(run) == []


def test_failed_turn_is_left_out_of_the_history() -> None:
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
    assert failure_lines(play_steps(steps, turns)) == []


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
    assert failure_lines(play_steps(steps, turns)) == []


def test_raw_request_is_sent_unchanged() -> None:
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Weather?"}]}
    request = {"path": "/v1/chat/completions", "body": body}
    assert failure_lines(play_steps(LOOP, [{"request": request, "expect": {"step": "call"}}])) == []
    broken = {"path": "/v1/chat/completions", "body": "{"}
    assert failure_lines(play_steps(LOOP, [{"request": broken, "expect": {"status": 400}}])) == []


def test_expected_step_belongs_to_the_played_scenario() -> None:
    turn = {**QUESTION, "expect": {"step": "call"}}
    assert failure_lines(play_steps(LOOP, [turn], scenario="weather")) == []
    assert failure_lines(play_steps(LOOP, [turn], scenario="other")) == [
        "scenario: expected other, got weather"
    ]


def test_text_json_and_cases_report_the_same_failures() -> None:
    run = play_steps(LOOP, [QUESTION, {**RESULT, "expect": {"text": "Rain."}}], name="a day")
    text = to_text([run])
    assert "FAILED  a day" in text
    assert "  1. ok     Weather? → weather, step call" in text
    assert 'text: expected equals "Rain.", got Sunny.' in text
    assert text.endswith("conversations: 1, passed: 0, failed: 1")
    body: Any = to_json([run])
    assert (body["passed"], [t["passed"] for t in body["conversations"][0]["turns"]]) == (
        False,
        [True, False],
    )
    assert [bool(case.reasons) for case in to_cases([run])] == [False, True]


SCRIPT = [
    {
        "name": "answer",
        "consume": False,
        "match": {"tool_calls": [{"name": "exec", "input": {"contains": "ls"}}]},
        "produce": {"text": "Two files."},
    },
    {
        "name": "call",
        "consume": False,
        "produce": {"tool_calls": [{"name": "exec", "input": "ls -l", "namespace": "shell"}]},
    },
]
FILES = {"tool_results": [{"name": "exec", "content": "a b"}]}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("provider", wires_by_name())
def test_call_of_a_custom_tool_is_played_in_the_format_of_each_provider(
    provider: str, stream: bool
) -> None:
    first = {"step": "call", "tool_calls": [{"name": "exec", "input": {"startswith": "ls"}}]}
    turns = [{**QUESTION, "expect": first}, {**FILES, "expect": {"step": "answer"}}]
    run = play_steps(SCRIPT, turns, provider=provider, stream=stream)
    assert failure_lines(run) == []
    call = to_json([run])["conversations"][0]["turns"][0]["got"]["tool_calls"][0]
    if provider in ("anthropic", "gemini", "ollama"):
        assert (call["name"], call["arguments"]) == ("exec", '{"input":"ls -l"}')
    else:
        assert (call["name"], call["input"]) == ("exec", "ls -l")


def test_failed_check_of_an_input_names_the_call_with_its_namespace() -> None:
    call = {"name": "exec", "namespace": "crm", "input": "rm"}
    run = play_steps(SCRIPT, [{**QUESTION, "expect": {"tool_calls": [call]}}])
    assert failure_lines(run) == [
        'tool calls: expected crm.exec(input equals "rm"), got shell.exec("ls -l")'
    ]


def test_expected_call_without_arguments_may_have_any_input() -> None:
    run = play_steps(SCRIPT, [{**QUESTION, "expect": {"tool_calls": [{"name": "exec"}]}}])
    assert failure_lines(run) == []
