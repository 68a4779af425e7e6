"""Calls, answers and played streams that the tests of OpenAI's Responses share."""

import json
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from scenarios_app.engine.canonical import CanonicalRequest, CanonicalResponse, ErrorAnswer
from scenarios_app.wire.base import Call, ComputeContext, ComputedResponse
from scenarios_app.wire.body import Limits, Node, read_body
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.openai.responses.wire import WIRE
from scenarios_app.wire.registry import Target, find_target
from tests.wire.played import played

PATH = "/v1/responses"
CREATE = WIRE.endpoints[0]
CONTEXT = ComputeContext(models={"gpt-4o": "openai"}, created=1735689600, request_id="abc")
CALL_1 = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
RESULT_1 = {"type": "function_call_output", "call_id": "c1", "output": "done"}


class Session:
    """What a session keeps, without a server around it."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}
        self.numbers = count(0xABC)

    def target(self, method: str, path: str, query: Mapping[str, str], raw: bytes) -> Target:
        target = find_target(Call(method, path, query, {"authorization": "Bearer k"}, raw))
        assert target is not None and target.wire is WIRE and target.endpoint is not None
        return target

    def read(
        self, body: Any, *, path: str = PATH, method: str = "POST", **query: str
    ) -> CanonicalRequest:
        """A request with all that it names."""
        raw = b"" if body is None else msgspec.json.encode(body)
        target = self.target(method, path, query, raw)
        assert target.endpoint is not None
        node = Node({}) if body is None else read_body(raw, Limits())
        call = Call(method, path, query, {"authorization": "Bearer k"}, raw)
        request = target.endpoint.read(call, target.endpoint, target.params, node)
        return self.resolve(request, target.endpoint.archival)

    def resolve(self, request: CanonicalRequest, archival: Any) -> CanonicalRequest:
        kept: dict[str, bytes | None] = {}
        while missing := [n for n in archival.references(request, kept) if n not in kept]:
            kept |= {name: self.kept.get(name) for name in missing}
        return archival.resolve(request, kept)

    def ask(self, response: CanonicalResponse, **body: Any) -> dict[str, Any]:
        """The whole answer to a request, which is kept if it is to be."""
        request = self.read(body)
        sent = stream(request, response) if request.stream else b""
        for kept in CREATE.archival.record(request, response, sent):
            assert kept.data is not None
            self.kept[kept.name] = kept.data
        whole: dict[str, Any] = json.loads(CREATE.render(request, response))
        return whole

    def compute(self, method: str, path: str, body: Any = None, **query: str) -> bytes:
        """A computed answer, with what it leaves kept and dropped."""
        raw = b"" if body is None else msgspec.json.encode(body)
        target = self.target(method, path, query, raw)
        assert target.endpoint is not None and target.endpoint.compute is not None
        request = self.read(body, path=path, method=method, **query)
        context = replace(CONTEXT, request_id=f"{next(self.numbers):032x}")
        answer = target.endpoint.compute(request, context)
        if not isinstance(answer, ComputedResponse):
            return answer
        for left in answer.writes:
            self.kept.pop(left.name, None)
            if left.data is not None:
                self.kept[left.name] = left.data
        return answer.body

    def computed(self, method: str, path: str, body: Any = None, **query: str) -> Any:
        return json.loads(self.compute(method, path, body, **query))


def parse(**body: Any) -> CanonicalRequest:
    """A request for an answer."""
    return Session().read(body)


def said(**body: Any) -> list[tuple[str, str]]:
    """The roles and texts of a request's messages."""
    return [(message.role, message.text) for message in parse(**body).messages]


def refusal_of(session: Session | None = None, **body: Any) -> ErrorAnswer:
    """The error that a request gets."""
    with pytest.raises(WireError) as refused:
        (session or Session()).read(body)
    return refused.value.answer


def render(request: CanonicalRequest, response: CanonicalResponse) -> dict[str, Any]:
    whole: dict[str, Any] = msgspec.json.decode(CREATE.render(request, response))
    return whole


def stream(
    request: CanonicalRequest, response: CanonicalResponse, sizes: Sequence[int] = (3,)
) -> bytes:
    """The whole stream as it leaves."""
    return played(CREATE.encode(request, response), response, sizes)


def events_in(sent: bytes) -> list[dict[str, Any]]:
    """The events of a stream: each named as its type is, and numbered from 0."""
    *events, end = sent.split(b"\n\n")
    assert end == b""
    found = []
    for event in events:
        name, data = event.split(b"\n")
        fields = msgspec.json.decode(data.removeprefix(b"data: "))
        assert name == b"event: " + fields["type"].encode()
        found.append(fields)
    assert [fields["sequence_number"] for fields in found] == list(range(len(found)))
    return found
