"""A session of OpenAI's files and batches without a server."""

import json
from collections.abc import Mapping
from typing import Any

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.wire.base import Call, ComputeContext, ComputedResponse, Endpoint, SubResponse
from scenarios_app.wire.body import Limits, Node, read_body
from scenarios_app.wire.openai import batches, files

CONTENT, FILE, DELETE_FILE, FILES, UPLOAD = files.ENDPOINTS
CANCEL, BATCH, LIST, CREATE = batches.ENDPOINTS
NOW = 1_763_760_000
CHAT = "/v1/chat/completions"


def encode_form(*parts: tuple[str, bytes]) -> tuple[dict[str, str], bytes]:
    """Return headers and body of a form; a part is the end of its disposition and its content."""
    body = b"".join(
        b"--edge\r\nContent-Disposition: form-data; " + name.encode() + b"\r\n\r\n" + data + b"\r\n"
        for name, data in parts
    )
    return {"content-type": "multipart/form-data; boundary=edge"}, body + b"--edge--\r\n"


class Session:
    """Reads and computes requests against records stored in memory, as the pipeline does."""

    def __init__(self) -> None:
        self.records: dict[str, bytes] = {}
        self.ordinal = 0

    def read(
        self,
        endpoint: Endpoint,
        name: str = "",
        *,
        body: object = None,
        form: tuple[dict[str, str], bytes] = ({}, b""),
        query: Mapping[str, str] = {},
    ) -> CanonicalRequest:
        headers, data = form if body is None else ({}, json.dumps(body).encode())
        call = Call(endpoint.method, endpoint.pattern, query, headers, data)
        node = Node({}) if body is None else read_body(data, Limits())
        request = endpoint.read(call, endpoint, {"file_id": name, "batch_id": name}, node)
        archival = endpoint.archival
        assert archival is not None
        records: dict[str, bytes | None] = {
            record_name: data
            for record_name, data in self.records.items()
            if archival.prefix and record_name.startswith(archival.prefix)
        }
        for record_name in archival.references(request, records):
            records[record_name] = self.records.get(record_name)
        return archival.resolve(request, records)

    def compute(
        self, endpoint: Endpoint, request: CanonicalRequest, *answers: SubResponse
    ) -> bytes:
        self.ordinal += 1
        request_id = f"f{self.ordinal}"
        context = ComputeContext({}, NOW, request_id, self.ordinal, answers)
        assert endpoint.compute is not None and endpoint.archival is not None
        response = endpoint.compute(request, context)
        if not isinstance(response, ComputedResponse):
            return response
        for write in response.writes:
            if write.data is None:
                self.records.pop(write.name, None)
            else:
                self.records[write.name] = write.data
        return response.body

    def compute_json(self, endpoint: Endpoint, name: str = "", **keys: Any) -> Any:
        return json.loads(self.compute(endpoint, self.read(endpoint, name, **keys)))

    def upload(self, data: bytes, purpose: str = "batch") -> str:
        form = encode_form(
            ('name="purpose"', purpose.encode()), ('name="file"; filename="in.jsonl"', data)
        )
        return str(self.compute_json(UPLOAD, form=form)["id"])

    def create_batch(self, data: bytes, *answers: SubResponse, **keys: Any) -> Any:
        body = {"input_file_id": self.upload(data), "endpoint": CHAT, "completion_window": "24h"}
        request = self.read(CREATE, body={**body, **keys})
        return json.loads(self.compute(CREATE, request, *answers))

    def read_content(self, name: str) -> list[Any]:
        return [
            json.loads(line)
            for line in self.compute(CONTENT, self.read(CONTENT, name)).splitlines()
        ]
