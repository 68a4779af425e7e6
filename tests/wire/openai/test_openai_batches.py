"""OpenAI's batches: what is told at each step, and the files that come of them."""

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
    made = session.make(file, RAW, EMPTY, WORDS, RESPONSE)
    told = session.ask(BATCH, made["id"])
    assert told["request_counts"] == {"total": 4, "completed": 4, "failed": 0}
    assert (told["usage"]["input_tokens"], told["usage"]["output_tokens"]) == (4, 6)


@pytest.mark.parametrize("answer", [NESTED, NO_UTF8, SubResponse(200, b"")])
def test_answer_that_cannot_be_parsed_is_a_failed_line(answer: SubResponse) -> None:
    session = Session()
    told = session.ask(BATCH, session.make(jsonl(line("a")), answer)["id"])
    assert told["request_counts"] == {"total": 1, "completed": 0, "failed": 1}
    (failed,) = session.content(told["error_file_id"])
    assert (failed["response"], failed["error"]["code"]) == (None, "server_error")


def test_a_new_batch_is_validating_and_completed_when_it_is_asked_for() -> None:
    session = Session()
    made = session.make(jsonl(line("a"), line("b")), ANSWER, RESPONSE, metadata={"team": "qa"})
    assert (made["status"], made["output_file_id"], made["usage"]) == ("validating", None, None)
    told = session.ask(BATCH, made["id"])
    assert told == {
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
    assert session.ask(BATCH, made["id"]) == told


def test_answers_are_lines_of_two_files() -> None:
    session = Session()
    data = jsonl(*map(line, "abcd"))
    made = session.make(data, ANSWER, LIMITED, SubResponse(200, b""), SubResponse(200, b"{}"))
    told = session.ask(BATCH, made["id"])
    assert told["request_counts"] == {"total": 4, "completed": 2, "failed": 2}
    assert session.content(told["output_file_id"]) == [
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
    limited, silent = session.content(told["error_file_id"])
    assert (limited["custom_id"], limited["response"]["status_code"]) == ("b", 429)
    assert (silent["response"], silent["error"]["code"]) == (None, "server_error")


def test_files_of_a_batch_are_made_once() -> None:
    session = Session()
    made = session.make(jsonl(line("a")), ANSWER)
    output = session.ask(BATCH, made["id"])["output_file_id"]
    session.ask(DELETE_FILE, output)
    session.ask(BATCH, made["id"])
    assert output not in session.stored


def test_cancelled_batch_reports_no_results() -> None:
    session = Session()
    made = session.make(jsonl(line("a")), ANSWER)
    told = session.ask(CANCEL, made["id"])
    assert (told["status"], told["cancelling_at"]) == ("cancelling", NOW)
    assert session.ask(CANCEL, made["id"]) == told
    ended = session.ask(BATCH, made["id"])
    assert (ended["status"], ended["cancelled_at"]) == ("cancelled", NOW)
    assert (ended["output_file_id"], ended["usage"]) == (None, None)
    with pytest.raises(WireError, match="status 'cancelled'") as raised:
        session.ask(CANCEL, made["id"])
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
def test_a_file_with_something_wrong_makes_a_batch_that_fails(
    data: bytes, code: str, param: str | None, number: int | None
) -> None:
    session = Session()
    name = session.upload(data)
    body = {"input_file_id": name, "endpoint": CHAT, "completion_window": "24h"}
    request = session.read(CREATE, body=body)
    assert CREATE.sub_requests is not None and CREATE.sub_requests(request) == ()
    made = json.loads(session.raw(CREATE, request))
    assert made["status"] == "validating"
    told = session.ask(BATCH, made["id"])
    assert (told["status"], told["failed_at"]) == ("failed", NOW)
    error = told["errors"]["data"][-1]
    assert (error["code"], error["param"], error["line"]) == (code, param, number)


def test_a_batch_has_so_many_lines_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
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
    ("keys", "status", "said"),
    [
        ({"endpoint": "/v1/images"}, 400, "Supported values"),
        ({"completion_window": "1h"}, 400, "'24h'"),
        ({"input_file_id": "file-gone"}, 404, "No such File object"),
        ({"input_file_id": None}, 400, "input_file_id"),
    ],
)
def test_invalid_batch_request_is_rejected(keys: dict[str, Any], status: int, said: str) -> None:
    body = {"input_file_id": "file_id", "endpoint": CHAT, "completion_window": "24h", **keys}
    with pytest.raises(WireError, match=said) as raised:
        Session().read(CREATE, body=body)
    assert raised.value.answer.status == status


def test_batches_are_listed_the_latest_first() -> None:
    session = Session()
    made = [session.make(jsonl(line("a")), ANSWER)["id"] for _ in range(3)]
    session.ask(BATCH, made[0])
    assert [each["id"] for each in session.ask(LIST)["data"]] == made[::-1]
    with pytest.raises(WireError, match="No batch found"):
        session.ask(BATCH, "batch_gone")


def test_the_examples_of_the_api_description_are_there_and_stay_as_they_are() -> None:
    session = Session()
    assert session.ask(FILE, "file_id")["bytes"] == 0
    assert session.ask(DELETE_FILE, "file_id")["deleted"] is True
    assert session.ask(CANCEL, "batch_id")["status"] == "cancelling"
    assert session.ask(BATCH, "batch_id")["status"] == "completed"
    assert not session.stored


def test_stored_batch_is_decoded_to_the_same_value() -> None:
    session = Session()
    made = session.make(jsonl(line("a")), ANSWER)
    stored = session.stored[made["id"]]
    (batch,) = session.read(BATCH, made["id"]).own.loaded
    assert msgspec.json.decode(stored)["status"] == batch.status == "validating"
    assert msgspec.json.encode(batch) == stored
