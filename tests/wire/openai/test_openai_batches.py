"""OpenAI's files and batches: what is stored, and what is told at each step."""

import json
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.wire.base import Answered, Call, Endpoint, Facts
from scenarios_app.wire.body import Limits, Node, read_body
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.openai import batches
from scenarios_app.wire.openai.batches import files
from scenarios_app.wire.openai.batches.batch import read_lines
from scenarios_app.wire.openai.batches.files import read_form

CONTENT, FILE, DELETE_FILE, FILES, UPLOAD = files.ENDPOINTS
CANCEL, BATCH, LIST, CREATE = batches.ENDPOINTS
NOW = 1_763_760_000
CHAT = "/v1/chat/completions"
ANSWER = Answered(
    200,
    b'{"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5,'
    b'"prompt_tokens_details":{"cached_tokens":1}}}',
)
RESPONSE = Answered(
    200,
    b'{"usage":{"input_tokens":4,"output_tokens":6,"output_tokens_details":{"reasoning_tokens":5}}}',
)
LIMITED = Answered(429, b'{"error":{"message":"slow"}}')


def form_of(*parts: tuple[str, bytes]) -> tuple[dict[str, str], bytes]:
    """Headers and body of a form; each part is what stands in its disposition, and its content."""
    body = b"".join(
        b"--edge\r\nContent-Disposition: form-data; " + name.encode() + b"\r\n\r\n" + data + b"\r\n"
        for name, data in parts
    )
    return {"content-type": "multipart/form-data; boundary=edge"}, body + b"--edge--\r\n"


def line(custom_id: str, **keys: Any) -> dict[str, Any]:
    body = {"model": "gpt-4o", "messages": []}
    return {"custom_id": custom_id, "method": "POST", "url": CHAT, "body": body, **keys}


def jsonl(*lines: object) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in lines)


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

    def raw(self, endpoint: Endpoint, request: CanonicalRequest, *answers: Answered) -> bytes:
        self.ordinal += 1
        request_id = f"f{self.ordinal}"
        facts = Facts({}, NOW, request_id, self.ordinal, answers)
        assert endpoint.compute is not None and endpoint.archival is not None
        told = endpoint.compute(request, facts)
        for each in endpoint.archival.after(request, facts):
            if each.data is None:
                self.stored.pop(each.name)
            else:
                self.stored[each.name] = each.data
        return told

    def ask(self, endpoint: Endpoint, name: str = "", **keys: Any) -> Any:
        return json.loads(self.raw(endpoint, self.read(endpoint, name, **keys)))

    def upload(self, data: bytes, purpose: str = "batch") -> str:
        form = form_of(
            ('name="purpose"', purpose.encode()), ('name="file"; filename="in.jsonl"', data)
        )
        return str(self.ask(UPLOAD, form=form)["id"])

    def make(self, data: bytes, *answers: Answered, **keys: Any) -> Any:
        body = {"input_file_id": self.upload(data), "endpoint": CHAT, "completion_window": "24h"}
        request = self.read(CREATE, body={**body, **keys})
        return json.loads(self.raw(CREATE, request, *answers))

    def content(self, name: str) -> list[Any]:
        return [
            json.loads(each) for each in self.raw(CONTENT, self.read(CONTENT, name)).splitlines()
        ]


def test_a_file_is_told_of_and_read_again_to_the_byte() -> None:
    session = Session()
    data = b"one\r\n\x00\xff--edg\r\n"
    name = session.upload(data)
    assert session.ask(FILE, name) == {
        "id": name,
        "object": "file",
        "bytes": len(data),
        "created_at": NOW,
        "expires_at": None,
        "filename": "in.jsonl",
        "purpose": "batch",
        "status": "processed",
        "status_details": None,
    }
    assert session.raw(CONTENT, session.read(CONTENT, name)) == data
    assert session.ask(DELETE_FILE, name) == {"id": name, "object": "file", "deleted": True}
    with pytest.raises(WireError, match="No such File object"):
        session.ask(FILE, name)


@given(st.binary(max_size=300), st.text("abc\"'", max_size=5))
def test_any_bytes_come_through_a_form(data: bytes, value: str) -> None:
    headers, body = form_of(
        ('name="purpose"', value.encode()), ('name="file"; filename="x"', data.replace(b"--", b"-"))
    )
    form = read_form(Call("POST", "/", {}, headers, body))
    assert form.files["file"].data == data.replace(b"--", b"-")
    assert form.fields["purpose"] == value


def test_files_are_listed_by_purpose_the_latest_first() -> None:
    session = Session()
    first, second = session.upload(b"a"), session.upload(b"b")
    session.upload(b"c", "user_data")
    page = session.ask(FILES, query={"purpose": "batch"})
    assert [each["id"] for each in page["data"]] == [second, first]
    assert len(session.ask(FILES)["data"]) == 3
    page = session.ask(FILES, query={"limit": "1", "order": "asc"})
    assert [each["id"] for each in page["data"]] == [first] and page["has_more"] is True


@pytest.mark.parametrize(
    ("form", "said"),
    [
        (({}, b""), "multipart/form-data"),
        (({"content-type": "multipart/form-data"}, b""), "boundary"),
        (({"content-type": "multipart/form-data; boundary=edge"}, b"text"), "no form"),
        (form_of(('name="file"; filename="x"', b"")), "'purpose'"),
        (form_of(('name="purpose"', b"batch")), "'file'"),
        (form_of(('name="purpose"', b"fun"), ('name="file"; filename="x"', b"")), "'fun'"),
    ],
)
def test_what_is_no_upload_is_refused(form: tuple[dict[str, str], bytes], said: str) -> None:
    with pytest.raises(WireError, match=said) as raised:
        Session().read(UPLOAD, form=form)
    assert raised.value.answer.status == 400


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
    made = session.make(data, ANSWER, LIMITED, Answered(200, b""), Answered(200, b"{}"))
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


def test_what_is_cancelled_was_never_answered() -> None:
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
    assert CREATE.carries is not None and CREATE.carries(request) == ()
    made = json.loads(session.raw(CREATE, request))
    assert made["status"] == "validating"
    told = session.ask(BATCH, made["id"])
    assert (told["status"], told["failed_at"]) == ("failed", NOW)
    error = told["errors"]["data"][-1]
    assert (error["code"], error["param"], error["line"]) == (code, param, number)


def test_a_batch_has_so_many_lines_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scenarios_app.wire.openai.batches.batch.MOST_LINES", 1)
    assert read_lines(jsonl(line("a")), CHAT)[1] == []
    assert read_lines(jsonl(line("a"), line("b")), CHAT)[1][0].code == "too_many_tasks"


def test_each_line_becomes_a_call_with_the_headers_of_the_batch() -> None:
    session = Session()
    name = session.upload(jsonl(line("a"), line("b", body={"model": 3})))
    body = {"input_file_id": name, "endpoint": CHAT, "completion_window": "24h"}
    request = session.read(CREATE, body=body)
    assert CREATE.carries is not None
    first, second = CREATE.carries(request)
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
def test_what_makes_no_batch_is_refused(keys: dict[str, Any], status: int, said: str) -> None:
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


def test_what_is_stored_can_be_read_again() -> None:
    session = Session()
    made = session.make(jsonl(line("a")), ANSWER)
    stored = msgspec.json.decode(session.stored[made["id"]])
    assert stored["status"] == "validating"
    assert replace(session.read(BATCH, made["id"]).own.call).path == BATCH.pattern
