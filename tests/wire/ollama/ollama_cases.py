"""Helpers of the Ollama tests: build calls, parse requests, render and stream responses."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from scenarios_app.engine.canonical import (
    CanonicalRequest,
    CanonicalResponse,
    Choice,
    ErrorAnswer,
    Json,
    Usage,
)
from scenarios_app.engine.parts import (
    AnswerPart,
    FinishReason,
)
from scenarios_app.wire.base import Call, ComputeContext, Endpoint
from scenarios_app.wire.body import Limits, read_body
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.ollama.wire import WIRE
from tests.wire.stream_encoding import encode_stream

ROUTES: dict[str, Endpoint] = {
    route.pattern.rpartition("/")[2]: route for route in WIRE.endpoints if route.method != "HEAD"
}
HELLO = {"role": "user", "content": "Hello"}
CREATED = 1_735_689_600
STAMP = "2025-01-01T00:00:00.000000Z"
NAMES = ("llama3.2", "gpt-oss:20b", "nomic-embed-text:latest", "4711")
CONTEXT = ComputeContext(dict.fromkeys(NAMES, "ollama"), CREATED, "f00d")


def make_call(
    method: str = "POST",
    path: str = "/api/chat",
    *,
    headers: dict[str, str] | None = None,
    body: bytes = b"",
) -> Call:
    return Call(method=method, path=path, query={}, headers=headers or {}, body=body)


def parse_body(body: Any, operation: str = "chat") -> CanonicalRequest:
    """Encode a body and parse it as a request to one of the routes."""
    raw, route = msgspec.json.encode(body), ROUTES[operation]
    call = make_call(route.method, route.pattern, body=raw)
    return route.read(call, route, {}, read_body(raw, Limits()))


def parse(*messages: Any, **fields: Any) -> CanonicalRequest:
    """Parse a chat request with these messages (default: a greeting) and fields."""
    return parse_body({"model": "llama3.2", "messages": list(messages) or [HELLO], **fields})


def parse_generate(text: str = "Hello", **fields: Any) -> CanonicalRequest:
    """Parse a generate request."""
    return parse_body({"model": "llama3.2", "prompt": text, **fields}, "generate")


def catch_error(operation: str = "chat", **fields: Any) -> ErrorAnswer:
    """Return the 400 error that a request raises; fields that are None are left out."""
    body = {"model": "llama3.2", "messages": [HELLO], "prompt": "Hello", **fields}
    with pytest.raises(WireError) as raised:
        parse_body({k: v for k, v in body.items() if v is not None}, operation)
    assert raised.value.answer.status == 400
    return raised.value.answer


def compute_json(operation: str, body: Any = None) -> Any:
    """Return the parsed body that a route computes."""
    request = parse_body(body or {}, operation)
    return msgspec.json.decode(ROUTES[operation].compute(request, CONTEXT))


def answer(
    *choices: Sequence[AnswerPart],
    finish: FinishReason = "stop",
    metadata: dict[str, Json] | None = None,
    usage: Usage | None = None,
) -> CanonicalResponse:
    """Build a response; each argument holds the parts of one choice."""
    return CanonicalResponse(
        id="f00d",
        created=CREATED,
        model="llama3.2",
        choices=tuple(Choice(tuple(parts), finish) for parts in choices),
        usage=usage or Usage(input_tokens=9, output_tokens=2),
        metadata=metadata or {},
    )


def render(request: CanonicalRequest, response: CanonicalResponse) -> dict[str, Any]:
    body: dict[str, Any] = msgspec.json.decode(ROUTES["chat"].render(request, response))
    return body


def stream(
    request: CanonicalRequest, response: CanonicalResponse, sizes: Sequence[int] = (3,)
) -> bytes:
    """Return the encoded stream of a chat response."""
    return encode_stream(ROUTES["chat"].encode(request, response), response, sizes)


def parse_lines(stream_bytes: bytes) -> list[dict[str, Any]]:
    """Parse the lines of a stream; check that `str.splitlines` finds no further line ends."""
    *lines, rest = stream_bytes.split(b"\n")
    assert rest == b"", "the last line is not ended"
    assert len(stream_bytes.decode().splitlines()) == len(lines)
    return [msgspec.json.decode(line) for line in lines]


def join_lines(lines: list[dict[str, Any]]) -> dict[str, Any]:
    """Join the lines of a stream to the body of an unstreamed response."""
    *partial_lines, last_line = lines
    assert [line["done"] for line in lines] == [False] * len(partial_lines) + [True]
    body = dict(last_line)
    if "message" in last_line:
        message = dict(last_line["message"])
        body["message"] = message
        pieces = [line["message"] for line in partial_lines]
        _join(message, pieces, "content")
    else:
        pieces = partial_lines
        _join(body, pieces, "response")
    return body


def _join(target: dict[str, Any], pieces: list[dict[str, Any]], text: str) -> None:
    for key in (text, "thinking"):
        if joined_text := "".join(piece.get(key, "") for piece in pieces):
            target[key] = joined_text
    if calls := [call for piece in pieces for call in piece.get("tool_calls", [])]:
        target["tool_calls"] = calls
