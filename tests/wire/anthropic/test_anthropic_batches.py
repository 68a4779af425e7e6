"""Anthropic's message batches: what is stored of one, and what is told of it at each step."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.wire.base import ComputeContext, ComputedResponse, Endpoint, SubResponse
from scenarios_app.wire.body import Limits, Node, read_body
from scenarios_app.wire.errors import WireError
from tests.wire.anthropic.anthropic_cases import BATCHES, CONTEXT, HEADERS, LEAST, call

RESULTS, CANCEL, RETRIEVE, DELETE, LIST, CREATE = BATCHES
HOST = {**HEADERS, "host": "mock.test"}
ID = "msgbatch_f00d"
MESSAGE = SubResponse(200, b'{"type":"message","content":[]}')
OVERLOADED = SubResponse(
    529, b'{"type":"error","error":{"type":"overloaded_error","message":"no"}}'
)
NOTHING = SubResponse(200, b"")


def asked(custom_id: str, **params: Any) -> dict[str, Any]:
    return {"custom_id": custom_id, "params": {**LEAST, **params}}


class Session:
    """What a session stores of batches, asked as the pipeline asks."""

    def __init__(self) -> None:
        self.stored: dict[str, bytes] = {}
        self.ordinal = 0

    def read(self, endpoint: Endpoint, name: str = "", body: object = None) -> CanonicalRequest:
        sent = call(endpoint.pattern, json.dumps(body).encode(), headers=HOST)
        node = Node({}) if body is None else read_body(sent.body, Limits())
        request = endpoint.read(sent, endpoint, {"message_batch_id": name}, node)
        archival = endpoint.archival
        assert archival is not None
        names = archival.references(request, {})
        found: Mapping[str, bytes | None] = {each: self.stored.get(each) for each in names} | {
            each: data
            for each, data in self.stored.items()
            if archival.prefix and each.startswith(archival.prefix)
        }
        return archival.resolve(request, found)

    def raw(
        self, endpoint: Endpoint, name: str = "", *answers: SubResponse, body: object = None
    ) -> bytes:
        request = self.read(endpoint, name, body)
        self.ordinal += 1
        context = replace(CONTEXT, ordinal=self.ordinal, sub_responses=answers)
        return self.told(endpoint, request, context)

    def told(self, endpoint: Endpoint, request: CanonicalRequest, context: ComputeContext) -> bytes:
        assert endpoint.compute is not None and endpoint.archival is not None
        computed = endpoint.compute(request, context)
        if not isinstance(computed, ComputedResponse):
            return computed
        for each in computed.writes:
            if each.data is None:
                self.stored.pop(each.name, None)
            else:
                self.stored[each.name] = each.data
        return computed.body

    def ask(self, endpoint: Endpoint, name: str = "") -> Any:
        return json.loads(self.raw(endpoint, name))

    def make(self, *answers: SubResponse, request_id: str = "f00d") -> Any:
        requests = [asked(f"r{number}") for number in range(len(answers))]
        request = self.read(CREATE, body={"requests": requests})
        self.ordinal += 1
        context = replace(
            CONTEXT, request_id=request_id, ordinal=self.ordinal, sub_responses=answers
        )
        return json.loads(self.told(CREATE, request, context))


def counts(**given: int) -> dict[str, int]:
    kinds = ("processing", "succeeded", "errored", "canceled", "expired")
    return {**dict.fromkeys(kinds, 0), **given}


def test_a_new_batch_is_in_progress() -> None:
    assert Session().make(MESSAGE, MESSAGE) == {
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


def test_a_batch_that_is_asked_for_has_ended() -> None:
    session = Session()
    session.make(MESSAGE, OVERLOADED, NOTHING)
    told = session.ask(RETRIEVE, ID)
    assert told["processing_status"] == "ended"
    assert told["ended_at"] == told["created_at"]
    assert told["request_counts"] == counts(succeeded=1, errored=2)
    assert told["results_url"] == f"http://mock.test/v1/messages/batches/{ID}/results"
    assert session.ask(RETRIEVE, ID) == told


def test_results_are_lines_in_the_order_of_the_requests() -> None:
    session = Session()
    session.make(MESSAGE, OVERLOADED, NOTHING)
    lines = [json.loads(line) for line in session.raw(RESULTS, ID).splitlines()]
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
    session.make(SubResponse(200, body), MESSAGE)
    first, second = (json.loads(line)["result"] for line in session.raw(RESULTS, ID).splitlines())
    assert (first["type"], first["error"]["error"]["type"]) == ("errored", "api_error")
    assert second["type"] == "succeeded"


def test_cancelled_batch_reports_no_results() -> None:
    session = Session()
    session.make(MESSAGE, MESSAGE)
    told = session.ask(CANCEL, ID)
    assert told["processing_status"] == "canceling"
    assert told["request_counts"] == counts(processing=2)
    assert told["cancel_initiated_at"] == "2025-11-21T21:20:00Z"
    assert session.ask(CANCEL, ID) == told
    assert session.ask(RETRIEVE, ID)["request_counts"] == counts(canceled=2)
    assert session.raw(RESULTS, ID).splitlines() == [
        b'{"custom_id":"r0","result":{"type":"canceled"}}',
        b'{"custom_id":"r1","result":{"type":"canceled"}}',
    ]
    with pytest.raises(WireError, match="has ended and cannot be canceled"):
        session.ask(CANCEL, ID)


def test_only_what_has_ended_is_deleted() -> None:
    session = Session()
    session.make(MESSAGE)
    with pytest.raises(WireError, match="has not ended"):
        session.ask(DELETE, ID)
    session.ask(RETRIEVE, ID)
    assert session.ask(DELETE, ID) == {"id": ID, "type": "message_batch_deleted"}
    assert not session.stored
    with pytest.raises(WireError) as raised:
        session.ask(RETRIEVE, ID)
    assert raised.value.answer.status == 404


def test_the_latest_batch_is_listed_first_whenever_it_was_asked_for() -> None:
    session = Session()
    session.make(MESSAGE, request_id="a")
    session.make(MESSAGE, request_id="b")
    session.ask(RETRIEVE, "msgbatch_a")
    page = session.ask(LIST)
    statuses = {each["id"]: each["processing_status"] for each in page["data"]}
    assert list(statuses.items()) == [("msgbatch_b", "in_progress"), ("msgbatch_a", "ended")]
    assert (page["has_more"], page["first_id"]) == (False, "msgbatch_b")


def test_the_example_of_the_api_description_is_there_and_stores_nothing() -> None:
    session = Session()
    name = "message_batch_id"
    assert session.ask(CANCEL, name)["processing_status"] == "canceling"
    assert session.ask(RETRIEVE, name)["processing_status"] == "ended"
    assert session.ask(DELETE, name)["id"] == name
    assert session.raw(RESULTS, name) == b""
    assert session.ask(LIST)["data"] == [] and not session.stored


def test_each_request_becomes_a_call_with_the_headers_of_the_batch() -> None:
    body = {"requests": [asked("a"), asked("b", max_tokens=3)]}
    request = Session().read(CREATE, body=body)
    assert CREATE.sub_requests is not None
    calls = CREATE.sub_requests(request)
    assert [json.loads(each.body)["max_tokens"] for each in calls] == [16, 3]
    assert {(each.method, each.path) for each in calls} == {("POST", "/v1/messages")}
    assert all(each.headers == HOST for each in calls)


def test_without_a_host_results_are_named_by_their_path() -> None:
    request = RETRIEVE.read(
        call("/x"), RETRIEVE, {"message_batch_id": "message_batch_id"}, Node({})
    )
    assert RETRIEVE.archival is not None and RETRIEVE.compute is not None
    computed = RETRIEVE.compute(RETRIEVE.archival.resolve(request, {}), CONTEXT)
    assert isinstance(computed, ComputedResponse)
    told = json.loads(computed.body)
    assert told["results_url"] == "/v1/messages/batches/message_batch_id/results"


@pytest.mark.parametrize(
    ("requests", "said"),
    [
        ([], "at least one request"),
        ([asked("a"), asked("a")], r"requests\[1\].custom_id: 'a' is not unique"),
        ([asked("a b")], r"requests\[0\].custom_id: String should match pattern"),
        ([asked("a", stream=True)], r"requests\[0\].params.stream: batches are not streamed"),
        (None, "^requests: Field required$"),
        ([{"params": LEAST}], r"^requests\[0\].custom_id: Field required$"),
        ([{"custom_id": "a"}], r"^requests\[0\].params: Field required$"),
        ([{"custom_id": "a", "params": "text"}], r"requests\[0\].params"),
        ("text", "requests"),
    ],
)
def test_invalid_batch_is_rejected_with_its_path(requests: object, said: str) -> None:
    with pytest.raises(WireError, match=said) as raised:
        Session().read(CREATE, body={"requests": requests})
    assert raised.value.answer.status == 400


def test_a_batch_holds_so_many_requests_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scenarios_app.wire.anthropic.batches._MAX_REQUESTS", 2)
    session = Session()
    session.read(CREATE, body={"requests": [asked("a"), asked("b")]})
    with pytest.raises(WireError, match="at most 2 requests"):
        session.read(CREATE, body={"requests": [asked("a"), asked("b"), asked("c")]})
