"""HAR, aimock, WireMock, logs and traces: what each says, and what is not carried over."""

import base64
import json
from typing import Any

from scenarios_app.recording.importers.formats import recording
from tests.recording.files import interactions, read, refused
from tests.recording.interactions import CHAT, MESSAGES, SAID

ANSWER = {
    "id": "c",
    "choices": [{"index": 0, "message": {"content": "Hi"}, "finish_reason": "stop"}],
}


def entry(method: str = "POST", status: int = 200, **content: Any) -> dict[str, Any]:
    headers = [{"name": "Authorization", "value": "Bearer x"}]
    posted = {"mimeType": "application/json", "text": json.dumps(SAID)}
    answer = {"mimeType": "application/json", "text": json.dumps(ANSWER), **content}
    return {
        "timings": {"wait": 120.5},
        "request": {"method": method, "url": CHAT, "headers": headers, "postData": posted},
        "response": {
            "status": status,
            "headers": [["content-type", "application/json"]],
            "content": answer,
        },
    }


def test_an_archive_of_a_browser() -> None:
    encoded = {"text": base64.b64encode(b"\xff").decode(), "encoding": "base64"}
    entries = [
        entry(),
        entry(**encoded),
        entry("OPTIONS", 204),
        entry(status=0),
        entry(text=None, size=9),
    ]
    har = {"log": {"version": "1.2", "entries": entries}}
    first, second, third = interactions(har, "site.har")
    assert first.response.chunks == ((120.5, json.dumps(ANSWER).encode()),)
    assert second.response.body == b"\xff"
    assert third.notes == ("its answer is not whole: the archive has no body for it",)
    made = read(har, "site.har")
    assert f"left out: POST {CHAT}: it has no answer" in made.notes
    assert "step 3: its answer is not whole: the archive has no body for it" in made.notes
    assert "Base64" in refused({"log": {"entries": [entry(**encoded | {"text": "%"})]}}, "a.har")


def test_fixtures_of_aimock() -> None:
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
    made = read({"fixtures": fixtures}, "fixtures.json")
    one, two, three, four, five, six = made.document["steps"]
    assert one == {
        "match": {"messages": [{"role": "user", "which": "last", "contains": "hello"}]},
        "produce": {"reasoning": [{"text": "Hm."}], "text": "Hi"},
        "consume": False,
    }
    assert two["match"]["tools"] == ["get_weather"]
    assert [m["contains"] for m in two["match"]["messages"]] == ["a", "b", "weather"]
    assert two["match"]["tool_results"] == [{"regex": "^"}]
    assert (two["turn"], "consume" in two) == (2, False)
    assert two["produce"]["tool_calls"][0]["arguments"] == {"city": "Paris"}
    assert two["produce"]["usage"] == {"input_tokens": 3, "output_tokens": 4}
    assert two["produce"]["pacing"] == {"first_ms": 10, "chunk_ms": 10}
    assert three["match"]["tool_results"] == [{"tool_call_id": "c"}]
    assert three["produce"] == {"text": '{"a": 1}'}
    fault = {"kind": "http", "status": 429, "message": "Slow down", "type": "t"}
    assert four["produce"] == {"fault": fault}
    assert five["produce"]["raw"]["body"]["data"][0]["embedding"] == [0.5]
    assert six["produce"]["parts"] == [
        {"tool_call": {"name": "f", "arguments": {}}},
        {"text": "x"},
    ]
    assert made.notes == (
        "fixture 2: responseFormat is not carried over",
        "fixture 2: chunkSize is not carried over",
        "fixture 5: inputText is not carried over",
        "left out: fixture 7: an answer that is no text, call or error",
    )


def mapping(**keys: Any) -> dict[str, Any]:
    request = {"method": "POST", "urlPath": "/v1/chat/completions", **keys.pop("request", {})}
    response = {"status": 200, "jsonBody": ANSWER, **keys.pop("response", {})}
    return {"request": request, "response": response, **keys}


def test_mappings_of_wiremock() -> None:
    mappings = [
        mapping(
            request={
                "bodyPatterns": [{"equalToJson": json.dumps(SAID), "ignoreExtraElements": True}]
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
    made = read({"mappings": mappings}, "mappings.json")
    first, exact, models = made.document["steps"]
    assert first["match"]["messages"] == [{"which": "any", "contains": "hello"}]
    assert "recorded" not in first["match"] and first["produce"]["latency_ms"] == 20
    assert exact["match"]["recorded"]["body"] == SAID
    assert exact["produce"]["text"] == "Hi" and exact["consume"] is False
    assert models["produce"]["raw"]["status"] == 404
    assert made.notes == (
        "mapping 1: matchesJsonPath is not carried over",
        "mapping 1: scenarioName is not carried over",
        "mapping 1: transformers is not carried over",
        "mapping 2: ignoreExtraElements is not carried over",
        "left out: mapping 3: /orders is no path of a provider here",
    )
    assert read(mapping(response={"jsonBody": None, "base64Body": "aGk="})).steps == 1
    assert "Base64" in refused(mapping(response={"jsonBody": None, "base64Body": "%"}))


def test_a_log_of_calls() -> None:
    lines = [
        {"request": SAID, "response": ANSWER},
        {
            "request": {"url": MESSAGES, "body": SAID, "headers": {}},
            "response": {"status": 400, "body": {"error": {}}},
        },
        {
            "path": "/v1/embeddings",
            "request": {"model": "e", "input": "x"},
            "answer": "raw text",
            "status": 200,
        },
        {"request": {"model": "claude-x", "messages": []}, "response": {"content": []}},
        {"request": {"model": "gemini-x", "contents": []}, "response": {"candidates": []}},
        {"request": {"model": "m", "input": "x"}, "response": {"output": []}},
        {"request": {"model": "text-embedding-3", "input": "x"}, "response": {"data": []}},
        {"request": SAID, "response": ANSWER, "query": "a=b", "headers": {"x-request-id": "r"}},
    ]
    text = "\n".join(map(json.dumps, lines)) + "\n\u2028\n".strip()
    found = recording(text.encode(), source="log.jsonl")
    assert found is not None
    places = [one.request.url.rpartition("/")[2] for one in found.interactions()]
    assert places == [
        *("completions", "messages", "embeddings", "messages", "gemini-x:generateContent"),
        *("responses", "embeddings", "completions?a=b"),
    ]
    statuses = [one.response.status for one in found.interactions()]
    assert statuses == [200, 400, 200, 200, 200, 200, 200, 200]
    assert found.interactions()[2].response.body == b"raw text"
    assert dict(found.interactions()[7].response.headers) == {"x-request-id": "r"}


def test_batches_of_both_providers() -> None:
    lines = [
        {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": SAID},
        {"custom_id": "a", "response": {"status_code": 200, "body": ANSWER}},
        {"custom_id": "b", "params": SAID},
        {"custom_id": "b", "result": {"type": "succeeded", "message": {"content": []}}},
        {"custom_id": "c", "params": SAID},
        {"custom_id": "c", "result": {"type": "errored", "error": {"type": "error"}}},
        {"custom_id": "d", "params": SAID},
        {"custom_id": "e", "response": {"body": {}}},
    ]
    made = read("\n".join(map(json.dumps, lines)).encode(), "batch.jsonl")
    assert made.steps == 3
    assert "left out: line 7: a request whose answer is not in the file" in made.notes
    assert "left out: line 8: an answer whose request is not in the file" in made.notes
    assert [step["match"]["path"] for step in made.document["steps"]] == [
        "/v1/chat/completions",
        "/v1/messages",
        "/v1/messages",
    ]


def test_conversations_that_models_are_tuned_with() -> None:
    messages = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "Hello", "weight": 0},
        {"role": "user", "content": "bye"},
        {"role": "assistant", "content": "Bye"},
    ]
    made = read(json.dumps({"messages": messages}).encode(), "tuning.jsonl")
    first, second = made.document["steps"]
    assert first["produce"]["text"] == "Hello" and second["produce"]["text"] == "Bye"
    assert len(second["match"]["recorded"]["body"]["messages"]) == 3


def attributes(**values: Any) -> list[dict[str, Any]]:
    def held(value: Any) -> dict[str, Any]:
        match value:
            case bool():
                return {"boolValue": value}
            case int():
                return {"intValue": str(value)}
            case list():
                return {"arrayValue": {"values": [held(item) for item in value]}}
            case dict():
                pairs = [{"key": k, "value": held(v)} for k, v in value.items()]
                return {"kvlistValue": {"values": pairs}}
            case None:
                return {}
            case _:
                return {"stringValue": value}

    return [{"key": key.replace("__", "."), "value": held(value)} for key, value in values.items()]


def otlp(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


def test_a_trace_with_genai_attributes() -> None:
    asked = [
        {"role": "system", "parts": [{"type": "text", "content": "Be kind."}]},
        {"role": "user", "parts": [{"type": "text", "content": "Weather?"}]},
    ]
    call = {"type": "tool_call", "id": "c", "name": "get", "arguments": {"city": "Paris"}}
    result = {
        "role": "tool",
        "parts": [{"type": "tool_call_response", "id": "c", "response": "sunny"}],
    }
    said = [
        {
            "role": "assistant",
            "parts": [{"type": "reasoning", "content": "Hm."}, call, {**call, "id": "d"}],
            "finish_reason": "tool_call",
        }
    ]
    first = {
        "name": "chat gpt-4o",
        "startTimeUnixNano": "2",
        "attributes": attributes(
            gen_ai__operation__name="chat",
            gen_ai__provider__name="azure.ai.openai",
            gen_ai__request__model="gpt-4o",
            gen_ai__usage__input_tokens=5,
            gen_ai__tool__definitions=json.dumps([{"type": "function", "name": "get"}]),
        ),
        "events": [
            {
                "attributes": [
                    *attributes(other=True),
                    {"key": "gen_ai.input.messages", "value": {"stringValue": json.dumps(asked)}},
                    {"key": "gen_ai.output.messages", "value": {"stringValue": json.dumps(said)}},
                ]
            }
        ],
    }
    second = {
        "name": "chat",
        "startTimeUnixNano": 3,
        "attributes": [
            *attributes(gen_ai__system="unheard-of"),
            *attributes(gen_ai__response__finish_reasons=["length"]),
            {
                "key": "gen_ai.input.messages",
                "value": {"stringValue": json.dumps([*asked, *said, result])},
            },
            *attributes(
                gen_ai__output__messages=[
                    {"role": "assistant", "parts": [{"type": "text", "content": "Sun."}]}
                ]
            ),
        ],
    }
    numbered = {
        "name": "old",
        "startTimeUnixNano": "4",
        "attributes": attributes(
            gen_ai__prompt__0__role="user",
            gen_ai__prompt__0__content="Bye",
            gen_ai__completion__0__content="Bye!",
        ),
    }
    others = [
        {"name": "tool", "attributes": attributes(gen_ai__operation__name="execute_tool")},
        {
            "name": "execute_tool get",
            "startTimeUnixNano": "2000000",
            "endTimeUnixNano": "9000000",
            "attributes": attributes(
                gen_ai__operation__name="execute_tool",
                gen_ai__tool__call__id="d",
                gen_ai__tool__call__result="out of reach",
                error__type="RuntimeError",
            ),
        },
        {"name": "GET /", "attributes": attributes(http__method="GET")},
        {"name": "silent", "attributes": attributes(gen_ai__operation__name="chat")},
    ]
    made = read([otlp(numbered, second), otlp(first, *others)], "spans.json")
    one, two, three = made.document["steps"]
    assert one["match"] == {
        "provider": "openai",
        "model": "gpt-4o",
        "messages": [{"role": "user", "which": "last", "equals": "Weather?"}],
    }
    assert one["turn"] == 1 and two["turn"] == 2
    assert one["expect"] == {"tools": ["get"], "allow_missing_tools": True}
    called = {"name": "get", "arguments": {"city": "Paris"}}
    failed = {"text": "out of reach", "is_error": True, "ms": 7}
    assert one["produce"] == {
        "reasoning": [{"text": "Hm."}],
        "tool_calls": [
            {"id": "c", **called, "result": "sunny"},
            {"id": "d", **called, "result": failed},
        ],
        "usage": {"input_tokens": 5},
    }
    assert two["match"]["messages"][1] == {"role": "tool", "which": "last", "equals": "sunny"}
    assert two["produce"] == {"text": "Sun.", "finish_reason": "length"}
    assert three["produce"] == {"text": "Bye!"}
    assert made.notes == ("left out: span silent: it does not say what the model answered",)


def test_a_trace_of_the_chat() -> None:
    called = [{"tool_call": {"id": id, "name": "get", "arguments": '{"a": 1}'}} for id in "cdefgh"]
    calls: list[dict[str, Any]] = [
        {
            "number": 1,
            "purpose": "answer",
            "parts": [{"thinking": "Hm."}, *called],
            "tools": ["get", "set"],
            "finish_reason": "tool_calls",
        },
        {"number": 2, "purpose": "summary", "parts": []},
        {"number": 3, "purpose": "answer", "parts": [{"text": "{{ x }}"}], "input_tokens": 3},
        {"number": 4, "purpose": "answer", "parts": [], "code": "NETWORK_ERROR"},
    ]
    gone = {"is_error": True, "code": "SERVICE_UNAVAILABLE"}
    outputs = [
        {"tool_call_id": "d", "output": "rai", "truncated": True},
        {"tool_call_id": "c", "output": "sunny", "truncated": False},
        {"tool_call_id": "e", "output": "Error: no", "is_error": True},
        {"tool_call_id": "f", "output": "Error: slow", **gone},
        {"tool_call_id": "g", "output": "Error: gone", **gone},
        {"tool_call_id": "h", "output": "Error: what?", "is_error": True, "code": "NOT_FOUND"},
    ]
    ends = [
        {"tool_call_id": "f", "status": "timeout", "duration_ms": 30_000},
        {"tool_call_id": "c", "status": "success", "duration_ms": 12},
    ]
    events = [{"type": "tool_output", **one} for one in outputs]
    events += [{"type": "tool_end", **one} for one in ends]
    made = read({"trace_id": "t", "events": events, "model_calls": calls}, "trace.json")
    first, second = made.document["steps"]
    assert first["expect"] == {"tools": ["get", "set"], "allow_missing_tools": True}
    results = {call["id"]: call.get("result") for call in first["produce"]["tool_calls"]}
    assert results == {
        "c": {"text": "sunny", "ms": 12},
        "d": None,
        "e": {"text": "Error: no", "is_error": True},
        "f": {"fault": "timeout", "ms": 30_000},
        "g": {"fault": "disconnect"},
        "h": None,
    }
    said = [condition["equals"] for condition in second["match"]["messages"]]
    assert said == ["sunny", *("Error: no", "Error: slow", "Error: gone", "Error: what?")]
    assert second["produce"]["text"] == "{{ braces }} x }}"
    assert made.notes[1] == "left out: the result of d: the trace holds only its beginning"
    assert made.notes[2] == "left out: call 4: it failed with NETWORK_ERROR"
