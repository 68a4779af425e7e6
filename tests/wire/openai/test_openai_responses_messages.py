"""Messages over the WebSocket of the Responses API are read as parts of an HTTP response."""

import json

import pytest

from scenarios_app.wire.openai.responses.messages import encode_create_message, read_server_message
from scenarios_app.wire.openai.responses.socket import ResponsesSocket


def test_event_without_a_lane_is_kept_to_the_byte() -> None:
    data = b'{ "type": "response.output_text.delta", "delta": "a" }'
    message = read_server_message(data)
    assert message.event == b"event: response.output_text.delta\ndata: " + data + b"\n\n"
    assert (message.stream_id, message.ends, message.status) == (None, False, None)


@pytest.mark.parametrize("line_break", [b"\n", b"\r", b"\r\n"])
def test_message_with_line_breaks_is_one_line_of_an_event(line_break: bytes) -> None:
    message = read_server_message(b'{"type":' + line_break + b'"error"}')
    assert message.event == b'event: error\ndata: {"type":"error"}\n\n'


def test_lane_is_taken_out_of_an_event() -> None:
    message = read_server_message(b'{"type":"response.completed","stream_id":"a"}')
    assert message.event == b'event: response.completed\ndata: {"type":"response.completed"}\n\n'
    assert (message.stream_id, message.ends) == ("a", True)


@pytest.mark.parametrize(
    ("status", "headers", "expected"),
    [(429, {"Retry-After": 1}, (("retry-after", "1"),)), (500, None, ())],
)
def test_error_with_a_status_is_a_response(
    status: int, headers: object, expected: tuple[tuple[str, str], ...]
) -> None:
    event = {"type": "error", "status": status, "error": {"code": "x"}, "headers": headers}
    message = read_server_message(json.dumps(event).encode())
    assert (message.status, message.headers, message.ends) == (status, expected, True)
    assert message.body == b'{"error":{"code":"x"}}'


@pytest.mark.parametrize("status", [None, 200, "400"])
def test_error_without_an_error_status_is_an_event(status: object) -> None:
    message = read_server_message(json.dumps({"type": "error", "status": status}).encode())
    assert (message.status, message.body, message.ends) == (None, b"", True)


def test_first_message_decides_the_head_of_the_response() -> None:
    event = read_server_message(b'{"type":"response.created"}')
    assert event.head == (200, (("content-type", "text/event-stream"),))
    assert event.body_after(0) == event.body_after(1) == event.event
    error = read_server_message(b'{"type":"error","status":429,"headers":{"x-a":"1"}}')
    assert error.head == (429, (("content-type", "application/json"), ("x-a", "1")))
    assert (error.body_after(0), error.body_after(1)) == (error.body, error.event)


def test_message_without_a_type_is_an_event_without_a_name() -> None:
    assert read_server_message(b'{"x":7}').event.startswith(b"event: \ndata: ")


@pytest.mark.parametrize("data", [b"[1]", b"{", b"\xff"])
def test_data_that_is_no_object_raises_a_value_error(data: bytes) -> None:
    with pytest.raises(ValueError):
        read_server_message(data)


@pytest.mark.parametrize("lane", [None, "a"])
def test_request_is_sent_as_an_event_without_its_stream_flag(lane: str | None) -> None:
    event = json.loads(encode_create_message(b'{"model":"m","stream":true}', lane))
    assert event.pop("stream_id", None) == lane
    assert event == {"type": "response.create", "model": "m"}


def test_rules_of_the_api_write_and_read_these_messages() -> None:
    rules = ResponsesSocket({})
    assert rules.encode_request(b"{}", None) == b'{"type":"response.create"}'
    assert rules.read_answer(b'{"type":"response.completed"}').ends
