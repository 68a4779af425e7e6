"""Render, stream and decode a response with given parts on any wire."""

import json
from typing import Any

from scenarios_app.engine.canonical import CanonicalRequest, CanonicalResponse, Choice, Usage
from scenarios_app.engine.parts import AnswerPart
from scenarios_app.wire.base import Call, Endpoint
from scenarios_app.wire.body import Limits, read_body
from scenarios_app.wire.registry import find_target
from tests.wire.stream_encoding import encode_stream

USER = {"role": "user", "content": "Hello"}
BODIES: dict[str, tuple[str, dict[str, Any]]] = {
    "chat": ("/v1/chat/completions", {"model": "gpt-4o", "messages": [USER]}),
    "responses": ("/v1/responses", {"model": "gpt-4o", "input": "Hello"}),
    "anthropic": ("/v1/messages", {"model": "c", "max_tokens": 9, "messages": [USER]}),
    "gemini": (
        "/v1beta/models/g:generateContent",
        {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]},
    ),
    "ollama": ("/api/chat", {"model": "l", "messages": [USER], "stream": False}),
}
HEADERS = {
    "anthropic": {"x-api-key": "k", "anthropic-version": "2023-06-01"},
    "gemini": {"x-goog-api-key": "k"},
}


def read_request(wire: str, **keys: Any) -> tuple[Endpoint, CanonicalRequest]:
    """Return a wire's generating endpoint and a request with additional body keys."""
    path, body = BODIES[wire]
    headers = HEADERS.get(wire, {"authorization": "Bearer k"})
    call = Call("POST", path, {}, headers, json.dumps(body | keys).encode())
    target = find_target(call)
    assert target is not None and target.endpoint is not None
    node = read_body(call.body, Limits())
    return target.endpoint, target.endpoint.read(call, target.endpoint, target.params, node)


def make_response(*parts: AnswerPart) -> CanonicalResponse:
    choice = Choice(parts, "stop")
    return CanonicalResponse("ab" * 16, 1_735_689_600, "gpt-4o", (choice,), Usage(9, 9))


def render_body(wire: str, *parts: AnswerPart, **keys: Any) -> Any:
    """Return the parsed body of a response with these parts."""
    endpoint, request = read_request(wire, **keys)
    assert endpoint.render is not None
    return json.loads(endpoint.render(request, make_response(*parts)))


def encode_events(wire: str, *parts: AnswerPart, **keys: Any) -> list[Any]:
    """Return the parsed events of a streamed response with these parts."""
    endpoint, request = read_request(wire, **keys)
    assert endpoint.encode is not None
    answer = make_response(*parts)
    lines = encode_stream(endpoint.encode(request, answer), answer, (9,)).decode().splitlines()
    data = (line.removeprefix("data: ") for line in lines if line.startswith("data: {"))
    return [json.loads(event_data) for event_data in data]


def decode_body(wire: str, value: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Decode a body or a list of stream events to a step's `produce`; also return lost fields."""
    endpoint, _ = read_request(wire)
    assert endpoint.decoder is not None
    values = value if isinstance(value, list) else [value]
    lines = [json.dumps(value).encode() for value in values]
    body = b"".join(b"data: %s\n" % line for line in lines)
    response = endpoint.decoder.decode(body if isinstance(value, list) else lines[0])
    assert response is not None
    document = response.to_produce()
    document.pop("usage", None)
    return document, response.lost
