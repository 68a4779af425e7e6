"""Anthropic's message batches: stored records, and the body at each stage of processing."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.wire.base import ComputeContext, ComputedResponse, Endpoint, SubResponse
from scenarios_app.wire.body import Limits, Node, read_body
from scenarios_app.wire.errors import WireError
from tests.wire.anthropic.anthropic_cases import BATCHES, CONTEXT, HEADERS, MINIMAL_BODY, call

RESULTS, CANCEL, RETRIEVE, DELETE, LIST, CREATE = BATCHES
HOST = {**HEADERS, "host": "mock.test"}
ID = "msgbatch_f00d"
MESSAGE = SubResponse(200, b'{"type":"message","content":[]}')
OVERLOADED = SubResponse(
    529, b'{"type":"error","error":{"type":"overloaded_error","message":"no"}}'
)
NOTHING = SubResponse(200, b"")


def batch_item(custom_id: str, **params: Any) -> dict[str, Any]:
    return {"custom_id": custom_id, "params": {**MINIMAL_BODY, **params}}


class Session:
    """Reads and computes requests against records stored in memory, as the pipeline does."""

    def __init__(self) -> None:
        self.records: dict[str, bytes] = {}
        self.ordinal = 0

    def read(self, endpoint: Endpoint, name: str = "", body: object = None) -> CanonicalRequest:
        request_call = call(endpoint.pattern, json.dumps(body).encode(), headers=HOST)
        node = Node({}) if body is None else read_body(request_call.body, Limits())
        request = endpoint.read(request_call, endpoint, {"message_batch_id": name}, node)
        archival = endpoint.archival
        assert archival is not None
        names = archival.references(request, {})
        records: Mapping[str, bytes | None] = {
            record_name: self.records.get(record_name) for record_name in names
        } | {
            record_name: data
            for record_name, data in self.records.items()
            if archival.prefix and record_name.startswith(archival.prefix)
        }
        return archival.resolve(request, records)

    def compute_raw(
        self, endpoint: Endpoint, name: str = "", *answers: SubResponse, body: object = None
    ) -> bytes:
        request = self.read(endpoint, name, body)
        self.ordinal += 1
        context = replace(CONTEXT, ordinal=self.ordinal, sub_responses=answers)
        return self.compute(endpoint, request, context)

    def compute(
        self, endpoint: Endpoint, request: CanonicalRequest, context: ComputeContext
    ) -> bytes:
        assert endpoint.compute is not None and endpoint.archival is not None
        computed = endpoint.compute(request, context)
        if not isinstance(computed, ComputedResponse):
            return computed
        for write in computed.writes:
            if write.data is None:
                self.records.pop(write.name, None)
            else:
                self.records[write.name] = write.data
        return computed.body

    def compute_json(self, endpoint: Endpoint, name: str = "") -> Any:
        return json.loads(self.compute_raw(endpoint, name))

    def create_batch(self, *answers: SubResponse, request_id: str = "f00d") -> Any:
        requests = [batch_item(f"r{number}") for number in range(len(answers))]
        request = self.read(CREATE, body={"requests": requests})
        self.ordinal += 1
        context = replace(
            CONTEXT, request_id=request_id, ordinal=self.ordinal, sub_responses=answers
        )
        return json.loads(self.compute(CREATE, request, context))


def counts(**nonzero: int) -> dict[str, int]:
    statuses = ("processing", "succeeded", "errored", "canceled", "expired")
    return {**dict.fromkeys(statuses, 0), **nonzero}


def test_a_new_batch_is_in_progress() -> None:
    assert Session().create_batch(MESSAGE, MESSAGE) == {
        "id": ID,
        "type": "message_batch",
        "processing_status": "in_progress",
        "request_counts": counts(processing=2),
        "ended_at": None,
        "created_at": "2025-11-21T21:20:00Z",
        "expires_at": "2025-11-22T21:20:00Z",
        "archived_at": None,
        "cancel_initiated_at": None,
        "results_url": None,
    }


def test_retrieved_batch_has_ended() -> None:
    session = Session()
    session.create_batch(MESSAGE, OVERLOADED, NOTHING)
    batch = session.compute_json(RETRIEVE, ID)
    assert batch["processing_status"] == "ended"
    assert batch["ended_at"] == batch["created_at"]
    assert batch["request_counts"] == counts(succeeded=1, errored=2)
    assert batch["results_url"] == f"http://mock.test/v1/messages/batches/{ID}/results"
    assert session.compute_json(RETRIEVE, ID) == batch


def test_results_are_lines_in_the_order_of_the_requests() -> None:
    session = Session()
    session.create_batch(MESSAGE, OVERLOADED, NOTHING)
    lines = [json.loads(line) for line in session.compute_raw(RESULTS, ID).splitlines()]
    assert lines == [
        {"custom_id": "r0", "result": {"type": "succeeded", "message": json.loads(MESSAGE.body)}},
        {"custom_id": "r1", "result": {"type": "errored", "error": json.loads(OVERLOADED.body)}},
        {
            "custom_id": "r2",
            "result": {
                "type": "errored",
                "error": {
                    "type": "error",
                    "error": {"type": "api_error", "message": "Internal server error"},
                },
            },
        },
    ]
    assert RESULTS.media_type == "application/x-jsonl"


@pytest.mark.parametrize("body", [b'{"a":"\xff"}', b"[" * 5_000, b'{"a":1e999}'])
def test_response_that_is_no_json_is_a_server_error_in_the_results(body: bytes) -> None:
    session = Session()
    session.create_batch(SubResponse(200, body), MESSAGE)
    first, second = (
        json.loads(line)["result"] for line in session.compute_raw(RESULTS, ID).splitlines()
    )
    assert (first["type"], first["error"]["error"]["type"]) == ("errored", "api_error")
    assert second["type"] == "succeeded"


def test_cancelled_batch_reports_no_results() -> None:
    session = Session()
    session.create_batch(MESSAGE, MESSAGE)
    batch = session.compute_json(CANCEL, ID)
    assert batch["processing_status"] == "canceling"
    assert batch["request_counts"] == counts(processing=2)
    assert batch["cancel_initiated_at"] == "2025-11-21T21:20:00Z"
    assert session.compute_json(CANCEL, ID) == batch
    assert session.compute_json(RETRIEVE, ID)["request_counts"] == counts(canceled=2)
    assert session.compute_raw(RESULTS, ID).splitlines() == [
        b'{"custom_id":"r0","result":{"type":"canceled"}}',
        b'{"custom_id":"r1","result":{"type":"canceled"}}',
    ]
    with pytest.raises(WireError, match="has ended and cannot be canceled"):
        session.compute_json(CANCEL, ID)


def test_only_ended_batches_can_be_deleted() -> None:
    session = Session()
    session.create_batch(MESSAGE)
    with pytest.raises(WireError, match="has not ended"):
        session.compute_json(DELETE, ID)
    session.compute_json(RETRIEVE, ID)
    assert session.compute_json(DELETE, ID) == {"id": ID, "type": "message_batch_deleted"}
    assert not session.records
    with pytest.raises(WireError) as raised:
        session.compute_json(RETRIEVE, ID)
    assert raised.value.answer.status == 404


def test_list_starts_with_the_latest_batch() -> None:
    session = Session()
    session.create_batch(MESSAGE, request_id="a")
    session.create_batch(MESSAGE, request_id="b")
    session.compute_json(RETRIEVE, "msgbatch_a")
    page = session.compute_json(LIST)
    statuses = {each["id"]: each["processing_status"] for each in page["data"]}
    assert list(statuses.items()) == [("msgbatch_b", "in_progress"), ("msgbatch_a", "ended")]
    assert (page["has_more"], page["first_id"]) == (False, "msgbatch_b")


def test_example_batch_of_the_api_description_exists_and_stores_nothing() -> None:
    session = Session()
    name = "message_batch_id"
    assert session.compute_json(CANCEL, name)["processing_status"] == "canceling"
    assert session.compute_json(RETRIEVE, name)["processing_status"] == "ended"
    assert session.compute_json(DELETE, name)["id"] == name
    assert session.compute_raw(RESULTS, name) == b""
    assert session.compute_json(LIST)["data"] == [] and not session.records


def test_each_request_becomes_a_call_with_the_headers_of_the_batch() -> None:
    body = {"requests": [batch_item("a"), batch_item("b", max_tokens=3)]}
    request = Session().read(CREATE, body=body)
    assert CREATE.sub_requests is not None
    calls = CREATE.sub_requests(request)
    assert [json.loads(each.body)["max_tokens"] for each in calls] == [16, 3]
    assert {(each.method, each.path) for each in calls} == {("POST", "/v1/messages")}
    assert all(each.headers == HOST for each in calls)


def test_results_url_without_a_host_is_a_path() -> None:
    request = RETRIEVE.read(
        call("/x"), RETRIEVE, {"message_batch_id": "message_batch_id"}, Node({})
    )
    assert RETRIEVE.archival is not None and RETRIEVE.compute is not None
    computed = RETRIEVE.compute(RETRIEVE.archival.resolve(request, {}), CONTEXT)
    assert isinstance(computed, ComputedResponse)
    batch = json.loads(computed.body)
    assert batch["results_url"] == "/v1/messages/batches/message_batch_id/results"


@pytest.mark.parametrize(
    ("requests", "message"),
    [
        ([], "at least one request"),
        ([batch_item("a"), batch_item("a")], r"requests\[1\].custom_id: 'a' is not unique"),
        ([batch_item("a b")], r"requests\[0\].custom_id: String should match pattern"),
        ([batch_item("a", stream=True)], r"requests\[0\].params.stream: batches are not streamed"),
        (None, "^requests: Field required$"),
        ([{"params": MINIMAL_BODY}], r"^requests\[0\].custom_id: Field required$"),
        ([{"custom_id": "a"}], r"^requests\[0\].params: Field required$"),
        ([{"custom_id": "a", "params": "text"}], r"requests\[0\].params"),
        ("text", "requests"),
    ],
)
def test_invalid_batch_is_rejected_with_its_path(requests: object, message: str) -> None:
    with pytest.raises(WireError, match=message) as raised:
        Session().read(CREATE, body={"requests": requests})
    assert raised.value.answer.status == 400


def test_number_of_requests_in_a_batch_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scenarios_app.wire.anthropic.batches._MAX_REQUESTS", 2)
    session = Session()
    session.read(CREATE, body={"requests": [batch_item("a"), batch_item("b")]})
    with pytest.raises(WireError, match="at most 2 requests"):
        session.read(CREATE, body={"requests": [batch_item("a"), batch_item("b"), batch_item("c")]})
