"""Helpers of the Anthropic tests: build calls, parse requests, render and stream responses."""

import json
from typing import Any

import httpx2

from scenarios_app.engine.canonical import CanonicalRequest, CanonicalResponse, Choice, Usage
from scenarios_app.engine.parts import (
    AnswerPart,
    FinishReason,
)
from scenarios_app.wire.anthropic.wire import WIRE
from scenarios_app.wire.base import Call, ComputeContext
from scenarios_app.wire.body import Limits, read_body
from scenarios_app.wire.registry import match_path
from tests.wire.sdk_requests import to_call
from tests.wire.stream_encoding import encode_stream

MESSAGES, COUNT_TOKENS, *BATCHES, MODELS, MODEL = WIRE.endpoints
HEADERS = {"x-api-key": "key-1", "anthropic-version": "2023-06-01"}
CONTEXT = ComputeContext({"claude-a": "anthropic", "claude-b": "anthropic"}, 1_763_760_000, "f00d")
MINIMAL_BODY: dict[str, Any] = {
    "model": "claude-x",
    "max_tokens": 16,
    "messages": [{"role": "user", "content": "Hello"}],
}


def call(
    path: str = "/v1/messages",
    body: bytes = b"",
    *,
    method: str = "POST",
    headers: dict[str, str] | None = None,
    query: dict[str, str] | None = None,
) -> Call:
    return Call(method, path, query or {}, HEADERS if headers is None else headers, body)


def parse(body: object, route: Any = MESSAGES) -> CanonicalRequest:
    """Encode a body and parse it as a request to an endpoint."""
    request_call = call(route.pattern, json.dumps(body).encode())
    return route.read(request_call, route, {}, read_body(request_call.body, Limits()))


def parse_messages(*messages: object) -> CanonicalRequest:
    return parse({**MINIMAL_BODY, "messages": list(messages)})


def response(
    *parts: AnswerPart,
    reason: FinishReason = "stop",
    stop_sequence: str | None = None,
    usage: Usage | None = None,
    metadata: dict[str, Any] | None = None,
) -> CanonicalResponse:
    return CanonicalResponse(
        id="ab12",
        created=1_763_760_000,
        model="claude-x",
        choices=(Choice(parts, reason, stop_sequence),),
        usage=usage or Usage(9, 2),
        metadata=metadata or {},
    )


def render(answer: CanonicalResponse, **fields: object) -> dict[str, Any]:
    """Render the response to a minimal request with additional fields."""
    return json.loads(MESSAGES.render(parse({**MINIMAL_BODY, **fields}), answer))


def stream(
    answer: CanonicalResponse, delta_chars: int = 4, *, request: CanonicalRequest | None = None
) -> bytes:
    return encode_stream(
        MESSAGES.encode(request or parse(MINIMAL_BODY), answer), answer, (delta_chars,)
    )


def read_stream(stream_bytes: bytes) -> list[tuple[str, dict[str, Any]]]:
    """Parse a stream to the name and data of each event; check the provider's framing."""
    *events, rest = stream_bytes.split(b"\n\n")
    assert rest == b"", "an event is not ended by a blank line"
    parsed_events = []
    for event in events:
        name, data = event.split(b"\n")
        assert name.startswith(b"event: ")
        assert data.startswith(b"data: ")
        parsed_events.append((name[7:].decode(), json.loads(data[6:])))
    return parsed_events


def transport(answer: CanonicalResponse) -> httpx2.MockTransport:
    """Return a transport that handles an SDK's requests by the wire; each message gets `answer`."""

    def handle(request: httpx2.Request) -> httpx2.Response:
        request_call = to_call(request)
        route, params = next(
            (route, params)
            for route in WIRE.endpoints
            if route.method == request_call.method
            and (params := match_path(route.pattern, request_call.path)) is not None
        )
        WIRE.authorise(request_call)
        WIRE.check_headers(request_call)
        canonical = route.read(
            request_call, route, params, read_body(request_call.body or b"{}", Limits())
        )
        kind = "application/json"
        if not route.generates:
            body = route.compute(canonical, CONTEXT)
        elif canonical.stream:
            kind, body = WIRE.stream_type, stream(answer, request=canonical)
        else:
            body = route.render(canonical, answer)
        provider_headers = WIRE.headers(request_id="f00d", created=CONTEXT.created, error=None)
        return httpx2.Response(
            200, headers=[*provider_headers, ("content-type", kind)], content=body
        )

    return httpx2.MockTransport(handle)
