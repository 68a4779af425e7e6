"""Google's error envelope, whole and in a stream, and the headers of its answers."""

import json
from typing import Any

import pytest

from scenarios_app.engine.canonical import ErrorAnswer
from tests.wire.gemini.gemini_cases import ARRAY, EVENTS

PLAIN = ErrorAnswer(400, "Nein.")


def body(error: ErrorAnswer) -> Any:
    return json.loads(EVENTS.error(error, request_id="f00d"))


def headers(error: ErrorAnswer | None) -> dict[str, str]:
    return dict(EVENTS.headers(request_id="f00d", created=0, error=error))


def test_the_envelope() -> None:
    assert body(PLAIN) == {"error": {"code": 400, "message": "Nein.", "status": "INVALID_ARGUMENT"}}


@pytest.mark.parametrize(
    ("status", "name"),
    [
        (400, "INVALID_ARGUMENT"),
        (401, "UNAUTHENTICATED"),
        (403, "PERMISSION_DENIED"),
        (404, "NOT_FOUND"),
        (405, "INVALID_ARGUMENT"),
        (408, "DEADLINE_EXCEEDED"),
        (409, "ABORTED"),
        (413, "INVALID_ARGUMENT"),
        (429, "RESOURCE_EXHAUSTED"),
        (499, "CANCELLED"),
        (500, "INTERNAL"),
        (501, "UNIMPLEMENTED"),
        (502, "INTERNAL"),
        (503, "UNAVAILABLE"),
        (504, "DEADLINE_EXCEEDED"),
        (529, "UNAVAILABLE"),
    ],
)
def test_each_status_has_its_name(status: int, name: str) -> None:
    assert body(ErrorAnswer(status, "x"))["error"]["status"] == name


def test_a_script_may_name_the_status_itself() -> None:
    error = ErrorAnswer(400, "x", type="FAILED_PRECONDITION")
    assert body(error)["error"]["status"] == "FAILED_PRECONDITION"


def test_the_details_say_why_where_and_when() -> None:
    error = ErrorAnswer(429, "Slow down.", code="RATE", param="contents", retry_after_ms=1500)
    kind = "type.googleapis.com/google.rpc."
    violation = {"field": "contents", "description": "Slow down."}
    assert body(error)["error"]["details"] == [
        {"@type": f"{kind}ErrorInfo", "reason": "RATE", "domain": "googleapis.com"},
        {"@type": f"{kind}BadRequest", "fieldViolations": [violation]},
        {"@type": f"{kind}RetryInfo", "retryDelay": "1.500s"},
    ]


@pytest.mark.parametrize(
    ("milliseconds", "delay"), [(0, "0s"), (1, "0.001s"), (1000, "1s"), (30_000, "30s")]
)
def test_a_delay_is_a_length_of_time(milliseconds: int, delay: str) -> None:
    error = ErrorAnswer(429, "x", retry_after_ms=milliseconds)
    assert body(error)["error"]["details"][0]["retryDelay"] == delay


def test_answers_have_no_headers_of_googles() -> None:
    assert headers(None) == headers(PLAIN) == headers(ErrorAnswer(503, "x")) == {}


def test_a_header_says_when_to_come_again() -> None:
    error = ErrorAnswer(429, "x", retry_after_ms=1500, limited=True)
    assert headers(error) == {"retry-after": "2"}


@pytest.mark.parametrize(("retryable", "said"), [(True, "true"), (False, "false")])
def test_a_script_may_say_whether_to_come_again(retryable: bool, said: str) -> None:
    assert headers(ErrorAnswer(500, "x", retryable=retryable)) == {"x-should-retry": said}


def test_an_error_in_a_stream_is_an_event() -> None:
    for sent in (0, 3):
        event = EVENTS.stream_error(PLAIN, sent=sent)
        assert event.startswith(b'data: {"error":') and event.endswith(b"}\r\n\r\n")
        assert json.loads(event[6:]) == body(PLAIN)


def test_an_error_in_an_array_is_its_last_element() -> None:
    assert json.loads(ARRAY.stream_error(PLAIN, sent=0)) == [body(PLAIN)]
    later = b'[{"candidates":[]}\n\n' + ARRAY.stream_error(PLAIN, sent=1)
    assert json.loads(later) == [{"candidates": []}, body(PLAIN)]


@pytest.mark.parametrize("wire", [EVENTS, ARRAY])
def test_what_is_malformed_is_framed_and_no_json(wire: Any) -> None:
    with pytest.raises(json.JSONDecodeError):
        json.loads(wire.malformed_body)
    event = wire.malformed_event
    lead, end = (b"data: ", b"\r\n\r\n") if wire is EVENTS else (b",", b"\n\n")
    assert event == lead + wire.malformed_body + end
