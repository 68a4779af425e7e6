"""Results of tool calls: scripted beside the call, or read from recorded requests."""

import json
from typing import Any

import pytest

from scenarios_app.engine.document import load_documents
from scenarios_app.recording import Interaction
from scenarios_app.recording.document import to_document
from scenarios_app.recording.tools import NotRecorded, RecordedTools
from tests.recording.interactions import (
    CHAT,
    GEMINI,
    MESSAGES,
    OLLAMA,
    RESPONSES,
    request,
    response,
)

PARIS, ROME = {"city": "Paris"}, {"city": "Rome"}
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}


def load_tools(*answers: dict[str, Any], **others: Any) -> RecordedTools:
    document = {"name": "t", "steps": [{"produce": answer} for answer in answers], **others}
    return RecordedTools(load_documents(document))


def call(arguments: Any, result: Any = None, name: str = "get") -> dict[str, Any]:
    return {"name": name, "arguments": arguments} | ({} if result is None else {"result": result})


def test_result_is_found_by_arguments_in_any_order() -> None:
    both = {"city": "Paris", "days": [1, {"a": None, "b": 2}]}
    reordered = {"days": [1, {"b": 2, "a": None}], "city": "Paris"}
    tools = load_tools({"tool_calls": [call(PARIS, "18"), call(json.dumps(both), "a week")]})
    assert tools.result("get", PARIS).text == "18"
    assert tools.result("get", reordered).text == "a week"


def test_equal_calls_get_their_results_in_order_then_repeat() -> None:
    steps = [{"tool_calls": [call(PARIS, str(n))]} for n in range(3)]
    tools = load_tools(*steps)
    texts = [tools.result("get", PARIS).text for _ in range(5)]
    assert texts == ["0", "1", "2", "0", "1"]


def test_results_are_read_from_parts_choices_and_both_modes() -> None:
    parts = {"parts": [{"tool_call": call({"n": 1}, "parts")}]}
    choices = {"choices": [{"tool_calls": [call({"n": 2}, "choices")]}]}
    modes = {
        mode: {"tool_calls": [call({"n": 3}, mode)]} for mode in ("streaming", "non_streaming")
    }
    tools = load_tools(
        parts, choices, modes, {"non_streaming": {"tool_calls": [call({"n": 4}, "one")]}}
    )
    texts = [tools.result("get", {"n": n}).text for n in (1, 2, 3, 3, 4)]
    assert texts == ["parts", "choices", "streaming", "streaming", "one"]


def test_variables_are_filled_in_results_and_arguments() -> None:
    city = {"city": 'Pa"ris'}
    template_call = call(
        {"in": "{{ city }}"}, "{{ city }}, {{ request.model }}", name="get_{{ kind }}"
    )
    tools = load_tools({"tool_calls": [template_call]}, variables={**city, "kind": "weather"})
    result = tools.result("get_weather", {"in": 'Pa"ris'})
    assert result.text == 'Pa"ris, {{ request.model }}'


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("get", ROME, 'get with {"city":"Rome"} was not recorded: recorded are {"city":"Paris"}'),
        ("set", {}, "set with {} was not recorded: no call of it was"),
        ("let", {}, "no tool let was recorded"),
    ],
)
def test_unrecorded_call_error_lists_recorded_calls(
    name: str, arguments: dict[str, Any], message: str
) -> None:
    document: dict[str, Any] = {
        "name": "t",
        "steps": [{"expect": {"tools": ["set"]}, "produce": {"tool_calls": [call(PARIS, "18")]}}],
    }
    tools = RecordedTools(load_documents(document))
    with pytest.raises(NotRecorded) as error:
        tools.result(name, arguments)
    assert str(error.value) == message


def test_error_lists_few_calls_and_cuts_long_ones() -> None:
    calls = [call({"text": f"{n}{'x' * 500}"}, "y") for n in range(6)]
    with pytest.raises(NotRecorded) as error:
        load_tools({"tool_calls": calls}).result("get", {})
    assert str(error.value).endswith("…, 3 more")
    assert len(str(error.value)) < 800


def test_calls_with_broken_arguments_are_ignored() -> None:
    tools = load_tools({"tool_calls": [call('{"city": ', "nothing"), call("", "18")]})
    assert tools.result("get", {}).text == "18"


def test_result_beside_a_recorded_call_keeps_the_recording_unedited() -> None:
    message = {"role": "assistant", "tool_calls": [_chat_call("c", PARIS)]}
    body = {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
    document = to_document("one", [Interaction(request(), response(body))]).document
    document["steps"][0]["produce"]["tool_calls"][0]["result"] = "18"
    (unedited,) = load_documents(document)
    assert unedited.steps[0].produce.is_unedited_recording
    assert RecordedTools([unedited]).result("get", PARIS).text == "18"
    document["steps"][0]["produce"]["tool_calls"][0]["name"] = "set"
    (edited,) = load_documents(document)
    assert not edited.steps[0].produce.is_unedited_recording


def _chat_call(id: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": id,
        "type": "function",
        "function": {"name": "get", "arguments": json.dumps(arguments)},
    }


# The same conversation in each provider's format: a tool, two calls of it, and their results.
REQUEST_BODIES: dict[str, Any] = {
    CHAT: {
        "model": "m",
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "tool_calls": [_chat_call("c", PARIS), _chat_call("d", ROME)]},
            {"role": "tool", "tool_call_id": "c", "content": "18"},
            {"role": "tool", "tool_call_id": "d", "content": "21"},
        ],
        "tools": [
            {
                "type": "function",
                "function": {"name": "get", "description": "It gets.", "parameters": SCHEMA},
            }
        ],
    },
    RESPONSES: {
        "model": "m",
        "input": [
            {"role": "user", "content": "hi"},
            {
                "type": "function_call",
                "call_id": "c",
                "name": "get",
                "arguments": json.dumps(PARIS),
            },
            {"type": "function_call", "call_id": "d", "name": "get", "arguments": json.dumps(ROME)},
            {"type": "function_call_output", "call_id": "c", "output": "18"},
            {"type": "function_call_output", "call_id": "d", "output": "21"},
        ],
        "tools": [
            {"type": "function", "name": "get", "description": "It gets.", "parameters": SCHEMA}
        ],
    },
    MESSAGES: {
        "model": "m",
        "max_tokens": 9,
        "messages": [
            {"role": "user", "content": "hi"},
            {
                "role": "assistant",
                "content": [
                    {"type": "tool_use", "id": "c", "name": "get", "input": PARIS},
                    {"type": "tool_use", "id": "d", "name": "get", "input": ROME},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c", "content": "18"},
                    {"type": "tool_result", "tool_use_id": "d", "content": "21"},
                ],
            },
        ],
        "tools": [{"name": "get", "description": "It gets.", "input_schema": SCHEMA}],
    },
    f"{GEMINI}:generateContent": {
        "contents": [
            {"role": "user", "parts": [{"text": "hi"}]},
            {
                "role": "model",
                "parts": [
                    {"functionCall": {"name": "get", "args": PARIS}},
                    {"functionCall": {"name": "get", "args": ROME}},
                ],
            },
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"name": "get", "response": {"output": "18"}}},
                    {"functionResponse": {"name": "get", "response": {"output": "21"}}},
                ],
            },
        ],
        "tools": [
            {
                "functionDeclarations": [
                    {"name": "get", "description": "It gets.", "parameters": SCHEMA}
                ]
            }
        ],
    },
    OLLAMA: {
        "model": "m",
        "messages": [
            {"role": "user", "content": "hi"},
            {
                "role": "assistant",
                "tool_calls": [
                    {"function": {"name": "get", "arguments": PARIS}},
                    {"function": {"name": "get", "arguments": ROME}},
                ],
            },
            {"role": "tool", "tool_name": "get", "content": "18"},
            {"role": "tool", "tool_name": "get", "content": "21"},
        ],
        "tools": [
            {
                "type": "function",
                "function": {"name": "get", "description": "It gets.", "parameters": SCHEMA},
            }
        ],
    },
}


@pytest.mark.parametrize("url", REQUEST_BODIES)
def test_results_are_read_from_recorded_requests(url: str) -> None:
    # The second request repeats the first one's calls, but each result was sent once.
    interactions = [
        Interaction(request(url, REQUEST_BODIES[url]), response({"error": {}}, 500))
        for _ in range(2)
    ]
    tools = RecordedTools(load_documents(to_document("one", interactions).document))
    (offered,) = tools.offered
    assert (offered.name, offered.description, offered.schema) == ("get", "It gets.", SCHEMA)
    assert "18" in tools.result("get", PARIS).text
    assert "21" in tools.result("get", ROME).text


def test_equal_calls_of_a_recording_get_their_results_in_order() -> None:
    first = REQUEST_BODIES[CHAT]
    later = json.loads(json.dumps(first))
    later["messages"] += [
        {"role": "assistant", "tool_calls": [_chat_call("e", PARIS)]},
        {"role": "tool", "tool_call_id": "e", "content": "19"},
    ]
    interactions = [Interaction(request(CHAT, body), response({}, 500)) for body in (first, later)]
    tools = RecordedTools(load_documents(to_document("one", interactions).document))
    assert [tools.result("get", PARIS).text for _ in range(3)] == ["18", "19", "18"]


def test_input_of_a_custom_tool_is_an_argument_over_mcp() -> None:
    script = {"name": "exec", "input": "ls", "result": "a b"}
    assert load_tools({"tool_calls": [script]}).result("exec", {"input": "ls"}).text == "a b"


def test_recorded_calls_of_custom_tools_give_their_results() -> None:
    call = {"type": "custom_tool_call", "call_id": "c1", "name": "exec", "input": "ls"}
    result = {"type": "custom_tool_call_output", "call_id": "c1", "output": "a b"}
    body = {"model": "m", "input": [{"role": "user", "content": "hi"}, call, result]}
    interaction = Interaction(request(RESPONSES, body), response({"output": []}))
    document = to_document("t", [interaction]).document
    tools = RecordedTools(load_documents(document))
    assert tools.result("exec", {"input": "ls"}).text == "a b"
