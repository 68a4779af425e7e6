"""Google's details of errors, and errors in both of its streams."""

import json
from typing import Any

import pytest

from scenarios_app.engine.canonical import ErrorAnswer
from tests.wire.gemini.gemini_cases import ARRAY, EVENTS

PLAIN = ErrorAnswer(400, "Nein.")


def render_error(error: ErrorAnswer) -> Any:
    return json.loads(EVENTS.error(error, request_id="f00d"))


def test_scripted_type_is_the_status() -> None:
    error = ErrorAnswer(400, "x", type="FAILED_PRECONDITION")
    assert render_error(error)["error"]["status"] == "FAILED_PRECONDITION"


def test_details_have_code_field_and_delay() -> None:
    error = ErrorAnswer(429, "Slow down.", code="RATE", param="contents", retry_after_ms=1500)
    kind = "type.googleapis.com/google.rpc."
    violation = {"field": "contents", "description": "Slow down."}
    assert render_error(error)["error"]["details"] == [
        {"@type": f"{kind}ErrorInfo", "reason": "RATE", "domain": "googleapis.com"},
        {"@type": f"{kind}BadRequest", "fieldViolations": [violation]},
        {"@type": f"{kind}RetryInfo", "retryDelay": "1.500s"},
    ]


@pytest.mark.parametrize(
    ("milliseconds", "delay"), [(0, "0s"), (1, "0.001s"), (1000, "1s"), (30_000, "30s")]
)
def test_retry_delay_is_in_seconds(milliseconds: int, delay: str) -> None:
    error = ErrorAnswer(429, "x", retry_after_ms=milliseconds)
    assert render_error(error)["error"]["details"][0]["retryDelay"] == delay


def test_an_error_in_a_stream_is_an_event() -> None:
    for events_sent in (0, 3):
        event = EVENTS.stream_error(PLAIN, events_sent=events_sent)
        assert event.startswith(b'data: {"error":') and event.endswith(b"}\r\n\r\n")
        assert json.loads(event[6:]) == render_error(PLAIN)
    event_text = EVENTS.stream_error(ErrorAnswer(500, "a\u2028b\x85"), events_sent=1).decode()
    assert len(event_text.splitlines()) == 2


def test_an_error_in_an_array_is_its_last_element() -> None:
    assert json.loads(ARRAY.stream_error(PLAIN, events_sent=0)) == [render_error(PLAIN)]
    later = b'[{"candidates":[]}\n\n' + ARRAY.stream_error(PLAIN, events_sent=1)
    assert json.loads(later) == [{"candidates": []}, render_error(PLAIN)]


@pytest.mark.parametrize("wire", [EVENTS, ARRAY])
def test_malformed_event_is_framed_and_invalid_json(wire: Any) -> None:
    with pytest.raises(json.JSONDecodeError):
        json.loads(wire.malformed_body)
    event = wire.malformed_event
    prefix, suffix = (b"data: ", b"\r\n\r\n") if wire is EVENTS else (b",", b"\n\n")
    assert event == prefix + wire.malformed_body + suffix
