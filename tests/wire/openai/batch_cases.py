"""What a session stores of OpenAI's files and batches, asked as the pipeline asks."""

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


def form_of(*parts: tuple[str, bytes]) -> tuple[dict[str, str], bytes]:
    """Headers and body of a form; each part is what stands in its disposition, and its content."""
    body = b"".join(
        b"--edge\r\nContent-Disposition: form-data; " + name.encode() + b"\r\n\r\n" + data + b"\r\n"
        for name, data in parts
    )
    return {"content-type": "multipart/form-data; boundary=edge"}, body + b"--edge--\r\n"


class Session:
    """What a session stores, asked as the pipeline asks."""

    def __init__(self) -> None:
        self.stored: dict[str, bytes] = {}
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
        found: dict[str, bytes | None] = {
            each: data
            for each, data in self.stored.items()
            if archival.prefix and each.startswith(archival.prefix)
        }
        for each in archival.references(request, found):
            found[each] = self.stored.get(each)
        return archival.resolve(request, found)

    def raw(self, endpoint: Endpoint, request: CanonicalRequest, *answers: SubResponse) -> bytes:
        self.ordinal += 1
        request_id = f"f{self.ordinal}"
        context = ComputeContext({}, NOW, request_id, self.ordinal, answers)
        assert endpoint.compute is not None and endpoint.archival is not None
        told = endpoint.compute(request, context)
        if not isinstance(told, ComputedResponse):
            return told
        for each in told.writes:
            if each.data is None:
                self.stored.pop(each.name, None)
            else:
                self.stored[each.name] = each.data
        return told.body

    def ask(self, endpoint: Endpoint, name: str = "", **keys: Any) -> Any:
        return json.loads(self.raw(endpoint, self.read(endpoint, name, **keys)))

    def upload(self, data: bytes, purpose: str = "batch") -> str:
        form = form_of(
            ('name="purpose"', purpose.encode()), ('name="file"; filename="in.jsonl"', data)
        )
        return str(self.ask(UPLOAD, form=form)["id"])

    def make(self, data: bytes, *answers: SubResponse, **keys: Any) -> Any:
        body = {"input_file_id": self.upload(data), "endpoint": CHAT, "completion_window": "24h"}
        request = self.read(CREATE, body={**body, **keys})
        return json.loads(self.raw(CREATE, request, *answers))

    def content(self, name: str) -> list[Any]:
        return [
            json.loads(each) for each in self.raw(CONTENT, self.read(CONTENT, name)).splitlines()
        ]
