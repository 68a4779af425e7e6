"""OpenAI's batches: their status at each stage, and the files of their results."""

import json
from typing import Any

import msgspec
import pytest

from scenarios_app.wire.base import SubResponse
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.openai.batches import read_lines
from tests.wire.openai.batch_cases import (
    BATCH,
    CANCEL,
    CHAT,
    CREATE,
    DELETE_FILE,
    FILE,
    LIST,
    NOW,
    Session,
)

ANSWER = SubResponse(
    200,
    b'{"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5,'
    b'"prompt_tokens_details":{"cached_tokens":1}}}',
)
RESPONSE = SubResponse(
    200,
    b'{"usage":{"input_tokens":4,"output_tokens":6,"output_tokens_details":{"reasoning_tokens":5}}}',
)
RAW = SubResponse(200, b'["no usage"]')
EMPTY = SubResponse(200, b'{"usage":{}}')
WORDS = SubResponse(200, b'{"usage":{"prompt_tokens":"three","completion_tokens":[2]}}')
NESTED = SubResponse(200, b"[" * 3_000 + b"]" * 3_000)
NO_UTF8 = SubResponse(200, b'"\xff"')
LIMITED = SubResponse(429, b'{"error":{"message":"slow"}}')


def line(custom_id: str, **keys: Any) -> dict[str, Any]:
    body = {"model": "gpt-4o", "messages": []}
    return {"custom_id": custom_id, "method": "POST", "url": CHAT, "body": body, **keys}


def jsonl(*lines: object) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in lines)


def test_answer_without_usage_counts_none() -> None:
    session = Session()
    file = jsonl(*map(line, "abcd"))
    created = session.create_batch(file, RAW, EMPTY, WORDS, RESPONSE)
    batch = session.compute_json(BATCH, created["id"])
    assert batch["request_counts"] == {"total": 4, "completed": 4, "failed": 0}
    assert (batch["usage"]["input_tokens"], batch["usage"]["output_tokens"]) == (4, 6)


@pytest.mark.parametrize("answer", [NESTED, NO_UTF8, SubResponse(200, b"")])
def test_answer_that_cannot_be_parsed_is_a_failed_line(answer: SubResponse) -> None:
    session = Session()
    batch = session.compute_json(BATCH, session.create_batch(jsonl(line("a")), answer)["id"])
    assert batch["request_counts"] == {"total": 1, "completed": 0, "failed": 1}
    (failed_line,) = session.read_content(batch["error_file_id"])
    assert (failed_line["response"], failed_line["error"]["code"]) == (None, "server_error")


def test_batch_is_validating_at_first_and_completed_when_retrieved() -> None:
    session = Session()
    created = session.create_batch(
        jsonl(line("a"), line("b")), ANSWER, RESPONSE, metadata={"team": "qa"}
    )
    assert (created["status"], created["output_file_id"], created["usage"]) == (
        "validating",
        None,
        None,
    )
    batch = session.compute_json(BATCH, created["id"])
    assert batch == {
        "id": "batch_f2",
        "object": "batch",
        "endpoint": CHAT,
        "model": "gpt-4o",
        "errors": None,
        "input_file_id": "file-f1",
        "completion_window": "24h",
        "status": "completed",
        "output_file_id": "file-f2-output",
        "error_file_id": None,
        "created_at": NOW,
        "in_progress_at": NOW,
        "expires_at": NOW + 86_400,
        "finalizing_at": NOW,
        "completed_at": NOW,
        "failed_at": None,
        "expired_at": None,
        "cancelling_at": None,
        "cancelled_at": None,
        "request_counts": {"total": 2, "completed": 2, "failed": 0},
        "usage": {
            "input_tokens": 7,
            "input_tokens_details": {"cached_tokens": 1},
            "output_tokens": 8,
            "output_tokens_details": {"reasoning_tokens": 5},
            "total_tokens": 15,
        },
        "metadata": {"team": "qa"},
    }
    assert session.compute_json(BATCH, created["id"]) == batch


def test_responses_and_errors_are_lines_of_two_files() -> None:
    session = Session()
    data = jsonl(*map(line, "abcd"))
    created = session.create_batch(
        data, ANSWER, LIMITED, SubResponse(200, b""), SubResponse(200, b"{}")
    )
    batch = session.compute_json(BATCH, created["id"])
    assert batch["request_counts"] == {"total": 4, "completed": 2, "failed": 2}
    assert session.read_content(batch["output_file_id"]) == [
        {
            "id": "batch_req_f2-1",
            "custom_id": "a",
            "response": {
                "status_code": 200,
                "request_id": "req_f2-1",
                "body": json.loads(ANSWER.body),
            },
            "error": None,
        },
        {
            "id": "batch_req_f2-4",
            "custom_id": "d",
            "response": {"status_code": 200, "request_id": "req_f2-4", "body": {}},
            "error": None,
        },
    ]
    limited, empty = session.read_content(batch["error_file_id"])
    assert (limited["custom_id"], limited["response"]["status_code"]) == ("b", 429)
    assert (empty["response"], empty["error"]["code"]) == (None, "server_error")


def test_deleted_output_file_is_not_created_again() -> None:
    session = Session()
    batch = session.create_batch(jsonl(line("a")), ANSWER)
    output = session.compute_json(BATCH, batch["id"])["output_file_id"]
    session.compute_json(DELETE_FILE, output)
    session.compute_json(BATCH, batch["id"])
    assert output not in session.records


def test_cancelled_batch_reports_no_results() -> None:
    session = Session()
    created = session.create_batch(jsonl(line("a")), ANSWER)
    cancelling = session.compute_json(CANCEL, created["id"])
    assert (cancelling["status"], cancelling["cancelling_at"]) == ("cancelling", NOW)
    assert session.compute_json(CANCEL, created["id"]) == cancelling
    cancelled = session.compute_json(BATCH, created["id"])
    assert (cancelled["status"], cancelled["cancelled_at"]) == ("cancelled", NOW)
    assert (cancelled["output_file_id"], cancelled["usage"]) == (None, None)
    with pytest.raises(WireError, match="status 'cancelled'") as raised:
        session.compute_json(CANCEL, created["id"])
    assert raised.value.answer.status == 409


@pytest.mark.parametrize(
    ("data", "code", "param", "number"),
    [
        (b"", "empty_file", None, None),
        (b"\n \n{", "invalid_request", None, 3),
        (jsonl(line("a"), line("a")), "duplicate_custom_id", "custom_id", 2),
        (jsonl(line("a", method="GET")), "invalid_method", "method", 1),
        (jsonl(line("a", url="/v1/embeddings")), "mismatched_endpoint", "url", 1),
        (jsonl(line("a", body={"stream": True})), "invalid_request", "body.stream", 1),
        (jsonl({}), "missing_required_parameter", "custom_id", 1),
    ],
)
def test_batch_of_an_invalid_file_fails(
    data: bytes, code: str, param: str | None, number: int | None
) -> None:
    session = Session()
    name = session.upload(data)
    body = {"input_file_id": name, "endpoint": CHAT, "completion_window": "24h"}
    request = session.read(CREATE, body=body)
    assert CREATE.sub_requests is not None and CREATE.sub_requests(request) == ()
    created = json.loads(session.compute(CREATE, request))
    assert created["status"] == "validating"
    batch = session.compute_json(BATCH, created["id"])
    assert (batch["status"], batch["failed_at"]) == ("failed", NOW)
    error = batch["errors"]["data"][-1]
    assert (error["code"], error["param"], error["line"]) == (code, param, number)


def test_number_of_lines_in_a_batch_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scenarios_app.wire.openai.batches.MAX_LINES", 1)
    assert read_lines(jsonl(line("a")), CHAT)[1] == []
    assert read_lines(jsonl(line("a"), line("b")), CHAT)[1][0].code == "too_many_tasks"


def test_each_line_becomes_a_call_with_the_headers_of_the_batch() -> None:
    session = Session()
    name = session.upload(jsonl(line("a"), line("b", body={"model": 3})))
    body = {"input_file_id": name, "endpoint": CHAT, "completion_window": "24h"}
    request = session.read(CREATE, body=body)
    assert CREATE.sub_requests is not None
    first, second = CREATE.sub_requests(request)
    assert (first.method, first.path) == ("POST", CHAT)
    assert json.loads(first.body) == {"model": "gpt-4o", "messages": []}
    assert json.loads(second.body) == {"model": 3}


@pytest.mark.parametrize(
    ("keys", "status", "message"),
    [
        ({"endpoint": "/v1/images"}, 400, "Supported values"),
        ({"completion_window": "1h"}, 400, "'24h'"),
        ({"input_file_id": "file-gone"}, 404, "No such File object"),
        ({"input_file_id": None}, 400, "input_file_id"),
    ],
)
def test_invalid_batch_request_is_rejected(keys: dict[str, Any], status: int, message: str) -> None:
    body = {"input_file_id": "file_id", "endpoint": CHAT, "completion_window": "24h", **keys}
    with pytest.raises(WireError, match=message) as raised:
        Session().read(CREATE, body=body)
    assert raised.value.answer.status == status


def test_list_starts_with_the_latest_batch() -> None:
    session = Session()
    batch_ids = [session.create_batch(jsonl(line("a")), ANSWER)["id"] for _ in range(3)]
    session.compute_json(BATCH, batch_ids[0])
    assert [each["id"] for each in session.compute_json(LIST)["data"]] == batch_ids[::-1]
    with pytest.raises(WireError, match="No batch found"):
        session.compute_json(BATCH, "batch_gone")


def test_examples_of_the_api_description_exist_and_store_nothing() -> None:
    session = Session()
    assert session.compute_json(FILE, "file_id")["bytes"] == 0
    assert session.compute_json(DELETE_FILE, "file_id")["deleted"] is True
    assert session.compute_json(CANCEL, "batch_id")["status"] == "cancelling"
    assert session.compute_json(BATCH, "batch_id")["status"] == "completed"
    assert not session.records


def test_stored_batch_is_decoded_to_the_same_value() -> None:
    session = Session()
    created = session.create_batch(jsonl(line("a")), ANSWER)
    record = session.records[created["id"]]
    (batch,) = session.read(BATCH, created["id"]).own.loaded
    assert msgspec.json.decode(record)["status"] == batch.status == "validating"
    assert msgspec.json.encode(batch) == record
