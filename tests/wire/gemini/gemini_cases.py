"""Calls, answers and streams that the tests of the Gemini wire are made of."""

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
from tests.wire.played import played
from tests.wire.sdk_requests import call_of

EVENTS, ARRAY = WIRES
HEADERS = {"x-goog-api-key": "key-1"}
MODEL = "/v1beta/models/gemini-x"
CONTEXT = ComputeContext({"gemini-a": "gemini", "tunedModels/b": "gemini"}, 1_763_760_000, "f00d")
HELLO: dict[str, Any] = {"role": "user", "parts": [{"text": "Hello"}]}
LEAST: dict[str, Any] = {"contents": [HELLO]}
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
    """A body as the wire reads it from bytes."""
    return read(call(path, json.dumps(body).encode()))


def read(sent: Call) -> CanonicalRequest:
    """A call as the wire that it is for reads it."""
    target = find_target(sent)
    assert target is not None and target.endpoint is not None, sent
    body = read_body(sent.body or b"{}", Limits())
    return target.endpoint.read(sent, target.endpoint, target.params, body)


def computed(sent: Call) -> Any:
    """What the wire computes for a call."""
    target = find_target(sent)
    assert target is not None and target.endpoint is not None, sent
    return json.loads(target.endpoint.compute(read(sent), CONTEXT))


def parse_contents(*contents: object) -> CanonicalRequest:
    return parse({"contents": list(contents)})


def response(
    *parts: AnswerPart,
    reason: FinishReason = "stop",
    usage: Usage | None = None,
    metadata: dict[str, Any] | None = None,
) -> CanonicalResponse:
    return of_choices(Choice(parts, reason), usage=usage, metadata=metadata)


def of_choices(
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
    """Where a wire generates, in its own framing."""
    return wire.endpoints[0]


def render(answer: CanonicalResponse, *, request: CanonicalRequest | None = None) -> dict[str, Any]:
    return json.loads(GENERATE.render(request or parse(LEAST), answer))


def wire_of(form: Form) -> Wire:
    return EVENTS if form == "events" else ARRAY


def stream(
    answer: CanonicalResponse,
    form: Form = "events",
    *,
    cut: int = 4,
    request: CanonicalRequest | None = None,
) -> bytes:
    encoder = generate_of(wire_of(form)).encode(request or parse(LEAST), answer)
    return played(encoder, answer, (cut,))


def read_stream(sent: bytes, form: Form = "events") -> list[dict[str, Any]]:
    """The chunks of a stream, framed as the provider frames them."""
    if form == "array":
        return list(json.loads(sent))
    *events, rest = sent.split(b"\r\n\r\n")
    assert rest == b"", "an event is not ended by a blank line"
    assert all(event.startswith(b"data: ") for event in events)
    return [json.loads(event[6:]) for event in events]


def chunks(
    answer: CanonicalResponse, *, cut: int = 4, request: CanonicalRequest | None = None
) -> list[dict[str, Any]]:
    return read_stream(stream(answer, cut=cut, request=request))


def transport(answers: Sequence[CanonicalResponse]) -> httpx2.MockTransport:
    """Answers an SDK's requests by the wire alone, every question with the one answer there is."""

    def handle(request: httpx2.Request) -> httpx2.Response:
        sent = call_of(request)
        target = find_target(sent)
        assert target is not None and target.wire in WIRES
        try:
            assert target.endpoint is not None, target.error
            kind, body = _answer(target.wire, sent, answers[0])
            status = 200
        except WireError as error:
            status, kind = error.answer.status, "application/json"
            body = target.wire.error(error.answer, request_id="f00d")
        return httpx2.Response(status, headers={"content-type": kind}, content=body)

    return httpx2.MockTransport(handle)


def _answer(wire: Wire, sent: Call, answer: CanonicalResponse) -> tuple[str, bytes]:
    wire.authorise(sent)
    target, canonical = find_target(sent), read(sent)
    assert target is not None and target.endpoint is not None
    wire.check_headers(sent)
    if target.endpoint.compute is not None:
        computed = target.endpoint.compute(canonical, CONTEXT)
        return "application/json", computed
    if canonical.stream:
        return wire.stream_type, stream(answer, "events" if wire is EVENTS else "array")
    return "application/json", target.endpoint.render(canonical, answer)
