"""Helpers of the Gemini tests: build calls, parse requests, render and stream responses."""

import json
from collections.abc import Sequence
from typing import Any, Literal

import httpx2

from scenarios_app.engine.canonical import CanonicalRequest, CanonicalResponse, Choice, Usage
from scenarios_app.engine.parts import (
    AnswerPart,
    FinishReason,
)
from scenarios_app.wire.base import Call, ComputeContext, Endpoint, Wire
from scenarios_app.wire.body import Limits, read_body
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.gemini.wire import WIRES
from scenarios_app.wire.registry import find_target
from tests.wire.sdk_requests import to_call
from tests.wire.stream_encoding import encode_stream

EVENTS, ARRAY = WIRES
HEADERS = {"x-goog-api-key": "key-1"}
MODEL = "/v1beta/models/gemini-x"
CONTEXT = ComputeContext({"gemini-a": "gemini", "tunedModels/b": "gemini"}, 1_763_760_000, "f00d")
HELLO: dict[str, Any] = {"role": "user", "parts": [{"text": "Hello"}]}
MINIMAL_BODY: dict[str, Any] = {"contents": [HELLO]}
Form = Literal["events", "array"]
GENERATE = EVENTS.endpoints[0]
FORMS: tuple[Form, ...] = ("events", "array")


def call(
    path: str = f"{MODEL}:generateContent",
    body: bytes = b"",
    *,
    method: str = "POST",
    headers: dict[str, str] | None = None,
    query: dict[str, str] | None = None,
) -> Call:
    return Call(method, path, query or {}, HEADERS if headers is None else headers, body)


def parse(body: object, path: str = f"{MODEL}:generateContent") -> CanonicalRequest:
    """Encode a body and read it as a request to a path."""
    return read(call(path, json.dumps(body).encode()))


def read(request_call: Call) -> CanonicalRequest:
    """Read a call by the wire that the registry finds for it."""
    target = find_target(request_call)
    assert target is not None and target.endpoint is not None, request_call
    body = read_body(request_call.body or b"{}", Limits())
    return target.endpoint.read(request_call, target.endpoint, target.params, body)


def compute_json(request_call: Call) -> Any:
    """Return the parsed body that the wire computes for a call."""
    target = find_target(request_call)
    assert target is not None and target.endpoint is not None, request_call
    return json.loads(target.endpoint.compute(read(request_call), CONTEXT))


def parse_contents(*contents: object) -> CanonicalRequest:
    return parse({"contents": list(contents)})


def response(
    *parts: AnswerPart,
    reason: FinishReason = "stop",
    usage: Usage | None = None,
    metadata: dict[str, Any] | None = None,
) -> CanonicalResponse:
    return response_of_choices(Choice(parts, reason), usage=usage, metadata=metadata)


def response_of_choices(
    *choices: Choice,
    usage: Usage | None = None,
    metadata: dict[str, Any] | None = None,
    consecutive: bool = False,
) -> CanonicalResponse:
    return CanonicalResponse(
        id="ab12",
        created=1_763_760_000,
        model="gemini-x",
        choices=choices,
        usage=usage or Usage(9, 2),
        metadata=metadata or {},
        consecutive=consecutive,
    )


def generate_of(wire: Wire) -> Endpoint:
    """Return a wire's endpoint that generates content."""
    return wire.endpoints[0]


def render(answer: CanonicalResponse, *, request: CanonicalRequest | None = None) -> dict[str, Any]:
    return json.loads(GENERATE.render(request or parse(MINIMAL_BODY), answer))


def wire_of(form: Form) -> Wire:
    return EVENTS if form == "events" else ARRAY


def stream(
    answer: CanonicalResponse,
    form: Form = "events",
    *,
    delta_chars: int = 4,
    request: CanonicalRequest | None = None,
) -> bytes:
    encoder = generate_of(wire_of(form)).encode(request or parse(MINIMAL_BODY), answer)
    return encode_stream(encoder, answer, (delta_chars,))


def read_stream(stream_bytes: bytes, form: Form = "events") -> list[dict[str, Any]]:
    """Parse the chunks of a stream; check the provider's framing."""
    if form == "array":
        return list(json.loads(stream_bytes))
    *events, rest = stream_bytes.split(b"\r\n\r\n")
    assert rest == b"", "an event is not ended by a blank line"
    assert all(event.startswith(b"data: ") for event in events)
    return [json.loads(event[6:]) for event in events]


def stream_chunks(
    answer: CanonicalResponse, *, delta_chars: int = 4, request: CanonicalRequest | None = None
) -> list[dict[str, Any]]:
    return read_stream(stream(answer, delta_chars=delta_chars, request=request))


def transport(answers: Sequence[CanonicalResponse]) -> httpx2.MockTransport:
    """Return a transport that handles an SDK's requests by the wire, with the first of `answers`.

    A list, so that a test may replace the response while the client is open.
    """

    def handle(request: httpx2.Request) -> httpx2.Response:
        request_call = to_call(request)
        target = find_target(request_call)
        assert target is not None and target.wire in WIRES
        try:
            assert target.endpoint is not None, target.error
            kind, body = _respond(target.wire, request_call, answers[0])
            status = 200
        except WireError as error:
            status, kind = error.answer.status, "application/json"
            body = target.wire.error(error.answer, request_id="f00d")
        return httpx2.Response(status, headers={"content-type": kind}, content=body)

    return httpx2.MockTransport(handle)


def _respond(wire: Wire, request_call: Call, answer: CanonicalResponse) -> tuple[str, bytes]:
    wire.authorise(request_call)
    target, canonical = find_target(request_call), read(request_call)
    assert target is not None and target.endpoint is not None
    wire.check_headers(request_call)
    if target.endpoint.compute is not None:
        computed_body = target.endpoint.compute(canonical, CONTEXT)
        return "application/json", computed_body
    if canonical.stream:
        return wire.stream_type, stream(answer, "events" if wire is EVENTS else "array")
    return "application/json", target.endpoint.render(canonical, answer)
