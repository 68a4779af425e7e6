"""Calls, answers and played streams that the tests of the Ollama wire share."""

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
from tests.wire.played import played

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
    """A body as a client would have sent it to one of the routes."""
    raw, route = msgspec.json.encode(body), ROUTES[operation]
    call = make_call(route.method, route.pattern, body=raw)
    return route.read(call, route, {}, read_body(raw, Limits()))


def parse(*messages: Any, **fields: Any) -> CanonicalRequest:
    """A chat request of these messages (a greeting without any) and other fields."""
    return parse_body({"model": "llama3.2", "messages": list(messages) or [HELLO], **fields})


def prompt(text: str = "Hello", **fields: Any) -> CanonicalRequest:
    """A request to generate."""
    return parse_body({"model": "llama3.2", "prompt": text, **fields}, "generate")


def refused(operation: str = "chat", **fields: Any) -> ErrorAnswer:
    """The 400 that a request gets; a field that is None is left out."""
    body = {"model": "llama3.2", "messages": [HELLO], "prompt": "Hello", **fields}
    with pytest.raises(WireError) as raised:
        parse_body({k: v for k, v in body.items() if v is not None}, operation)
    assert raised.value.answer.status == 400
    return raised.value.answer


def computed(operation: str, body: Any = None) -> Any:
    """What a route answers by itself."""
    request = parse_body(body or {}, operation)
    return msgspec.json.decode(ROUTES[operation].compute(request, CONTEXT))


def answer(
    *choices: Sequence[AnswerPart],
    finish: FinishReason = "stop",
    metadata: dict[str, Json] | None = None,
    usage: Usage | None = None,
) -> CanonicalResponse:
    """An answer whose choices have these parts."""
    return CanonicalResponse(
        id="f00d",
        created=CREATED,
        model="llama3.2",
        choices=tuple(Choice(tuple(parts), finish) for parts in choices),
        usage=usage or Usage(input_tokens=9, output_tokens=2),
        metadata=metadata or {},
    )


def render(request: CanonicalRequest, response: CanonicalResponse) -> dict[str, Any]:
    whole: dict[str, Any] = msgspec.json.decode(ROUTES["chat"].render(request, response))
    return whole


def stream(
    request: CanonicalRequest, response: CanonicalResponse, sizes: Sequence[int] = (3,)
) -> bytes:
    """The whole stream as it leaves."""
    return played(ROUTES["chat"].encode(request, response), response, sizes)


def lines_of(sent: bytes) -> list[dict[str, Any]]:
    """The lines of a stream, each of which is one for every way of splitting lines there is."""
    *lines, rest = sent.split(b"\n")
    assert rest == b"", "the last line is not ended"
    assert len(sent.decode().splitlines()) == len(lines)
    return [msgspec.json.decode(line) for line in lines]


def joined(lines: list[dict[str, Any]]) -> dict[str, Any]:
    """The lines of a stream put together to what a whole answer says."""
    *said, done = lines
    assert [line["done"] for line in lines] == [False] * len(said) + [True]
    whole = dict(done)
    if "message" in done:
        message = dict(done["message"])
        whole["message"] = message
        pieces = [line["message"] for line in said]
        _join(message, pieces, "content")
    else:
        pieces = said
        _join(whole, pieces, "response")
    return whole


def _join(whole: dict[str, Any], pieces: list[dict[str, Any]], text: str) -> None:
    for key in (text, "thinking"):
        if found := "".join(piece.get(key, "") for piece in pieces):
            whole[key] = found
    if calls := [call for piece in pieces for call in piece.get("tool_calls", [])]:
        whole["tool_calls"] = calls
