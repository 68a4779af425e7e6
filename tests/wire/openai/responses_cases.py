"""Helpers of the Responses API tests: a session with stored responses, rendering and streams."""

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
from tests.wire.stream_encoding import encode_stream

PATH = "/v1/responses"
CREATE = WIRE.endpoints[0]
CONTEXT = ComputeContext(models={"gpt-4o": "openai"}, created=1735689600, request_id="abc")
CALL_1 = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
RESULT_1 = {"type": "function_call_output", "call_id": "c1", "output": "done"}


class Session:
    """Reads and computes requests against records stored in memory, without a server."""

    def __init__(self) -> None:
        self.records: dict[str, bytes] = {}
        self.numbers = count(0xABC)

    def target(self, method: str, path: str, query: Mapping[str, str], raw: bytes) -> Target:
        target = find_target(Call(method, path, query, {"authorization": "Bearer k"}, raw))
        assert target is not None and target.wire is WIRE and target.endpoint is not None
        return target

    def read(
        self, body: Any, *, path: str = PATH, method: str = "POST", **query: str
    ) -> CanonicalRequest:
        """Read a request and resolve the records that it refers to."""
        raw = b"" if body is None else msgspec.json.encode(body)
        target = self.target(method, path, query, raw)
        assert target.endpoint is not None
        node = Node({}) if body is None else read_body(raw, Limits())
        call = Call(method, path, query, {"authorization": "Bearer k"}, raw)
        request = target.endpoint.read(call, target.endpoint, target.params, node)
        return self.resolve(request, target.endpoint.archival)

    def resolve(self, request: CanonicalRequest, archival: Any) -> CanonicalRequest:
        records: dict[str, bytes | None] = {}
        while missing_names := [
            n for n in archival.references(request, records) if n not in records
        ]:
            records |= {name: self.records.get(name) for name in missing_names}
        return archival.resolve(request, records)

    def respond(self, response: CanonicalResponse, **body: Any) -> dict[str, Any]:
        """Render the response to a request; store the records that the wire keeps of it."""
        request = self.read(body)
        stream_bytes = stream(request, response) if request.stream else b""
        for record in CREATE.archival.record(request, response, stream_bytes):
            assert record.data is not None
            self.records[record.name] = record.data
        rendered: dict[str, Any] = json.loads(CREATE.render(request, response))
        return rendered

    def compute(self, method: str, path: str, body: Any = None, **query: str) -> bytes:
        """Compute a response; apply its writes and deletions to the records."""
        raw = b"" if body is None else msgspec.json.encode(body)
        target = self.target(method, path, query, raw)
        assert target.endpoint is not None and target.endpoint.compute is not None
        request = self.read(body, path=path, method=method, **query)
        context = replace(CONTEXT, request_id=f"{next(self.numbers):032x}")
        answer = target.endpoint.compute(request, context)
        if not isinstance(answer, ComputedResponse):
            return answer
        for record in answer.writes:
            self.records.pop(record.name, None)
            if record.data is not None:
                self.records[record.name] = record.data
        return answer.body

    def compute_json(self, method: str, path: str, body: Any = None, **query: str) -> Any:
        return json.loads(self.compute(method, path, body, **query))


def parse(**body: Any) -> CanonicalRequest:
    """Read a create request in a new session."""
    return Session().read(body)


def read_messages(**body: Any) -> list[tuple[str, str]]:
    """Return the role and text of each message of a create request."""
    return [(message.role, message.text) for message in parse(**body).messages]


def catch_error(session: Session | None = None, **body: Any) -> ErrorAnswer:
    """Return the error that reading a create request raises."""
    with pytest.raises(WireError) as raised:
        (session or Session()).read(body)
    return raised.value.answer


def render(request: CanonicalRequest, response: CanonicalResponse) -> dict[str, Any]:
    body: dict[str, Any] = msgspec.json.decode(CREATE.render(request, response))
    return body


def stream(
    request: CanonicalRequest, response: CanonicalResponse, sizes: Sequence[int] = (3,)
) -> bytes:
    """Return the encoded stream of a response."""
    return encode_stream(CREATE.encode(request, response), response, sizes)


def parse_events(stream_bytes: bytes) -> list[dict[str, Any]]:
    """Parse the events of a stream; check each name against its type and the numbering from 0."""
    *events, end = stream_bytes.split(b"\n\n")
    assert end == b""
    parsed_events = []
    for event in events:
        name, data = event.split(b"\n")
        fields = msgspec.json.decode(data.removeprefix(b"data: "))
        assert name == b"event: " + fields["type"].encode()
        parsed_events.append(fields)
    assert [fields["sequence_number"] for fields in parsed_events] == list(
        range(len(parsed_events))
    )
    return parsed_events
