"""Stored responses of the Responses API: retrieve, stream again, cancel, delete and list input."""

from typing import Any

import pytest
from openai._models import validate_type
from openai.pagination import SyncCursorPage
from openai.types.responses import (
    CompactedResponse,
    InputTokenCountResponse,
    Response,
    ResponseItem,
)

from scenarios_app.engine.canonical import ErrorAnswer
from scenarios_app.engine.parts import TextPart
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.openai.responses.memory import EXAMPLE_IDS, record_replayed
from scenarios_app.wire.registry import find_target
from tests.wire.openai.openai_cases import make_call
from tests.wire.openai.responses_cases import CALL_1, PATH, RESULT_1, Session, parse_events, stream
from tests.wire.openai.test_openai_responses_history import numbered_response

RESPONSE_PATH = f"{PATH}/resp_{1:032x}"
ANSWER = numbered_response(1, TextPart("Hello"))


def catch_error(session: Session, method: str, path: str, **query: str) -> ErrorAnswer:
    with pytest.raises(WireError) as raised:
        session.compute(method, path, **query)
    return raised.value.answer


@pytest.fixture
def session() -> Session:
    return Session()


def test_response_is_retrieved_unchanged(session: Session) -> None:
    body = session.respond(ANSWER, input="q", metadata={"a": "b"})
    retrieved = session.compute_json("GET", RESPONSE_PATH)
    validate_type(type_=Response, value=retrieved)
    assert retrieved == body


def test_stream_is_retrieved_byte_by_byte(session: Session) -> None:
    session.respond(ANSWER, input="q", stream=True)
    stream_bytes = stream(session.read({"input": "q", "stream": True}), ANSWER)
    assert session.compute("GET", RESPONSE_PATH, stream="true") == stream_bytes
    assert session.compute_json("GET", RESPONSE_PATH, stream="false")["id"] == f"resp_{1:032x}"


@pytest.mark.parametrize("after", [0, 3, 8, 999])
def test_stream_continues_after_an_event(session: Session, after: int) -> None:
    session.respond(ANSWER, input="q", stream=True)
    events = parse_events(session.compute("GET", RESPONSE_PATH, stream="true"))
    remaining_events = session.compute(
        "GET", RESPONSE_PATH, stream="true", starting_after=str(after)
    )
    assert remaining_events.count(b"\n\n") == max(len(events) - after - 1, 0)
    if remaining_events:
        assert f'"sequence_number":{after + 1},'.encode() in remaining_events.split(b"\n\n")[0]


def test_recorded_stream_with_other_line_ends_is_streamed_again(session: Session) -> None:
    events = [b'data: {"n": 0}', b'data: {"n": 1, "response": {"id": "resp_r"}}']
    data = b"".join(event + b"\r\n\r\n" for event in events)
    for write in record_replayed(session.read({"input": "q", "stream": True}), data):
        session.records[write.name] = write.data or b""
    remaining_events = session.compute("GET", f"{PATH}/resp_r", stream="true", starting_after="0")
    assert remaining_events == events[1] + b"\n\n"


def test_response_that_was_not_streamed_cannot_be_streamed(session: Session) -> None:
    session.respond(ANSWER, input="q")
    error = catch_error(session, "GET", RESPONSE_PATH, stream="true")
    assert (error.status, error.param) == (400, "stream")
    assert "stream: true" in error.message


@pytest.mark.parametrize("path", [RESPONSE_PATH, f"{RESPONSE_PATH}/input_items"])
@pytest.mark.parametrize("method", ["GET"])
def test_missing_response_is_a_404(session: Session, method: str, path: str) -> None:
    error = catch_error(session, method, path)
    assert (error.status, error.code) == (404, "response_not_found")
    assert error.message == f"Response with id 'resp_{1:032x}' not found."


@pytest.mark.parametrize(
    ("method", "path"), [("DELETE", RESPONSE_PATH), ("POST", f"{RESPONSE_PATH}/cancel")]
)
def test_missing_response_cannot_be_cancelled_or_deleted(
    session: Session, method: str, path: str
) -> None:
    assert catch_error(session, method, path).status == 404


def test_deleted_response_is_not_found(session: Session) -> None:
    session.respond(ANSWER, input="q")
    deleted = session.compute_json("DELETE", RESPONSE_PATH)
    assert deleted == {"id": f"resp_{1:032x}", "object": "response", "deleted": True}
    assert catch_error(session, "GET", RESPONSE_PATH).status == 404


def test_only_background_responses_can_be_cancelled(session: Session) -> None:
    body = session.respond(ANSWER, input="q", background=True)
    assert session.compute_json("POST", f"{RESPONSE_PATH}/cancel") == body
    session.respond(ANSWER, input="q")
    error = catch_error(session, "POST", f"{RESPONSE_PATH}/cancel")
    assert (error.status, error.message) == (400, "Cannot cancel a synchronous response.")


def test_input_items_are_listed_with_ids_from_the_last(session: Session) -> None:
    items: list[Any] = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": "a"},
        {"role": "user", "content": [{"type": "input_text", "text": "r"}]},
        CALL_1,
        {**RESULT_1, "id": "mine", "status": None},
    ]
    session.respond(ANSWER, input=items)
    page = session.compute_json("GET", f"{RESPONSE_PATH}/input_items")
    validate_type(type_=SyncCursorPage[ResponseItem], value=page)
    id_prefix = f"{1:032x}in"
    assert [item["id"] for item in page["data"]] == [
        "mine",
        f"fc_{id_prefix}3",
        f"msg_{id_prefix}2",
        f"msg_{id_prefix}1",
        f"msg_{id_prefix}0",
    ]
    assert page["data"][0] == {**RESULT_1, "id": "mine", "status": "completed"}
    assert page["data"][3]["content"] == [{"type": "output_text", "text": "a", "annotations": []}]
    assert page["data"][4]["content"] == [{"type": "input_text", "text": "q"}]
    assert (page["first_id"], page["last_id"]) == ("mine", f"msg_{id_prefix}0")
    assert page["has_more"] is False


@pytest.mark.parametrize(
    ("query", "texts", "has_more"),
    [
        ({"order": "asc"}, ["q0", "q1", "q2"], False),
        ({"order": "desc", "limit": "2"}, ["q2", "q1"], True),
        ({"order": "asc", "limit": "1", "after": "i0"}, ["q1"], True),
        ({"after": "i0"}, [], False),
        ({"after": "nobody", "limit": "3"}, ["q2", "q1", "q0"], False),
        ({"limit": "0"}, [], True),
    ],
)
def test_input_items_are_listed_in_pages(
    session: Session, query: dict[str, str], texts: list[str], has_more: bool
) -> None:
    items = [{"role": "user", "content": f"q{i}", "id": f"i{i}"} for i in range(3)]
    session.respond(ANSWER, input=items)
    page = session.compute_json("GET", f"{RESPONSE_PATH}/input_items", **query)
    assert [item["content"][0]["text"] for item in page["data"]] == texts
    assert page["has_more"] is has_more


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ({"limit": "101"}, "limit"),
        ({"limit": "-1"}, "limit"),
        ({"limit": "x"}, "limit"),
        ({"limit": "٣"}, "limit"),
        ({"limit": "9" * 5000}, "limit"),
        ({"order": "up"}, "order"),
        ({"starting_after": "x"}, "starting_after"),
    ],
)
def test_invalid_page_is_rejected_with_its_field(
    session: Session, query: dict[str, str], param: str
) -> None:
    session.respond(ANSWER, input="q")
    error = catch_error(session, "GET", f"{RESPONSE_PATH}/input_items", **query)
    assert (error.status, error.param) == (400, param)


@pytest.mark.parametrize("name", EXAMPLE_IDS)
def test_example_responses_are_retrieved_cancelled_and_listed(session: Session, name: str) -> None:
    path = f"{PATH}/{name}"
    body = session.compute_json("GET", path)
    validate_type(type_=Response, value=body)
    assert body["id"] == name
    assert session.compute_json("POST", f"{path}/cancel") == body
    page = session.compute_json("GET", f"{path}/input_items")
    validate_type(type_=SyncCursorPage[ResponseItem], value=page)
    events = parse_events(session.compute("GET", path, stream="true"))
    assert events[-1]["response"] == body


def test_input_tokens_include_the_previous_response(session: Session) -> None:
    path = f"{PATH}/input_tokens"
    first = session.respond(ANSWER, input="12345678")
    count = session.compute_json("POST", path, {"input": "12345678"})
    validate_type(type_=InputTokenCountResponse, value=count)
    assert count == {"object": "response.input_tokens", "input_tokens": 2}
    body = {"input": "1234567", "previous_response_id": first["id"]}
    assert session.compute_json("POST", path, body)["input_tokens"] == 5


def test_compaction_has_the_type_of_the_sdk(session: Session) -> None:
    compacted = session.compute_json("POST", f"{PATH}/compact", {"model": None, "input": "q"})
    validate_type(type_=CompactedResponse, value=compacted)
    assert (compacted["id"], compacted["created_at"]) == (
        f"resp_{0xABC:032x}",
        1735689600,
    )
    assert compacted["usage"]["total_tokens"] == 2


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", PATH, "POST"),
        ("PUT", RESPONSE_PATH, "DELETE, GET"),
        ("GET", f"{RESPONSE_PATH}/cancel/x", None),
        ("POST", f"{RESPONSE_PATH}/input_items", "GET"),
    ],
)
def test_wrong_method_is_405_with_the_allowed_ones(
    method: str, path: str, allowed: str | None
) -> None:
    target = find_target(make_call(method, path))
    assert target is not None
    if allowed is None:
        # The last part of a path can be any text: this is an unknown id.
        assert target.params["response_id"].endswith("/cancel/x")
    else:
        assert target.error is not None
        assert (target.error.answer.status, dict(target.error.answer.headers)["allow"]) == (
            405,
            allowed,
        )
