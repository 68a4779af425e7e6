"""Calls, answers and played streams that the tests of the OpenAI wire share."""

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
from tests.wire.played import played

CHAT = WIRE.endpoints[0]
HELLO = {"role": "user", "content": "Hello"}


def make_call(
    method: str = "POST",
    path: str = "/v1/chat/completions",
    *,
    headers: dict[str, str] | None = None,
    body: bytes = b"",
) -> Call:
    sent = {"authorization": "Bearer k"} if headers is None else headers
    return Call(method=method, path=path, query={}, headers=sent, body=body)


def parse_body(body: Any) -> CanonicalRequest:
    """A body as a client would have sent it, parsed as a chat request."""
    raw = msgspec.json.encode(body)
    return CHAT.read(make_call(body=raw), CHAT, {}, read_body(raw, Limits()))


def parse(*messages: Any, **fields: Any) -> CanonicalRequest:
    """A chat request of these messages (a greeting without any) and other fields."""
    return parse_body({"model": "gpt-4o", "messages": list(messages) or [HELLO], **fields})


def refusal_of(*messages: Any, **fields: Any) -> ErrorAnswer:
    """The 400 that a chat request gets."""
    with pytest.raises(WireError) as refused:
        parse(*messages, **fields)
    assert refused.value.answer.status == 400
    return refused.value.answer


def answer(
    *choices: Sequence[AnswerPart],
    finish: FinishReason = "stop",
    metadata: dict[str, Json] | None = None,
) -> CanonicalResponse:
    """An answer whose choices have these parts."""
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
    whole: dict[str, Any] = msgspec.json.decode(endpoint.render(request, response))
    return whole


def stream(
    request: CanonicalRequest, response: CanonicalResponse, sizes: Sequence[int] = (3,)
) -> bytes:
    """The whole stream as it leaves."""
    return played(CHAT.encode(request, response), response, sizes)


def chunks_of(sent: bytes) -> list[dict[str, Any]]:
    """The chunks of a stream, which must be `data:` lines up to `[DONE]` and nothing else."""
    *events, done, end = sent.split(b"\n\n")
    assert (done, end) == (b"data: [DONE]", b"")
    assert all(event.startswith(b"data: ") and b"\n" not in event for event in events)
    return [msgspec.json.decode(event.removeprefix(b"data: ")) for event in events]
