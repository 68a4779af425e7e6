"""The calls that every transport must answer alike, and the scenarios that answer them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

from tests.serving.pipelines import Harness

MAX_BODY = 100_000
MAX_HEADERS = 4_096
TEXT = "one two three, größer als vier: “fünf” 六 🙂"
TOOL = {"name": "get_weather", "arguments": {"city": "Zürich", "days": [1, 2]}}
FAULTS: dict[str, dict[str, Any]] = {
    "http": {"status": 418, "message": "a teapot"},
    "rate_limit": {"retry_after_ms": 1500},
    "model_error": {},
    "timeout": {"hold_ms": 30},
    "network_error": {},
    "no_pong": {"hold_ms": 30},
    "refuse_upgrade": {},
    "invalid_response": {},
    "disconnect": {"after_chunks": 2},
    "close_socket": {},
    "truncate": {},
    "malformed_chunk": {},
    "stall": {"hold_ms": 30},
    "error_event": {"message": "in mid-stream"},
}
GEMINI = '{"contents":[{"role":"user","parts":[{"text":"Hällo"}]}]}'.encode()
# Longer than any test waits.
ENDLESS = {"chunk_ms": 90_000, "words_per_chunk": 1}
FAULTS_WITHOUT_TEXT = (
    *("http", "rate_limit", "model_error", "timeout", "network_error", "no_pong"),
    *("refuse_upgrade", "invalid_response"),
)


@dataclass(frozen=True)
class Case:
    """One HTTP request. Each case has its own key or session header, so none share a session."""

    name: str
    path: str
    body: bytes = b""
    method: str = "POST"
    headers: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.name


def case_harness() -> Harness:
    """Return a pipeline that answers all cases."""
    return Harness(
        *documents(), max_body_bytes=MAX_BODY, max_header_bytes=MAX_HEADERS, cors_origins=("*",)
    )


def documents() -> list[dict[str, Any]]:
    """Return one scenario for each model that a case requests."""
    scenarios = [
        _scenario_for("text", {"text": TEXT, "pacing": {"words_per_chunk": 2}}),
        _scenario_for("paced", {"text": "a b c", "pacing": {"chunk_ms": 5, "words_per_chunk": 1}}),
        _scenario_for("late", {"text": "late", "latency_ms": 20}),
        _scenario_for("tools", {"text": "Looking.", "tool_calls": [TOOL, TOOL]}),
        _scenario_for("größe/ä ö", {"text": TEXT}, name="schön & gut"),
        _scenario_for(
            "raw", {"raw": {"status": 201, "headers": {"x-latin": "caf\xe9"}, "body": "{}"}}
        ),
        _scenario_for("empty", {"raw": {"status": 204}}),
        _scenario_for(
            "effects",
            {"text": TEXT},
            side_effects={
                "status": 203,
                "headers": {"x-extra": "1"},
                "echo_headers": ["x-trace"],
            },
        ),
    ]
    scenarios += [
        _scenario_for("endless stream", {"text": "a b", "pacing": ENDLESS}),
        _scenario_for("endless wait", {"text": "a b", "latency_ms": ENDLESS["chunk_ms"]}),
        _scenario_for(
            "endless hold", {"fault": {"kind": "timeout", "hold_ms": ENDLESS["chunk_ms"]}}
        ),
        _scenario_for(
            "endless stall", {"text": "a b", "fault": {"kind": "stall", "hold_ms": 90_000}}
        ),
    ]
    for kind, keys in FAULTS.items():
        produce: dict[str, Any] = {"fault": {"kind": kind, **keys}}
        if kind not in FAULTS_WITHOUT_TEXT:
            produce |= {"text": TEXT, "pacing": {"words_per_chunk": 1}}
        scenarios.append(_scenario_for(kind, produce))
    return scenarios


def endless_cases() -> list[Case]:
    """Return the cases whose answers run longer than any test."""
    names = [d["name"] for d in documents() if d["name"].startswith("endless")]
    return [_chat(name, stream=name == "endless stream") for name in names]


def cases() -> list[Case]:
    models = [d["name"] for d in documents() if not d["name"].startswith("endless")]
    both = [
        case
        for model in models
        for stream in (False, True)
        for case in (
            _chat(model, stream=stream),
            _responses(model, stream=stream),
            _messages(model, stream=stream),
            _gemini(model, stream=stream),
            _ollama(model, stream=stream),
        )
    ]
    return [*both, *_odd_cases()]


def _odd_cases() -> list[Case]:
    valid_case = _chat("text", stream=False)
    path, body, key = valid_case.path, valid_case.body, {"authorization": "Bearer k"}
    odd_cases = [
        Case("unmatched", path, body.replace(b'"text"', b'"nobody"'), headers=key),
        Case("malformed JSON", path, b'{"model": ', headers=key),
        Case("not UTF-8", path, b'{"model": "\xff"}', headers=key),
        Case("wrong types", path, b'{"model": 1, "messages": "x"}', headers=key),
        Case("no body", path, headers=key),
        Case("no key", path, body),
        Case("no such path", "/v1/nothing", body, headers=key),
        Case("trailing slash", f"{path}/", body, headers=key),
        Case("encoded path", "/v1/chat%2Fcompletions", body, headers=key),
        Case("wrong method", path, body, method="PUT", headers=key),
        Case("too large", path, b" " * (MAX_BODY + 1), headers=key),
        Case("headers too large", path, body, headers={**key, "x-big": "x" * MAX_HEADERS}),
        Case("models", "/v1/models", method="GET", headers=key),
        Case("unknown model", "/v1/models/m%C3%BC", method="GET", headers=key),
        Case("a page's call", path, body, headers={**key, "origin": "https://a.example"}),
        Case(
            "preflight",
            path,
            method="OPTIONS",
            headers={
                "origin": "https://a.example",
                "access-control-request-method": "POST",
                "access-control-request-headers": "authorization, content-type",
            },
        ),
        Case("named by header", path, body, headers={**key, "x-mockllm-scenario": "raw"}),
        *_openai_cases(),
        *_gemini_cases(),
        Case("Ollama loads", "/api/chat", b'{"model":"m"}'),
        Case("Ollama's models", "/api/tags", method="GET"),
        Case("Ollama is probed", "/api/version", method="HEAD"),
        Case("Ollama's embeddings", "/api/embed", b'{"model":"m","input":"x","dimensions":3}'),
        Case("Ollama's unknown model", "/api/show", '{"model":"ü"}'.encode()),
        Case("Ollama's wrong method", "/api/chat", method="GET"),
        Case("Ollama's trailing slash", "/api/chat/", b'{"model":"m"}'),
        Case("Ollama's encoded path", "/api/ch%61t", b'{"model":"m"}'),
        Case("beta query", "/v1/messages?beta=true", b"{}", headers={"x-api-key": "k"}),
        Case("no version", "/chat/completions", body, headers=key),
        Case("no version for a page", "/responses", body, headers={**key, "origin": "https://a.b"}),
        Case("a version twice", "/v1/v1/messages", body, headers={"x-api-key": "k"}),
        Case("Gemini's no version", "/models/m:generateContent", b"{}"),
        Case("Ollama's no folder", "/chat", b'{"model":"m"}'),
        Case("Ollama's folder elsewhere", "/v1/api/tags", method="GET"),
        Case("Azure's no folder", f"/deployments/d{path.removeprefix('/v1')}", body),
        Case("no version for models", "/models", method="GET"),
        Case(
            "preflight of no version",
            "/messages",
            method="OPTIONS",
            headers={"origin": "https://a.example", "access-control-request-method": "POST"},
        ),
    ]
    # Each has its own session, because the number of requests is part of every id. A 404 can name
    # the host, which differs between transports.
    return [
        replace(c, headers={"host": "localhost", **c.headers, "x-mockllm-session": c.name})
        for c in odd_cases
    ]


def _scenario_for(model: str, produce: dict[str, Any], **keys: Any) -> dict[str, Any]:
    step = {"consume": False, "match": {"model": model}, "produce": produce, **keys}
    return {"name": model, "steps": [step]}


def _chat(model: str, *, stream: bool) -> Case:
    name = f"openai {model} {'stream' if stream else 'whole'}"
    headers = {"authorization": f"Bearer {name.encode().hex()}", "x-trace": "t-1"}
    return Case(name, "/v1/chat/completions", _body(model, stream=stream), headers=headers)


def _responses(model: str, *, stream: bool) -> Case:
    name = f"openai responses {model} {'stream' if stream else 'whole'}"
    headers = {"authorization": f"Bearer {name.encode().hex()}", "x-trace": "t-1"}
    body = {"model": model, "input": "Hällo", "stream": stream}
    return Case(name, "/v1/responses", json.dumps(body).encode(), headers=headers)


def _openai_cases() -> list[Case]:
    key, azure = {"authorization": "Bearer k"}, {"api-key": "k"}
    prompt_body = b'{"model":"text","prompt":["a","b"],"echo":true,"stream":true}'
    deployment = "/openai/deployments/text"
    stored_response = "/v1/responses/resp_123"
    return [
        Case("a completion", "/v1/completions", prompt_body, headers=key),
        Case("embeddings", "/v1/embeddings", b'{"model":"m","input":"x"}', headers=key),
        Case("a moderation", "/v1/moderations", b'{"input":"x"}', headers=key),
        Case("a response again", stored_response, method="GET", headers=key),
        Case("its stream again", f"{stored_response}?stream=true", method="GET", headers=key),
        Case("a response cancelled", f"{stored_response}/cancel", headers=key),
        Case("a response deleted", stored_response, method="DELETE", headers=key),
        Case("a conversation", "/v1/conversations", b'{"metadata":{"a":"b"}}', headers=key),
        Case("no such response", "/v1/responses/x", method="GET", headers=key),
        Case("an unknown answer before", "/v1/responses", b'{"previous_response_id":"x"}'),
        Case(
            "Azure",
            f"{deployment}/chat/completions?api-version=1",
            b'{"messages":[{"role":"user","content":"x"}]}',
            headers=azure,
        ),
        Case("Azure's responses", "/openai/v1/responses", b'{"model":"text"}', headers=azure),
        Case("Azure without a key", f"{deployment}/completions", prompt_body),
        Case("Azure's unknown path", "/openai/none", method="GET", headers=azure),
    ]


def _messages(model: str, *, stream: bool) -> Case:
    name = f"anthropic {model} {'stream' if stream else 'whole'}"
    headers = {"x-api-key": name.encode().hex(), "anthropic-version": "2023-06-01"}
    return Case(name, "/v1/messages", _body(model, stream=stream), headers=headers)


def _gemini(model: str, *, stream: bool) -> Case:
    name = f"gemini {model} {'stream' if stream else 'whole'}"
    headers = {"x-goog-api-key": name.encode().hex(), "x-trace": "t-1"}
    verb = "streamGenerateContent?alt=sse" if stream else "generateContent"
    path = f"/v1beta/models/{quote(model, safe='')}:{verb}"
    return Case(name, path, GEMINI, headers=headers)


def _gemini_cases() -> list[Case]:
    path, key = "/v1/models/text:generateContent", {"x-goog-api-key": "k"}
    array_path = "/v1/models/text:streamGenerateContent"
    embed_body = b'{"content":{"parts":[{"text":"x"}]},"outputDimensionality":3}'
    return [
        Case("Gemini's array", array_path, GEMINI, headers=key),
        Case(
            "Gemini's broken array",
            "/v1beta/models/error_event:streamGenerateContent",
            GEMINI,
            headers=key,
        ),
        Case("Gemini's key in the query", f"{array_path}?key=k&alt=sse", GEMINI),
        Case("Gemini without a key", path, GEMINI),
        Case("Gemini's encoded colon", path.replace(":", "%3A"), GEMINI, headers=key),
        Case("Gemini's trailing slash", f"{path}/", GEMINI, headers=key),
        Case("Gemini's wrong method", path, method="GET", headers=key),
        Case("Gemini's unknown path", "/v1beta/none", method="GET", headers=key),
        Case("Gemini's malformed JSON", path, b'{"contents": ', headers=key),
        Case("Gemini's models", "/v1beta/models?pageSize=2", method="GET", headers=key),
        Case("Gemini's unknown model", "/v1/models/m%C3%BC", method="GET", headers=key),
        Case("Gemini's embeddings", "/v1/models/m:embedContent", embed_body, headers=key),
        Case("Gemini counts", "/v1/models/m:countTokens", GEMINI, headers=key),
    ]


def _ollama(model: str, *, stream: bool) -> Case:
    name = f"ollama {model} {'stream' if stream else 'whole'}"
    headers = {"authorization": f"Bearer {name.encode().hex()}", "x-trace": "t-1"}
    return Case(name, "/api/chat", _body(model, stream=stream), headers=headers)


def _body(model: str, *, stream: bool) -> bytes:
    messages = [{"role": "user", "content": "Hällo"}]
    body = {"model": model, "max_tokens": 9, "messages": messages, "stream": stream}
    return json.dumps(body, ensure_ascii=False).encode()
