"""Calls, answers and streams that the tests of the Anthropic wire are made of."""

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
from tests.wire.played import played
from tests.wire.sdk_requests import call_of

MESSAGES, COUNT_TOKENS, *BATCHES, MODELS, MODEL = WIRE.endpoints
HEADERS = {"x-api-key": "key-1", "anthropic-version": "2023-06-01"}
CONTEXT = ComputeContext({"claude-a": "anthropic", "claude-b": "anthropic"}, 1_763_760_000, "f00d")
LEAST: dict[str, Any] = {
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
    """A body as the wire reads it from bytes."""
    sent = call(route.pattern, json.dumps(body).encode())
    return route.read(sent, route, {}, read_body(sent.body, Limits()))


def parse_messages(*messages: object) -> CanonicalRequest:
    return parse({**LEAST, "messages": list(messages)})


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


def render(answer: CanonicalResponse, **asked: object) -> dict[str, Any]:
    """The whole answer to a request with those fields."""
    return json.loads(MESSAGES.render(parse({**LEAST, **asked}), answer))


def stream(
    answer: CanonicalResponse, cut: int = 4, *, request: CanonicalRequest | None = None
) -> bytes:
    return played(MESSAGES.encode(request or parse(LEAST), answer), answer, (cut,))


def read_stream(sent: bytes) -> list[tuple[str, dict[str, Any]]]:
    """Each event's name and data, from a stream framed as the provider frames it."""
    *events, rest = sent.split(b"\n\n")
    assert rest == b"", "an event is not ended by a blank line"
    read = []
    for event in events:
        name, data = event.split(b"\n")
        assert name.startswith(b"event: ")
        assert data.startswith(b"data: ")
        read.append((name[7:].decode(), json.loads(data[6:])))
    return read


def transport(answer: CanonicalResponse) -> httpx2.MockTransport:
    """Answers an SDK's requests by the wire alone, every message with `answer`."""

    def handle(request: httpx2.Request) -> httpx2.Response:
        sent = call_of(request)
        route, params = next(
            (route, params)
            for route in WIRE.endpoints
            if route.method == sent.method
            and (params := match_path(route.pattern, sent.path)) is not None
        )
        WIRE.authorise(sent)
        WIRE.check_headers(sent)
        canonical = route.read(sent, route, params, read_body(sent.body or b"{}", Limits()))
        kind = "application/json"
        if not route.generates:
            body = route.compute(canonical, CONTEXT)
        elif canonical.stream:
            kind, body = WIRE.stream_type, stream(answer, request=canonical)
        else:
            body = route.render(canonical, answer)
        ours = WIRE.headers(request_id="f00d", created=CONTEXT.created, error=None)
        return httpx2.Response(200, headers=[*ours, ("content-type", kind)], content=body)

    return httpx2.MockTransport(handle)
