"""Imported fixtures of aimock and mappings of WireMock, and notes on what is left out."""

import json
from typing import Any

from tests.recording.files import read_error, read_recording
from tests.recording.interactions import ANSWER, CHAT_BODY


def test_aimock_fixtures_are_imported() -> None:
    fixtures: list[dict[str, Any]] = [
        {"match": {"userMessage": "hello"}, "response": {"content": "Hi", "reasoning": "Hm."}},
        {
            "match": {
                "userMessage": "weather",
                "systemMessage": ["a", "b"],
                "toolName": "get_weather",
                "model": "gpt-4o",
                "hasToolResult": True,
                "turnIndex": 1,
                "sequenceIndex": 0,
                "responseFormat": "json",
            },
            "response": {
                "toolCalls": [{"name": "get_weather", "arguments": '{"city": "Paris"}', "id": "c"}],
                "finishReason": "tool_calls",
                "usage": {"prompt_tokens": 3, "completion_tokens": 4},
            },
            "latency": 10,
            "chunkSize": 5,
        },
        {
            "match": {"toolCallId": "c", "toolResultContains": "ok"},
            "response": {"content": {"a": 1}},
        },
        {
            "match": {"model": "m"},
            "response": {"error": {"message": "Slow down", "type": "t"}, "status": 429},
        },
        {"match": {"inputText": "x"}, "response": {"embedding": [0.5]}},
        {
            "response": {
                "blocks": [{"type": "toolCall", "name": "f"}, {"type": "text", "text": "x"}]
            }
        },
        {"match": {}, "response": {"image": {"url": "x"}}},
    ]
    conversion = read_recording({"fixtures": fixtures}, "fixtures.json")
    first, second, third, fourth, fifth, sixth = conversion.document["steps"]
    assert first == {
        "match": {"messages": [{"role": "user", "which": "last", "contains": "hello"}]},
        "produce": {"reasoning": [{"text": "Hm."}], "text": "Hi"},
        "consume": False,
    }
    assert second["match"]["tools"] == ["get_weather"]
    assert [m["contains"] for m in second["match"]["messages"]] == ["a", "b", "weather"]
    assert second["match"]["tool_results"] == [{"regex": "^"}]
    assert (second["turn"], "consume" in second) == (2, False)
    assert second["produce"]["tool_calls"][0]["arguments"] == {"city": "Paris"}
    assert second["produce"]["usage"] == {"input_tokens": 3, "output_tokens": 4}
    assert second["produce"]["pacing"] == {"first_ms": 10, "chunk_ms": 10}
    assert third["match"]["tool_results"] == [{"tool_call_id": "c"}]
    assert third["produce"] == {"text": '{"a": 1}'}
    fault = {"kind": "http", "status": 429, "message": "Slow down", "type": "t"}
    assert fourth["produce"] == {"fault": fault}
    assert fifth["produce"]["raw"]["body"]["data"][0]["embedding"] == [0.5]
    assert sixth["produce"]["parts"] == [
        {"tool_call": {"name": "f", "arguments": {}}},
        {"text": "x"},
    ]
    assert conversion.notes == (
        "fixture 2: responseFormat is not carried over",
        "fixture 2: chunkSize is not carried over",
        "fixture 5: inputText is not carried over",
        "left out: fixture 7: an answer that is no text, call or error",
    )


def mapping(**keys: Any) -> dict[str, Any]:
    request = {"method": "POST", "urlPath": "/v1/chat/completions", **keys.pop("request", {})}
    response = {"status": 200, "jsonBody": ANSWER, **keys.pop("response", {})}
    return {"request": request, "response": response, **keys}


def test_wiremock_mappings_are_imported() -> None:
    mappings = [
        mapping(
            request={
                "bodyPatterns": [
                    {"equalToJson": json.dumps(CHAT_BODY), "ignoreExtraElements": True}
                ]
            }
        ),
        mapping(
            priority=1,
            request={"bodyPatterns": [{"contains": "hello"}, {"matchesJsonPath": "$.x"}]},
            response={"fixedDelayMilliseconds": 20, "transformers": ["x"]},
            scenarioName="s",
        ),
        mapping(request={"urlPath": "/orders"}),
        {
            "request": {"urlPathPattern": "/v1/models/[^/]+", "method": "GET"},
            "response": {"status": 404, "body": "nope", "headers": {"content-type": "text/plain"}},
        },
    ]
    conversion = read_recording({"mappings": mappings}, "mappings.json")
    first, exact, models = conversion.document["steps"]
    assert first["match"]["messages"] == [{"which": "any", "contains": "hello"}]
    assert "recorded" not in first["match"] and first["produce"]["latency_ms"] == 20
    assert exact["match"]["recorded"]["body"] == CHAT_BODY
    assert exact["produce"]["text"] == "Hi" and exact["consume"] is False
    assert models["produce"]["raw"]["status"] == 404
    assert conversion.notes == (
        "mapping 2: matchesJsonPath is not carried over",
        "mapping 2: scenarioName is not carried over",
        "mapping 2: transformers is not carried over",
        "mapping 1: ignoreExtraElements is not carried over",
        "left out: mapping 3: /orders is no path of a provider here",
    )
    assert read_recording(mapping(response={"jsonBody": None, "base64Body": "aGk="})).steps == 1
    assert "Base64" in read_error(mapping(response={"jsonBody": None, "base64Body": "%"}))


def test_braces_in_an_answer_of_wiremock_stay_literal() -> None:
    message = {**ANSWER["choices"][0]["message"], "content": "Hi {{ name }}"}
    answer = {**ANSWER, "choices": [{**ANSWER["choices"][0], "message": message}]}
    conversion = read_recording(mapping(response={"jsonBody": answer}))
    assert conversion.document["variables"] == {"braces": "{{"}
    assert conversion.document["steps"][0]["produce"]["text"] == "Hi {{ braces }} name }}"


def test_wiremock_body_with_a_lone_surrogate_is_imported() -> None:
    request = {"method": "POST", "url": "/v1/chat/completions"}
    request |= {"bodyPatterns": [{"equalTo": "\ud800"}]}
    mapping = {"request": request, "response": {"status": 200, "body": "x"}}
    assert len(read_recording({"mappings": [mapping]}).document["steps"]) == 1
