"""Conditions on response format, token limit and tools match requests of each API."""

import json
from typing import Any

import pytest

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.document import load_match
from scenarios_app.wire.base import Call
from scenarios_app.wire.body import Limits, read_body
from scenarios_app.wire.registry import find_target
from tests.engine.match_builders import match_request

HEADERS = {"authorization": "Bearer k", "x-api-key": "k", "x-goog-api-key": "k"}
SCHEMA: Any = {"type": "object", "title": "Route", "properties": {"to": {"type": "string"}}}
NAMED_SCHEMA = {"name": "choice", "schema": SCHEMA}
USER = [{"role": "user", "content": "Hello"}]
CHAT: tuple[str, Any] = ("/v1/chat/completions", {"model": "m", "messages": USER})
RESPONSES: tuple[str, Any] = ("/v1/responses", {"model": "m", "input": "Hello"})
CLAUDE: tuple[str, Any] = ("/v1/messages", {"model": "m", "max_tokens": 64, "messages": USER})
LLAMA: tuple[str, Any] = ("/api/chat", {"model": "m", "messages": USER})
GEMINI: tuple[str, Any] = (
    "/v1beta/models/m:generateContent",
    {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]},
)
JSON_SCHEMA = {"type": "json_schema", "schema": SCHEMA}
MIME = {"responseMimeType": "application/json"}
TOOL = {"name": "f", "parameters": {"type": "object"}}
FUNCTION = {"type": "function", "function": TOOL}


def parse_request(wire: tuple[str, Any], **keys: Any) -> CanonicalRequest:
    """Parse a body with additional keys."""
    path, body = wire
    raw = json.dumps({**body, **keys}).encode()
    call = Call("POST", path, {}, HEADERS, raw)
    target = find_target(call)
    assert target is not None and target.endpoint is not None
    endpoint, limits = target.endpoint, Limits()
    return endpoint.read(call, endpoint, target.params, read_body(raw, limits))


def is_matched(match: Any, wire: tuple[str, Any], **keys: Any) -> bool:
    compiled = load_match(match)
    return match_request(compiled, parse_request(wire, **keys)).matched


@pytest.mark.parametrize(
    ("wire", "keys", "condition"),
    [
        (CHAT, {}, "text"),
        (CHAT, {"response_format": {"type": "text"}}, "text"),
        (CHAT, {"response_format": {"type": "json_object"}}, "json"),
        (CHAT, {"response_format": {"type": "json_schema", "json_schema": NAMED_SCHEMA}}, "schema"),
        (
            CHAT,
            {"response_format": {"type": "json_schema", "json_schema": NAMED_SCHEMA}},
            {"schema": "choice"},
        ),
        (
            CHAT,
            {
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {**NAMED_SCHEMA, "name": 1},
                }
            },
            {"schema": "Route"},
        ),
        (RESPONSES, {"text": {"verbosity": "low"}}, "text"),
        (RESPONSES, {"text": {"format": {"type": "json_object"}}}, "json"),
        (RESPONSES, {"text": {"format": {**JSON_SCHEMA, "name": "choice"}}}, {"schema": "choice"}),
        (CLAUDE, {}, "text"),
        (CLAUDE, {"output_config": {"format": JSON_SCHEMA}}, {"schema": "Route"}),
        (GEMINI, {}, "text"),
        (GEMINI, {"generationConfig": MIME}, "json"),
        (GEMINI, {"generationConfig": {**MIME, "responseSchema": SCHEMA}}, {"schema": "Route"}),
        (GEMINI, {"generationConfig": {**MIME, "responseJsonSchema": SCHEMA}}, "schema"),
        (LLAMA, {}, "text"),
        (LLAMA, {"format": "json"}, "json"),
        (LLAMA, {"format": SCHEMA}, {"schema": "Route"}),
    ],
)
def test_response_format_of_each_api_is_matched(
    wire: tuple[str, Any], keys: Any, condition: Any
) -> None:
    assert is_matched({"response_format": condition}, wire, **keys)
    kind = condition if isinstance(condition, str) else "schema"
    for other in {"text", "json", "schema"} - {kind}:
        assert not is_matched({"response_format": other}, wire, **keys)


@pytest.mark.parametrize(
    ("wire", "keys"),
    [
        (CHAT, {"max_tokens": 64}),
        (CHAT, {"max_completion_tokens": 64, "max_tokens": 9}),
        (RESPONSES, {"max_output_tokens": 64}),
        (CLAUDE, {}),
        (GEMINI, {"generationConfig": {"maxOutputTokens": 64}}),
        (LLAMA, {"options": {"num_predict": 64}}),
    ],
)
def test_token_limit_of_each_api_is_matched(wire: tuple[str, Any], keys: Any) -> None:
    assert is_matched({"max_tokens": {"min": 64, "max": 64}}, wire, **keys)
    assert not is_matched({"max_tokens": {"max": 63}}, wire, **keys)


@pytest.mark.parametrize("wire", [CHAT, RESPONSES, GEMINI, LLAMA])
def test_request_without_a_token_limit_is_in_no_range(wire: tuple[str, Any]) -> None:
    assert not is_matched({"max_tokens": {"min": 0}}, wire)


@pytest.mark.parametrize(
    ("wire", "tools"),
    [
        (CHAT, [FUNCTION, {"type": "custom", "custom": {"name": "g"}}]),
        (RESPONSES, [{"type": "function", **TOOL}, {"type": "web_search"}]),
        (CLAUDE, [{"name": "f", "input_schema": {}}, {"name": "g", "input_schema": {}}]),
        (GEMINI, [{"functionDeclarations": [TOOL, {"name": "g"}]}]),
        (LLAMA, [FUNCTION, {"type": "function", "function": {"name": "g"}}]),
    ],
)
def test_tools_of_each_api_are_counted(wire: tuple[str, Any], tools: Any) -> None:
    assert is_matched({"tool_count": {"min": 2, "max": 2}}, wire, tools=tools)
    assert not is_matched({"tool_count": {"max": 1}}, wire, tools=tools)
    assert is_matched({"tool_count": {"max": 0}}, wire)
