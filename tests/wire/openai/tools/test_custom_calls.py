"""Calls of custom tools, streamed or not, in chat completions and Responses."""

from typing import Any

import pytest
from msgspec.structs import replace

from scenarios_app.engine.parts import TextPart, ToolCallPart
from scenarios_app.wire.openai.responses.decode import DECODER
from tests.wire.openai import openai_cases, responses_cases
from tests.wire.openai.openai_cases import parse_chunks
from tests.wire.openai.responses_answers import HEX, answer
from tests.wire.openai.responses_cases import parse_events

CALL = ToolCallPart("call_1", "exec", "ls -l", custom=True, namespace="functions")
FUNCTION = ToolCallPart("call_2", "wait", "{}", namespace="functions")


def test_custom_call_of_responses_has_its_namespace() -> None:
    body = responses_cases.render(responses_cases.parse(), answer((CALL, FUNCTION)))
    custom, function = body["output"]
    assert custom == {
        "type": "custom_tool_call",
        "id": f"ctc_{HEX}00",
        "call_id": "call_1",
        "name": "exec",
        "input": "ls -l",
        "status": "completed",
        "namespace": "functions",
    }
    assert (function["type"], function["namespace"]) == ("function_call", "functions")


def test_call_without_a_namespace_has_no_such_field() -> None:
    (item,) = responses_cases.render(
        responses_cases.parse(), answer((replace(CALL, namespace=""),))
    )["output"]
    assert "namespace" not in item


def test_custom_call_streams_as_its_input() -> None:
    stream_bytes = responses_cases.stream(responses_cases.parse(), answer((CALL,)), [2])
    _, _, item_added, *deltas, done, item_done, last = parse_events(stream_bytes)
    assert item_added["item"] == {**item_done["item"], "input": "", "status": "in_progress"}
    assert {event["type"] for event in deltas} == {"response.custom_tool_call_input.delta"}
    assert "".join(event["delta"] for event in deltas) == done["input"] == "ls -l"
    assert item_done["item"]["namespace"] == "functions"
    assert last["response"]["output"] == [item_done["item"]]


@pytest.mark.parametrize("streamed", [False, True])
def test_recorded_custom_call_is_a_scripted_call(streamed: bool) -> None:
    request, response = responses_cases.parse(), answer((TextPart("So:"), CALL, FUNCTION))
    render = responses_cases.stream if streamed else responses_cases.CREATE.render
    decoded = DECODER.decode(render(request, response))
    assert decoded is not None
    assert decoded.lost == ()
    produce = decoded.to_produce()
    assert (produce["text"], produce["tool_calls"]) == (
        "So:",
        [
            {"id": "call_1", "name": "exec", "input": "ls -l", "namespace": "functions"},
            {"id": "call_2", "name": "wait", "namespace": "functions"},
        ],
    )


def stream_chat_deltas(*calls: ToolCallPart, **body: Any) -> list[dict[str, Any]]:
    request = openai_cases.parse(**body)
    stream_bytes = openai_cases.stream(
        request, openai_cases.answer(calls, finish="tool_calls"), [3]
    )
    return [chunk["choices"][0]["delta"] for chunk in parse_chunks(stream_bytes)]


def test_custom_call_of_chat_is_streamed_as_custom_input() -> None:
    function_call = replace(FUNCTION, namespace="")
    deltas = [
        call
        for delta in stream_chat_deltas(CALL, function_call)
        for call in delta.get("tool_calls", ())
    ]
    assert deltas == [
        {"index": 0, "id": "call_1", "type": "custom", "custom": {"name": "exec", "input": ""}},
        {"index": 0, "custom": {"input": "ls "}},
        {"index": 0, "custom": {"input": "-l"}},
        {
            "index": 1,
            "id": "call_2",
            "type": "function",
            "function": {"name": "wait", "arguments": ""},
        },
        {"index": 1, "function": {"arguments": "{}"}},
    ]


def test_custom_call_of_chat_is_no_legacy_call() -> None:
    request = openai_cases.parse(functions=[{"name": "f"}])
    response = openai_cases.answer([CALL], finish="tool_calls")
    (choice,) = openai_cases.render(request, response)["choices"]
    assert choice["message"]["tool_calls"][0]["custom"] == {"name": "exec", "input": "ls -l"}


@pytest.mark.parametrize("streamed", [False, True])
def test_recorded_custom_call_of_chat_is_a_scripted_call(streamed: bool) -> None:
    request = openai_cases.parse(stream=streamed)
    response = openai_cases.answer([CALL, replace(FUNCTION, namespace="")], finish="tool_calls")
    if streamed:
        body = openai_cases.stream(request, response, [3])
    else:
        body = openai_cases.CHAT.render(request, response)
    assert openai_cases.CHAT.decoder is not None
    decoded = openai_cases.CHAT.decoder.decode(body)
    assert decoded is not None
    assert decoded.lost == ()
    assert decoded.to_produce()["tool_calls"] == [
        {"id": "call_1", "name": "exec", "input": "ls -l"},
        {"id": "call_2", "name": "wait"},
    ]
