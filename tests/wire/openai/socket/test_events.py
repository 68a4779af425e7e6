"""Events of answers and errors as messages of a connection."""

import json

from scenarios_app.wire.openai.responses.socket import ResponsesSocket
from scenarios_app.wire.sockets import Turn

RULES = ResponsesSocket({})


def test_events_of_a_stream_become_messages_and_get_their_lane() -> None:
    piece = (
        b'event: a\ndata: {"type":"a"}\n\nevent: b\r\ndata: {"type":"b"}\r\n\r\ndata: [DONE]\n\n'
    )
    assert RULES.encode(Turn(b""), piece) == [b'{"type":"a"}', b'{"type":"b"}']
    lane = RULES.encode(Turn(b"", "x"), piece)
    assert lane == [b'{"type":"a","stream_id":"x"}', b'{"type":"b","stream_id":"x"}']


def test_event_in_two_pieces_is_one_message() -> None:
    turn = Turn(b"")
    assert RULES.encode(turn, b'data: {"type"') == []
    assert RULES.encode(turn, b':"a"}\n') == []
    assert RULES.encode(turn, b"\n") == [b'{"type":"a"}']


def test_half_event_has_no_lane() -> None:
    assert RULES.encode(Turn(b"", "x"), b'data: {"type":"a\n\n') == [b'{"type":"a']


def test_only_an_object_with_fields_gets_a_stream_id() -> None:
    events = RULES.encode(Turn(b"", "x"), b'data: {}\n\ndata: [1]\n\ndata: {"a":1}\n\n')
    assert events == [b"{}", b"[1]", b'{"a":1,"stream_id":"x"}']


def test_error_of_http_is_an_event_with_its_headers() -> None:
    headers = (("content-length", "2"), ("retry-after", "1"))
    data = RULES.encode_error(Turn(b"", "x"), 429, headers, b'{"error":{"code":"c"}}')
    assert json.loads(data) == {
        "type": "error",
        "status": 429,
        "error": {"code": "c", "headers": {"retry-after": "1"}},
        "headers": {"retry-after": "1"},
        "stream_id": "x",
    }


def test_body_without_an_error_becomes_the_error_message() -> None:
    for body in (b"<html>", b"[]", b'{"error":"text"}', b"[" * 100_000, b'"\xff"'):
        event = json.loads(RULES.encode_error(Turn(b""), 502, (), body))
        assert event["error"]["message"] == body.decode(errors="replace")
        assert event["error"]["type"] == "server_error"
