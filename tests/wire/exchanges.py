"""A response of some parts on any wire, whole and streamed, and what its decoder reads of it."""

import json
from typing import Any

from scenarios_app.engine.canonical import CanonicalRequest, CanonicalResponse, Choice, Usage
from scenarios_app.engine.parts import AnswerPart
from scenarios_app.wire.base import Call, Endpoint
from scenarios_app.wire.body import Limits, read_body
from scenarios_app.wire.registry import find_target
from tests.wire.played import played

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


def read(wire: str, **keys: Any) -> tuple[Endpoint, CanonicalRequest]:
    """Return the endpoint that answers on a wire, and a request with these further keys."""
    path, body = BODIES[wire]
    headers = HEADERS.get(wire, {"authorization": "Bearer k"})
    call = Call("POST", path, {}, headers, json.dumps(body | keys).encode())
    target = find_target(call)
    assert target is not None and target.endpoint is not None
    node = read_body(call.body, Limits())
    return target.endpoint, target.endpoint.read(call, target.endpoint, target.params, node)


def response(*parts: AnswerPart) -> CanonicalResponse:
    choice = Choice(parts, "stop")
    return CanonicalResponse("ab" * 16, 1_735_689_600, "gpt-4o", (choice,), Usage(9, 9))


def whole(wire: str, *parts: AnswerPart, **keys: Any) -> Any:
    """Return the whole response of some parts."""
    endpoint, request = read(wire, **keys)
    assert endpoint.render is not None
    return json.loads(endpoint.render(request, response(*parts)))


def events(wire: str, *parts: AnswerPart, **keys: Any) -> list[Any]:
    """Return the events of a stream of some parts."""
    endpoint, request = read(wire, **keys)
    assert endpoint.encode is not None
    answer = response(*parts)
    lines = played(endpoint.encode(request, answer), answer, (9,)).decode().splitlines()
    data = (line.removeprefix("data: ") for line in lines if line.startswith("data: {"))
    return [json.loads(one) for one in data]


def decoded(wire: str, value: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return what the decoder makes of a body or of a stream's events, and what it loses."""
    endpoint, _ = read(wire)
    assert endpoint.decoder is not None
    values = value if isinstance(value, list) else [value]
    lines = [json.dumps(one).encode() for one in values]
    body = b"".join(b"data: %s\n" % line for line in lines)
    made = endpoint.decoder.decode(body if isinstance(value, list) else lines[0])
    assert made is not None
    document = made.to_produce()
    document.pop("usage", None)
    return document, made.lost
