"""Helpers of the OpenAI tests: build calls, parse requests, render and stream responses."""

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
from scenarios_app.wire.base import Call, Endpoint
from scenarios_app.wire.body import Limits, read_body
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.openai.wire import WIRE
from tests.wire.stream_encoding import encode_stream

CHAT = WIRE.endpoints[0]
HELLO = {"role": "user", "content": "Hello"}


def make_call(
    method: str = "POST",
    path: str = "/v1/chat/completions",
    *,
    headers: dict[str, str] | None = None,
    body: bytes = b"",
) -> Call:
    call_headers = {"authorization": "Bearer k"} if headers is None else headers
    return Call(method=method, path=path, query={}, headers=call_headers, body=body)


def parse_body(body: Any) -> CanonicalRequest:
    """Encode a body and parse it as a chat request."""
    raw = msgspec.json.encode(body)
    return CHAT.read(make_call(body=raw), CHAT, {}, read_body(raw, Limits()))


def parse(*messages: Any, **fields: Any) -> CanonicalRequest:
    """Parse a chat request with these messages (default: a greeting) and fields."""
    return parse_body({"model": "gpt-4o", "messages": list(messages) or [HELLO], **fields})


def catch_error(*messages: Any, **fields: Any) -> ErrorAnswer:
    """Return the 400 error that parsing a chat request raises."""
    with pytest.raises(WireError) as raised:
        parse(*messages, **fields)
    assert raised.value.answer.status == 400
    return raised.value.answer


def answer(
    *choices: Sequence[AnswerPart],
    finish: FinishReason = "stop",
    metadata: dict[str, Json] | None = None,
) -> CanonicalResponse:
    """Build a response; each argument holds the parts of one choice."""
    return CanonicalResponse(
        id="f00d",
        created=1735689600,
        model="gpt-4o",
        choices=tuple(Choice(tuple(parts), finish) for parts in choices),
        usage=Usage(input_tokens=9, output_tokens=2, reasoning_tokens=1, cached_tokens=3),
        metadata=metadata or {},
    )


def render(
    request: CanonicalRequest, response: CanonicalResponse, *, endpoint: Endpoint = CHAT
) -> dict[str, Any]:
    body: dict[str, Any] = msgspec.json.decode(endpoint.render(request, response))
    return body


def stream(
    request: CanonicalRequest, response: CanonicalResponse, sizes: Sequence[int] = (3,)
) -> bytes:
    """Return the encoded stream of a chat response."""
    return encode_stream(CHAT.encode(request, response), response, sizes)


def parse_chunks(stream_bytes: bytes) -> list[dict[str, Any]]:
    """Parse the chunks of a stream that consists of `data:` lines and ends with `[DONE]`."""
    *events, done, end = stream_bytes.split(b"\n\n")
    assert (done, end) == (b"data: [DONE]", b"")
    assert all(event.startswith(b"data: ") and b"\n" not in event for event in events)
    return [msgspec.json.decode(event.removeprefix(b"data: ")) for event in events]
