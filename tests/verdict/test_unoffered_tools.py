"""Calls of tools that a request does not offer are warnings of the verdict."""

import json
from typing import Any

import pytest

from scenarios_app.engine.document import dump
from scenarios_app.engine.document.files import read_files
from scenarios_app.engine.document.recorded import digest_of_answer
from scenarios_app.verdict.judge import Verdict
from tests.verdict.random_scenarios import tool_call
from tests.verdict.simulated_server import SimulatedServer

RULE = "tool-not-offered"
OTHER = {"type": "function", "function": {"name": "get_time"}}
WEATHER = {"type": "function", "function": {"name": "get_weather"}}
CHAT = "/v1/chat/completions"
AUTO = "examples/scenarios/auto.json"


def chat(*tools: Any, **fields: Any) -> dict[str, Any]:
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hi"}], **fields}
    return {**body, "tools": list(tools)} if tools else body


def server(produce: dict[str, Any], **step: Any) -> SimulatedServer:
    return SimulatedServer({"name": "s", "steps": [{"consume": False, "produce": produce, **step}]})


def messages(produce: dict[str, Any], body: Any, path: str = CHAT, **step: Any) -> list[str]:
    server_of_step = server(produce, **step)
    assert server_of_step.ask(path, body).status == 200
    return [
        finding.message for finding in server_of_step.verdict().findings if finding.rule == RULE
    ]


@pytest.mark.parametrize("stream", [False, True])
def test_call_without_any_offered_tool_is_a_warning_that_fails_strict_verdicts(
    stream: bool,
) -> None:
    server_of_step = server(tool_call("Paris", "Rome"))
    for _ in range(20):
        server_of_step.ask(CHAT, chat(stream=stream))
    (finding,) = server_of_step.verdict().findings
    assert (finding.rule, finding.level) == (RULE, "warning")
    assert finding.message == "s, step 1 calls get_weather; the request offers no tools"
    assert server_of_step.verdict().passed
    assert not server_of_step.verdict(strict=True).passed
    assert server_of_step.verdict(strict=True, ignored=frozenset({RULE})).passed


def test_call_of_a_tool_that_is_not_among_the_offered_ones_names_them() -> None:
    assert messages(tool_call("Paris"), chat(OTHER)) == [
        "s, step 1 calls get_weather; the request offers get_time"
    ]


def test_offered_tool_is_no_finding() -> None:
    assert messages(tool_call("Paris"), chat(OTHER, WEATHER)) == []
    legacy = chat(functions=[{"name": "get_weather", "parameters": {}}])
    assert messages(tool_call("Paris"), legacy) == []


def test_step_that_allows_it_is_no_finding() -> None:
    assert messages({**tool_call("Paris"), "unoffered": "allow"}, chat()) == []


def test_each_choice_and_mode_is_judged() -> None:
    choices = {"choices": [{"text": "no"}, tool_call("Paris")]}
    assert len(messages(choices, chat(n=2))) == 1
    modes = {"streaming": {"text": "no"}, "non_streaming": tool_call("Paris")}
    assert messages(modes, chat(stream=True)) == []
    assert len(messages(modes, chat())) == 1


def test_call_in_explicit_chunks_is_judged() -> None:
    call = {"name": "get_weather", "arguments": "{"}
    chunks = {"chunks": [{"tool_call": call}, {"tool_call": {"index": 0, "arguments": "}"}}]}
    assert len(messages(chunks, chat(stream=True))) == 1


def test_call_with_a_template_in_its_arguments_is_judged() -> None:
    call = {"name": "get_weather", "arguments": {"city": "{{ request.model }}"}}
    assert len(messages({"tool_calls": [call]}, chat())) == 1


def test_final_report_needs_no_offer() -> None:
    report = {"status": "success", "report_format": "text", "report_content": "Done."}
    assert messages({"final_report": report}, chat()) == []


def test_answer_of_an_api_without_tool_calls_is_no_finding() -> None:
    body = {"model": "gpt-3.5-turbo-instruct", "prompt": "Hi"}
    assert messages({"text": "Hi.", **tool_call("Paris")}, body, "/v1/completions") == []


@pytest.mark.parametrize("failing", [{"kind": "http", "status": 500}, {"kind": "network_error"}])
def test_fault_instead_of_the_call_is_no_finding(failing: dict[str, Any]) -> None:
    server_of_step = server(tool_call("Paris"), failures={"times": 9, "fault": failing})
    server_of_step.ask(CHAT, chat())
    assert RULE not in server_of_step.rules()


def test_instruction_block_is_no_finding() -> None:
    block = {"id": "x", "messages": [{"tool_call": [{"name": "get_weather", "args": {}}]}]}
    text = f"<|instruction_start|>{json.dumps(block)}<|instruction_end|>"
    body = chat()
    body["messages"] = [{"role": "user", "content": text}]
    server_of_step = server({"text": "unused"})
    assert b"get_weather" in server_of_step.ask(CHAT, body).body
    assert RULE not in server_of_step.rules()


def test_unedited_recording_is_no_finding_and_an_edited_one_is() -> None:
    call = {"id": "call_1", "type": "function"}
    call["function"] = {"name": "get_weather", "arguments": "{}"}
    body = {"choices": [{"index": 0, "message": {"role": "assistant", "tool_calls": [call]}}]}
    answer: dict[str, Any] = {
        "tool_calls": [{"name": "get_weather", "arguments": {"city": "Oslo"}}]
    }
    recorded = {"chunks": [json.dumps(body)], "path": CHAT, "of": digest_of_answer(answer)}
    server_of_step = server({**answer, "recorded": recorded})
    assert server_of_step.ask(CHAT, chat()).json == body
    assert server_of_step.rules() == []
    edited = {"tool_calls": [{"name": "get_time", "arguments": {}}], "recorded": recorded}
    assert len(messages(edited, chat())) == 1


def test_tool_that_the_provider_runs_is_offered_by_its_name() -> None:
    body = {"model": "claude-sonnet-5-5", "max_tokens": 9, "messages": chat()["messages"]}
    search = {"type": "web_search_20250305", "name": "web_search"}
    call = {"tool_calls": [{"name": "web_search", "arguments": {"query": "x"}}]}
    assert messages(call, {**body, "tools": [search]}, "/v1/messages") == []


def test_computer_use_of_gemini_offers_functions_that_it_does_not_list() -> None:
    body = {
        "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
        "tools": [{"computerUse": {"environment": "ENVIRONMENT_BROWSER"}}],
    }
    path = "/v1beta/models/gemini-2.5-computer-use:generateContent"
    call = {"tool_calls": [{"name": "click_at", "arguments": {"x": 1, "y": 2}}]}
    assert messages(call, body, path) == []
    assert len(messages(call, {**body, "tools": [{"googleSearch": {}}]}, path)) == 1


def test_request_whose_body_the_journal_lacks_is_not_judged() -> None:
    server_of_step = server(tool_call("Paris"))
    body = chat()
    body["messages"].append({"role": "user", "content": "x" * 1_100_000})
    server_of_step.ask(CHAT, body)
    verdict: Verdict = server_of_step.verdict()
    assert verdict.requests == 1
    assert verdict.findings == ()


def test_side_request_about_the_demos_weather_gets_json_by_its_schema() -> None:
    documents = [dump(document) for document in read_files(["examples/scenarios/demo.json", AUTO])]
    demo_server = SimulatedServer(*documents)
    schema = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
    titles = {"type": "json_schema", "json_schema": {"name": "title", "schema": schema}}
    side = chat(response_format=titles)
    side["messages"] = [{"role": "user", "content": "Title of: the weather in Paris?"}]
    answer = demo_server.ask(CHAT, side)
    assert answer.headers["x-mockllm-scenario"] == "test-mode"
    assert list(json.loads(answer.json["choices"][0]["message"]["content"])) == ["title"]
    main = demo_server.ask(CHAT, {**side, "tools": [WEATHER]})
    assert main.headers["x-mockllm-scenario"] == "weather"
    assert RULE not in demo_server.rules()
