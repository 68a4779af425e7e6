"""Lanes of a connection: order, limits, and rejected requests."""

import json
from typing import Any

import pytest

from scenarios_app.wire.openai.responses import socket
from tests.wire.openai.socket.rules import Rules


def test_body_is_that_of_the_same_request_over_http() -> None:
    rules = Rules()
    rules.create(
        model="m", input="Hi", stream_id="a", background=False, stream=False, generate=True
    )
    (turn,) = rules.started
    assert json.loads(turn.body) == {"model": "m", "input": "Hi", "stream": True}
    assert turn.stream_id == "a"


def test_body_of_a_warm_up_keeps_generate_false() -> None:
    rules = Rules()
    rules.create(model="m", generate=False)
    assert json.loads(rules.started[0].body)["generate"] is False


def test_model_of_the_url_is_a_default() -> None:
    rules = Rules({"model": "url"})
    rules.create(input="Hi")
    rules.create(input="Hi", model="own", stream_id="a")
    assert [json.loads(turn.body)["model"] for turn in rules.started] == ["url", "own"]


def test_requests_of_one_lane_start_in_sequence() -> None:
    rules = Rules()
    rules.create(model="first")
    rules.create(model="second")
    rules.create(model="other", stream_id="a")
    assert [json.loads(turn.body)["model"] for turn in rules.started] == ["first", "other"]
    rules.complete()
    assert [json.loads(turn.body)["model"] for turn in rules.started] == ["other", "second"]


def test_sixteen_requests_are_active_and_others_wait() -> None:
    rules = Rules()
    for number in range(20):
        rules.create(stream_id=f"lane-{number}")
    assert len(rules.started) == socket.MAX_ACTIVE
    rules.complete()
    assert rules.started[-1].stream_id == "lane-16"
    assert len(rules.started) == socket.MAX_ACTIVE


def test_connection_has_32_names_and_the_default_lane() -> None:
    rules = Rules()
    for number in range(32):
        rules.create(stream_id=str(number))
    rules.create()
    rules.create(stream_id="0")
    assert rules.refusals == []
    rules.create(stream_id="32")
    assert rules.code == "websocket_stream_limit_reached"
    assert rules.refusals[-1].turn.stream_id == "32"


@pytest.mark.parametrize("stream_id", ["", "a b", "ä", "x" * 257, "x" * 10_000, 1, [], True])
def test_invalid_stream_id_is_rejected_without_a_lane(stream_id: Any) -> None:
    rules = Rules()
    rules.create(stream_id=stream_id)
    assert (rules.code, rules.refusals[-1].error.param) == ("invalid_stream_id", "stream_id")
    assert rules.refusals[-1].turn.stream_id is None
    assert rules.started == []


def test_background_response_is_rejected_on_its_lane() -> None:
    rules = Rules()
    rules.create(background=True, stream_id="a")
    assert rules.refusals[-1].error.param == "background"
    assert rules.refusals[-1].turn.stream_id == "a"


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b"null", b'"text"', b"[" * 100_000, b"\xff", b'{"type": "\xff"}'],
)
def test_message_that_is_no_json_object_is_rejected(data: bytes) -> None:
    rules = Rules()
    rules.receive(data)
    assert rules.code == "invalid_json"


@pytest.mark.parametrize("event", [{}, {"type": None}, {"type": 1}, {"type": "response.cancel"}])
def test_unknown_event_is_rejected(event: Any) -> None:
    rules = Rules()
    rules.receive(event)
    assert rules.refusals[-1].error.param == "type"


def test_report_of_a_handled_response_is_ignored() -> None:
    rules = Rules()
    rules.receive({"type": "response.processed", "response_id": "resp_1"})
    assert (rules.refusals, rules.started, rules.sent) == ([], [], [])


def test_bytes_of_waiting_requests_are_limited() -> None:
    rules = Rules()
    half_of_the_limit = "x" * (socket.MAX_WAITING_BYTES // 2)
    rules.create(input=half_of_the_limit)
    rules.create(input="short")
    rules.create(input=half_of_the_limit)
    assert (rules.code, rules.refusals[-1].error.status) == ("too_many_waiting_requests", 429)
    rules.complete()
    rules.create(input=half_of_the_limit)
    assert len(rules.refusals) == 1


def test_expired_connection_rejects_requests_and_closes_when_idle() -> None:
    rules = Rules()
    rules.create(model="m")
    rules.expire(socket.MAX_SECONDS - 1)
    assert rules.sent == []
    rules.expire(socket.MAX_SECONDS)
    rules.expire(socket.MAX_SECONDS + 1)
    (event,) = rules.sent
    assert (event["status"], event["error"]["code"]) == (400, "websocket_connection_limit_reached")
    rules.create(model="m")
    assert rules.code == "websocket_connection_limit_reached"
    assert rules.closed is None
    rules.complete()
    assert rules.closed is not None


def test_expired_idle_connection_closes() -> None:
    rules = Rules()
    rules.expire(socket.MAX_SECONDS)
    assert rules.closed is not None and rules.closed.code == 1000
