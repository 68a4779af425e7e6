"""The calls that every door must answer alike, and the scenarios that answer them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tests.serving.pipelines import Playing

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
    "invalid_response": {},
    "disconnect": {"after_chunks": 2},
    "truncate": {},
    "malformed_chunk": {},
    "stall": {"hold_ms": 30},
    "error_event": {"message": "in mid-stream"},
}
# Longer than any test waits.
ENDLESS = {"chunk_ms": 90_000, "words_per_chunk": 1}
ALONE = ("http", "rate_limit", "model_error", "timeout", "network_error", "invalid_response")


@dataclass(frozen=True)
class Case:
    """One HTTP request. Its key is its own, so that no two cases share a session."""

    name: str
    path: str
    body: bytes = b""
    method: str = "POST"
    headers: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.name


def playing() -> Playing:
    """A pipeline that answers all cases."""
    return Playing(
        *documents(), max_body_bytes=MAX_BODY, max_header_bytes=MAX_HEADERS, origins=("*",)
    )


def documents() -> list[dict[str, Any]]:
    """One scenario per case, chosen by the model that the case asks for."""
    found = [
        _answers("text", {"text": TEXT, "pacing": {"words_per_chunk": 2}}),
        _answers("paced", {"text": "a b c", "pacing": {"chunk_ms": 5, "words_per_chunk": 1}}),
        _answers("late", {"text": "late", "latency_ms": 20}),
        _answers("tools", {"text": "Looking.", "tool_calls": [TOOL, TOOL]}),
        _answers("größe/ä ö", {"text": TEXT}, name="schön & gut"),
        _answers("raw", {"raw": {"status": 201, "headers": {"x-latin": "caf\xe9"}, "body": "{}"}}),
        _answers("empty", {"raw": {"status": 204}}),
        _answers(
            "effects",
            {"text": TEXT},
            side_effects={
                "status": 203,
                "headers": {"x-extra": "1"},
                "echo_headers": ["x-trace"],
            },
        ),
    ]
    found += [
        _answers("endless stream", {"text": "a b", "pacing": ENDLESS}),
        _answers("endless wait", {"text": "a b", "latency_ms": ENDLESS["chunk_ms"]}),
        _answers("endless hold", {"fault": {"kind": "timeout", "hold_ms": ENDLESS["chunk_ms"]}}),
        _answers("endless stall", {"text": "a b", "fault": {"kind": "stall", "hold_ms": 90_000}}),
    ]
    for kind, keys in FAULTS.items():
        produce: dict[str, Any] = {"fault": {"kind": kind, **keys}}
        if kind not in ALONE:
            produce |= {"text": TEXT, "pacing": {"words_per_chunk": 1}}
        found.append(_answers(kind, produce))
    return found


def endless_cases() -> list[Case]:
    """Answers that end only because somebody ends them."""
    names = [d["name"] for d in documents() if d["name"].startswith("endless")]
    return [_chat(name, stream=name == "endless stream") for name in names]


def cases() -> list[Case]:
    models = [d["name"] for d in documents() if not d["name"].startswith("endless")]
    both = [
        case
        for model in models
        for stream in (False, True)
        for case in (_chat(model, stream=stream), _messages(model, stream=stream))
    ]
    return [*both, *_odd_cases()]


def _odd_cases() -> list[Case]:
    good = _chat("text", stream=False)
    path, body, key = good.path, good.body, {"authorization": "Bearer k"}
    odd = [
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
        Case("beta query", "/v1/messages?beta=true", b"{}", headers={"x-api-key": "k"}),
    ]
    # No two of them in one session: its number of requests is part of every id.
    return [replace(c, headers={**c.headers, "x-mockllm-session": c.name}) for c in odd]


def _answers(model: str, produce: dict[str, Any], **keys: Any) -> dict[str, Any]:
    step = {"consume": False, "match": {"model": model}, "produce": produce, **keys}
    return {"name": model, "steps": [step]}


def _chat(model: str, *, stream: bool) -> Case:
    name = f"openai {model} {'stream' if stream else 'whole'}"
    headers = {"authorization": f"Bearer {name.encode().hex()}", "x-trace": "t-1"}
    return Case(name, "/v1/chat/completions", _body(model, stream=stream), headers=headers)


def _messages(model: str, *, stream: bool) -> Case:
    name = f"anthropic {model} {'stream' if stream else 'whole'}"
    headers = {"x-api-key": name.encode().hex(), "anthropic-version": "2023-06-01"}
    return Case(name, "/v1/messages", _body(model, stream=stream), headers=headers)


def _body(model: str, *, stream: bool) -> bytes:
    messages = [{"role": "user", "content": "Hällo"}]
    body = {"model": model, "max_tokens": 9, "messages": messages, "stream": stream}
    return json.dumps(body, ensure_ascii=False).encode()
