"""Cassettes of WebSockets become the interactions of the same requests over HTTP."""

import json
from typing import Any

import pytest

from scenarios_app.recording.importers import decode_recording
from scenarios_app.recording.importers.vcr import recognizes as recognizes_vcr
from tests.recording.files import read_error, read_interactions, read_recording

SENT = {"type": "response.create", "model": "gpt-5", "input": "Hello", "store": False}
DONE = {"type": "response.completed", "response": {"id": "resp_1", "output": []}}
DELTA = {"type": "response.output_text.delta", "delta": "Hé"}
FAILURE = {
    "type": "error",
    "status": 400,
    "error": {"code": "previous_response_not_found", "message": "No."},
    "headers": {"Retry-After": 2},
}


def cassette(*messages: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    entries = [{"direction": direction, "data": data} for direction, data in messages]
    return {"version": 1, "synthetic": True, "interactions": entries}


def test_messages_become_a_request_with_its_event_stream() -> None:
    (interaction,) = read_interactions(
        cassette(("sent", SENT), ("received", DELTA), ("received", DONE))
    )
    assert (interaction.request.method, interaction.request.url_parts.path) == (
        "POST",
        "/v1/responses",
    )
    assert json.loads(interaction.request.body) == {
        "model": "gpt-5",
        "input": "Hello",
        "store": False,
        "stream": True,
    }
    assert (interaction.response.status, interaction.response.cut) == (200, False)
    assert interaction.response.headers == (("content-type", "text/event-stream"),)
    events = interaction.response.body.decode().split("\n\n")
    assert events[0].startswith("event: response.output_text.delta\ndata: ")
    assert json.loads(events[0].partition("data: ")[2]) == DELTA
    assert json.loads(events[1].partition("data: ")[2]) == DONE


def test_requests_of_two_lanes_get_the_messages_of_their_lane() -> None:
    def on_lane(lane: str, message: dict[str, Any]) -> dict[str, Any]:
        return {**message, "stream_id": lane}

    first, second = read_interactions(
        cassette(
            ("sent", on_lane("a", SENT)),
            ("sent", on_lane("b", {**SENT, "input": "Other"})),
            ("received", on_lane("b", DONE)),
            ("received", on_lane("a", DELTA)),
            ("received", on_lane("a", DONE)),
        )
    )
    assert first.response.body.count(b"data: ") == 2
    assert second.response.body.count(b"data: ") == 1
    assert b"stream_id" not in first.response.body + first.request.body


def test_requests_of_one_lane_are_answered_in_their_order() -> None:
    first, second = read_interactions(
        cassette(("sent", SENT), ("sent", SENT), ("received", DONE), ("received", FAILURE))
    )
    assert (first.response.status, second.response.status) == (200, 400)


def test_error_before_any_event_becomes_the_response_of_that_status() -> None:
    (interaction,) = read_interactions(cassette(("sent", SENT), ("received", FAILURE)))
    assert interaction.response.status == 400
    assert json.loads(interaction.response.body) == {"error": FAILURE["error"]}
    assert dict(interaction.response.headers) == {
        "content-type": "application/json",
        "retry-after": "2",
    }


def test_error_after_events_stays_an_event() -> None:
    (interaction,) = read_interactions(
        cassette(("sent", SENT), ("received", DELTA), ("received", FAILURE))
    )
    assert (interaction.response.status, interaction.response.cut) == (200, False)
    assert b"event: error" in interaction.response.body


@pytest.mark.parametrize("end", [(), (("closed", {"code": 1011}),)])
def test_answer_without_its_last_event_is_cut(end: tuple[tuple[str, dict[str, Any]], ...]) -> None:
    (interaction,) = read_interactions(cassette(("sent", SENT), ("received", DELTA), *end))
    assert interaction.response.cut


def test_messages_that_are_no_responses_are_left_out_with_a_note() -> None:
    value = cassette(
        ("received", {"type": "session.created"}),
        ("sent", {"type": "response.steer"}),
        ("sent", SENT),
        ("received", DONE),
    )
    conversion = read_recording(value)
    assert conversion.steps == 1
    assert conversion.notes == (
        "left out: a received 'session.created' that answers no 'response.create'",
        "left out: a sent 'response.steer'",
    )


def test_sent_half_of_a_surrogate_pair_is_imported() -> None:
    messages = ("sent", {**SENT, "input": "\ud800"}), ("received", DONE)
    assert read_recording(cassette(*messages)).steps == 1


def test_binary_value_of_a_yaml_file_is_imported_as_text() -> None:
    lines = (
        "interactions:",
        "- {direction: sent, data: {type: response.create, input: !!binary aGk=}}",
        "- {direction: received, data: {type: response.completed, x: !!binary aGk=}}",
    )
    assert read_recording("\n".join(lines).encode(), "cassette.yaml").steps == 1


def test_received_half_of_a_surrogate_pair_is_an_error_with_its_place() -> None:
    message = read_error(cassette(("sent", SENT), ("received", {**DONE, "delta": "\ud800"})))
    assert "interactions[1].data" in message


def test_unknown_direction_is_an_error_with_its_place() -> None:
    assert "interactions[0].direction" in read_error(cassette(("sideways", SENT)))


def test_yaml_file_is_recognized_and_other_cassettes_are_not_taken_for_it() -> None:
    yaml = b"version: 1\ninteractions:\n- direction: sent\n  data: {type: response.create}\n"
    recording = decode_recording(yaml, source="a.yaml")
    assert recording is not None and recording.format.title == "WebSocket"
    other = decode_recording(b"interactions: []\n", source="a.yaml")
    assert other is not None and recognizes_vcr({"interactions": []})
    assert other.format.title == "vcrpy"
