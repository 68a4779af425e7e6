"""Small recordings of every format that can be imported, for the fuzz test to mutate."""

import json
from typing import Any, Final

_URL: Final = "https://api.openai.com/v1/chat/completions"
_REQUEST_BODY: Final = {
    "model": "gpt-4o",
    "messages": [{"role": "user", "content": "Weather?"}],
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}],
}
_CALL: Final = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
_ANSWER: Final = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-4o",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "Sunny.", "tool_calls": [_CALL]},
            "finish_reason": "stop",
        }
    ],
    "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
}
_STREAM: Final = 'data: {"choices": [{"index": 0, "delta": {"content": "Hi"}}]}\n\ndata: [DONE]\n\n'
_CASSETTE: Final = {
    "version": 1,
    "interactions": [
        {
            "request": {
                "method": "POST",
                "uri": _URL,
                "headers": {"authorization": ["Bearer sk-1234567890abcdef1234567890"]},
                "body": json.dumps(_REQUEST_BODY),
            },
            "response": {
                "status": {"code": 200, "message": "OK"},
                "headers": {"content-type": ["application/json"]},
                "body": {"string": body},
            },
        }
        for body in (json.dumps(_ANSWER), _STREAM)
    ],
}
_OTLP_ATTRIBUTES: Final = [
    {"key": key, "value": {"stringValue": value}}
    for key, value in {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-4o",
        "gen_ai.input.messages": json.dumps(
            [{"role": "user", "parts": [{"type": "text", "content": "Hi"}]}]
        ),
        "gen_ai.output.messages": json.dumps(
            [
                {
                    "role": "assistant",
                    "parts": [
                        {"type": "text", "content": "Hello"},
                        {"type": "tool_call", "id": "c", "name": "f", "arguments": {"a": 1}},
                    ],
                    "finish_reason": "stop",
                }
            ]
        ),
    }.items()
]
_OTLP_SPAN: Final = {
    "name": "chat",
    "startTimeUnixNano": "1",
    "endTimeUnixNano": 2,
    "attributes": [
        *_OTLP_ATTRIBUTES,
        {"key": "gen_ai.tool.call.id", "value": {"stringValue": "c"}},
        {"key": "gen_ai.tool.call.result", "value": {"stringValue": "sunny"}},
    ],
}
# A file of each format: its suffix and its values, those of JSONL line by line.
SAMPLES: Final[dict[str, tuple[str, Any]]] = {
    "vcrpy": (".yaml", _CASSETTE),
    "vcrpy_json": (".json", _CASSETTE),
    "har": (
        ".har",
        {
            "log": {
                "version": "1.2",
                "entries": [
                    {
                        "request": {
                            "method": "POST",
                            "url": f"{_URL}?key=abc",
                            "headers": [{"name": "x-api-key", "value": "sk-ant-1234567890abcdef"}],
                            "postData": {
                                "mimeType": "application/json",
                                "text": json.dumps(_REQUEST_BODY),
                            },
                        },
                        "response": {
                            "status": 200,
                            "headers": [{"name": "content-type", "value": "application/json"}],
                            "content": {"size": 2, "text": json.dumps(_ANSWER)},
                        },
                        "timings": {"wait": 12.5},
                    }
                ],
            }
        },
    ),
    "aimock": (
        ".json",
        {
            "fixtures": [
                {
                    "match": {"userMessage": "hi", "model": "gpt-4o", "turnIndex": 0},
                    "response": {
                        "content": "Hello",
                        "toolCalls": [{"name": "f", "arguments": "{}"}],
                    },
                    "latency": 5,
                },
                {
                    "match": {"toolCallId": "c1"},
                    "response": {"error": {"message": "no"}, "status": 429},
                },
                {
                    "match": {"hasToolResult": True, "sequenceIndex": 0},
                    "response": {
                        "blocks": [{"type": "text", "text": "a"}],
                        "usage": {"input_tokens": 1},
                    },
                },
            ]
        },
    ),
    "wiremock": (
        ".json",
        {
            "mappings": [
                {
                    "priority": 1,
                    "request": {
                        "method": "POST",
                        "urlPathPattern": "^/v1/chat/.*completions$",
                        "queryParameters": {"a": {"equalTo": "b"}},
                        "headers": {"content-type": {"equalTo": "application/json"}},
                        "bodyPatterns": [
                            {"contains": "hi"},
                            {"equalToJson": json.dumps(_REQUEST_BODY)},
                        ],
                    },
                    "response": {
                        "status": 200,
                        "jsonBody": _ANSWER,
                        "headers": {"x-request-id": "1"},
                        "fixedDelayMilliseconds": 10,
                    },
                },
                {
                    "request": {"method": "ANY", "url": "/v1/chat/completions"},
                    "response": {"status": 500, "base64Body": "e30="},
                },
            ]
        },
    ),
    "jsonl": (
        ".jsonl",
        [
            {
                "request": {"body": _REQUEST_BODY, "url": _URL},
                "response": {"status": 200, "body": _ANSWER},
            },
            {
                "custom_id": "a",
                "method": "POST",
                "url": "/v1/chat/completions",
                "body": _REQUEST_BODY,
            },
            {"custom_id": "a", "response": {"status_code": 200, "body": _ANSWER}},
            {"messages": [*_REQUEST_BODY["messages"], {"role": "assistant", "content": "Sunny."}]},
        ],
    ),
    "otlp": (
        ".json",
        {"resourceSpans": [{"scopeSpans": [{"spans": [_OTLP_SPAN]}]}]},
    ),
    "trace": (
        ".json",
        {
            "trace_id": "t",
            "events": [
                {"type": "tool_output", "tool_call_id": "c", "output": "x", "is_error": False},
                {"type": "tool_end", "tool_call_id": "c", "status": "success", "duration_ms": 5},
            ],
            "model_calls": [
                {
                    "purpose": "answer",
                    "number": 1,
                    "tools": ["f"],
                    "finish_reason": "tool_calls",
                    "parts": [
                        {"tool_call": {"id": "c", "name": "f", "arguments": {}}},
                        {"text": "a"},
                    ],
                    "input_tokens": 1,
                }
            ],
        },
    ),
}
SAMPLES["websocket"] = (
    ".json",
    {
        "interactions": [
            {"direction": "sent", "data": {"type": "response.create", "input": "hi"}},
            {"direction": "received", "data": {"type": "error", "status": 400, "headers": {}}},
        ]
    },
)
# A document of this server, with many keys of its format.
SAMPLES["document"] = (
    ".json",
    {
        "name": "a",
        "description": "b",
        "tags": ["x"],
        "priority": 1,
        "variables": {"city": "Paris"},
        "system_prompt_must_include": ["be brief"],
        "steps": [
            {
                "name": "one",
                "consume": False,
                "turn": 1,
                "match": {
                    "provider": "openai",
                    "model": {"contains": "gpt"},
                    "messages": [{"role": "user", "which": "last", "regex": "^a(b|c)*$"}],
                    "tools": ["f"],
                    "headers": {"x-team": "qa"},
                },
                "failures": {"times": 2, "fault": {"kind": "http", "status": 429}},
                "produce": {
                    "text": "It is sunny in {{ city }}.",
                    "reasoning": "hm",
                    "tool_calls": [{"name": "f", "arguments": {"a": 1}}],
                    "latency_ms": 5,
                    "pacing": {"jitter": 0.5, "words_per_chunk": 2},
                    "usage": {"input_tokens": 3},
                },
            },
            {
                "match": {},
                "produce": {"fault": {"kind": "disconnect", "after_chunks": 2}, "text": "x"},
            },
        ],
    },
)
