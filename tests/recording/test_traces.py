"""Imported traces of OpenTelemetry and of the chat, and notes on what is left out."""

import json
from typing import Any

import pytest

from scenarios_app.wire.registry import providers
from tests.recording.files import read_recording


def attributes(**values: Any) -> list[dict[str, Any]]:
    def encode(value: Any) -> dict[str, Any]:
        match value:
            case bool():
                return {"boolValue": value}
            case int():
                return {"intValue": str(value)}
            case list():
                return {"arrayValue": {"values": [encode(item) for item in value]}}
            case dict():
                pairs = [{"key": k, "value": encode(v)} for k, v in value.items()]
                return {"kvlistValue": {"values": pairs}}
            case None:
                return {}
            case _:
                return {"stringValue": value}

    return [
        {"key": key.replace("__", "."), "value": encode(value)} for key, value in values.items()
    ]


def otlp(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


def test_trace_with_genai_attributes_is_imported() -> None:
    input_messages = [
        {"role": "system", "parts": [{"type": "text", "content": "Be kind."}]},
        {"role": "user", "parts": [{"type": "text", "content": "Weather?"}]},
    ]
    call = {"type": "tool_call", "id": "c", "name": "get", "arguments": {"city": "Paris"}}
    result = {
        "role": "tool",
        "parts": [{"type": "tool_call_response", "id": "c", "response": "sunny"}],
    }
    output_messages = [
        {
            "role": "assistant",
            "parts": [{"type": "reasoning", "content": "Hm."}, call, {**call, "id": "d"}],
            "finish_reason": "tool_call",
        }
    ]
    first_span = {
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
                    {
                        "key": "gen_ai.input.messages",
                        "value": {"stringValue": json.dumps(input_messages)},
                    },
                    {
                        "key": "gen_ai.output.messages",
                        "value": {"stringValue": json.dumps(output_messages)},
                    },
                ]
            }
        ],
    }
    second_span = {
        "name": "chat",
        "startTimeUnixNano": 3,
        "attributes": [
            *attributes(gen_ai__system="unheard-of"),
            *attributes(gen_ai__response__finish_reasons=["length"]),
            {
                "key": "gen_ai.input.messages",
                "value": {"stringValue": json.dumps([*input_messages, *output_messages, result])},
            },
            *attributes(
                gen_ai__output__messages=[
                    {"role": "assistant", "parts": [{"type": "text", "content": "Sun."}]}
                ]
            ),
        ],
    }
    numbered_span = {
        "name": "old",
        "startTimeUnixNano": "4",
        "attributes": attributes(
            gen_ai__prompt__0__role="user",
            gen_ai__prompt__0__content="Bye",
            gen_ai__completion__0__content="Bye!",
        ),
    }
    other_spans = [
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
    conversion = read_recording(
        [otlp(numbered_span, second_span), otlp(first_span, *other_spans)], "spans.json"
    )
    first_step, second_step, third_step = conversion.document["steps"]
    assert first_step["match"] == {
        "provider": "openai",
        "model": "gpt-4o",
        "messages": [{"role": "user", "which": "last", "equals": "Weather?"}],
    }
    assert first_step["turn"] == 1 and second_step["turn"] == 2
    assert first_step["expect"] == {"tools": ["get"], "allow_missing_tools": True}
    call_fields = {"name": "get", "arguments": {"city": "Paris"}}
    failed_result = {"text": "out of reach", "is_error": True, "ms": 7}
    assert first_step["produce"] == {
        "reasoning": [{"text": "Hm."}],
        "tool_calls": [
            {"id": "c", **call_fields, "result": "sunny"},
            {"id": "d", **call_fields, "result": failed_result},
        ],
        "usage": {"input_tokens": 5},
    }
    assert second_step["match"]["messages"][1] == {
        "role": "tool",
        "which": "last",
        "equals": "sunny",
    }
    assert second_step["produce"] == {"text": "Sun.", "finish_reason": "length"}
    assert third_step["produce"] == {"text": "Bye!"}
    assert conversion.notes == ("left out: span silent: it does not say what the model answered",)


def test_time_beyond_64_bits_counts_as_unknown() -> None:
    message = {"role": "assistant", "parts": [{"type": "tool_call", "id": "c", "name": "get"}]}
    span = {
        "startTimeUnixNano": 1,
        "endTimeUnixNano": 10**400,
        "attributes": attributes(
            gen_ai__tool__call__id="c",
            gen_ai__tool__call__result="sunny",
            gen_ai__output__messages=json.dumps([message]),
        ),
    }
    (step,) = read_recording(otlp(span)).document["steps"]
    assert step["produce"]["tool_calls"][0]["result"] == {"text": "sunny", "ms": 0}


def test_trace_of_the_chat_is_imported() -> None:
    tool_calls = [
        {"tool_call": {"id": id, "name": "get", "arguments": '{"a": 1}'}} for id in "cdefgh"
    ]
    calls: list[dict[str, Any]] = [
        {
            "number": 1,
            "purpose": "answer",
            "parts": [{"thinking": "Hm."}, *tool_calls],
            "tools": ["get", "set"],
            "finish_reason": "tool_calls",
        },
        {"number": 2, "purpose": "summary", "parts": []},
        {"number": 3, "purpose": "answer", "parts": [{"text": "{{ x }}"}], "input_tokens": 3},
        {"number": 4, "purpose": "answer", "parts": [], "code": "NETWORK_ERROR"},
    ]
    unavailable = {"is_error": True, "code": "SERVICE_UNAVAILABLE"}
    outputs = [
        {"tool_call_id": "d", "output": "rai", "truncated": True},
        {"tool_call_id": "c", "output": "sunny", "truncated": False},
        {"tool_call_id": "e", "output": "Error: no", "is_error": True},
        {"tool_call_id": "f", "output": "Error: slow", **unavailable},
        {"tool_call_id": "g", "output": "Error: gone", **unavailable},
        {"tool_call_id": "h", "output": "Error: what?", "is_error": True, "code": "NOT_FOUND"},
    ]
    ends = [
        {"tool_call_id": "f", "status": "timeout", "duration_ms": 30_000},
        {"tool_call_id": "c", "status": "success", "duration_ms": 12},
    ]
    events = [{"type": "tool_output", **output} for output in outputs]
    events += [{"type": "tool_end", **output} for output in ends]
    conversion = read_recording(
        {"trace_id": "t", "events": events, "model_calls": calls}, "trace.json"
    )
    first, second = conversion.document["steps"]
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
    equal_texts = [condition["equals"] for condition in second["match"]["messages"]]
    assert equal_texts == ["sunny", *("Error: no", "Error: slow", "Error: gone", "Error: what?")]
    assert second["produce"]["text"] == "{{ braces }} x }}"
    assert conversion.notes[1] == "left out: the result of d: the trace holds only its beginning"
    assert conversion.notes[2] == "left out: call 4: it failed with NETWORK_ERROR"


def read_provider(name: str) -> str:
    """Return the provider in the match of a span whose provider has this name."""
    output_messages = [{"role": "assistant", "parts": [{"type": "text", "content": "Hi"}]}]
    values = {"gen_ai.provider.name": name, "gen_ai.output.messages": json.dumps(output_messages)}
    span = {"name": "chat", "attributes": attributes(**values)}
    (step,) = read_recording(otlp(span), "spans.json").document["steps"]
    provider: str = step["match"].get("provider", "")
    return provider


@pytest.mark.parametrize(
    ("name", "provider"),
    [
        ("openai", "openai"),
        ("azure.ai.openai", "openai"),
        ("azure.ai.inference", "openai"),
        ("gcp.gemini", "gemini"),
        ("gcp.gen_ai", "gemini"),
        ("mistral_ai", "mistral"),
        ("x_ai", "xai"),
        ("vllm", "vllm"),
        ("azure", ""),
        ("aws.bedrock", ""),
    ],
)
def test_provider_of_a_span_has_our_name(name: str, provider: str) -> None:
    assert read_provider(name) == provider


@pytest.mark.parametrize("name", providers())
def test_every_provider_may_be_that_of_a_span(name: str) -> None:
    assert read_provider(name) == name
