"""`/control/recording`: start, inspect and stop a recording, and its resulting scenario."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from scenarios_app.engine.state import key_session
from scenarios_app.recording import Interaction, RecordedRequest, RecordedResponse
from scenarios_app.serving.recorder.recordings import MissedRequest, Recording, recording_of
from scenarios_app.serving.services import services
from tests.control.control_client import KEY, Control, error_of

pytestmark = pytest.mark.django_db
FIRST_REQUEST = RecordedRequest(
    "POST", "/v1/chat/completions", body=b'{"model":"m","messages":[{"role":"user","content":"a"}]}'
)
RESPONSE = RecordedResponse(200, (("content-type", "application/json"),), ((1.0, b'{"a": 1}'),))
SECOND_REQUEST = RecordedRequest(
    "POST", "/v1/chat/completions", body=b'{"model":"m","messages":[{"role":"user","content":"b"}]}'
)


@pytest.fixture(autouse=True)
def upstreams() -> Iterator[None]:
    """Configure an upstream; no test sends it a request."""
    pipeline = services().pipeline
    upstream_urls = {"openai": "http://127.0.0.1:1"}
    before = dict(pipeline.options.upstreams)
    pipeline.options.upstreams.update(upstream_urls)
    yield
    pipeline.options.upstreams.clear()
    pipeline.options.upstreams.update(before)
    pipeline.recordings.clear()
    services().drifts.clear()


def current_recording(session: str | None = None) -> Recording:
    return services().pipeline.recordings[session]


def record_interaction(recording: Recording) -> None:
    recording.end(recording.begin(), Interaction(FIRST_REQUEST, RESPONSE))


def record_cassette(control: Control) -> Any:
    control.put("recording", {"mode": "all", "name": "c"})
    record_interaction(current_recording())
    return control.delete("recording").json()["document"]


def test_a_recording_becomes_a_scenario(control: Control) -> None:
    response = control.put("recording", {"mode": "all", "name": "c", "keys": {"openai": "sk-1"}})
    assert response.status_code == 201
    assert response.json()["upstreams"] == {"openai": "http://127.0.0.1:1"}
    assert "sk-1" not in response.content.decode()
    record_interaction(current_recording())
    assert control.get("recording").json()["interactions"] == 1
    result = control.delete("recording").json()
    document = result["document"]
    assert document["name"] == "c" and len(document["steps"]) == 1
    assert control.put("scenarios/c", document).status_code == 201
    assert control.get("recording").status_code == 404


def test_recording_is_refused_with_several_processes(
    control: Control, monkeypatch: pytest.MonkeyPatch
) -> None:
    # With a REDIS_URL another process may get the next request.
    monkeypatch.setattr(services().cluster, "_bus", object())
    for mode in ("none", "new", "all"):
        response = control.put("recording", {"mode": mode, "name": "c"})
        assert response.status_code == 409
        assert "in the memory of one process" in response.json()["message"]
    assert services().pipeline.recordings == {}


def test_empty_recording_is_an_empty_scenario(control: Control) -> None:
    control.put("recording", {"mode": "all", "name": "c"})
    document = control.delete("recording").json()["document"]
    assert (document["name"], document["steps"]) == ("c", [])


def test_exchange_that_no_document_can_hold_is_left_out_and_noted(control: Control) -> None:
    control.put("recording", {"mode": "all", "name": "c"})
    record_interaction(current_recording())
    unstorable_request = replace(FIRST_REQUEST, url=f"{FIRST_REQUEST.url}?a=\ud800")
    current_recording().end(current_recording().begin(), Interaction(unstorable_request, RESPONSE))
    record_interaction(current_recording())
    response = control.delete("recording")
    assert response.status_code == 200
    body = response.json()
    assert len(body["document"]["steps"]) == 2
    assert [note for note in body["notes"] if "answer 2: match" in note and "surrogate" in note]


def test_new_steps_follow_steps_of_the_cassette(control: Control) -> None:
    cassette = record_cassette(control)
    control.put("recording", {"mode": "new", "name": "c", "cassettes": [cassette]})
    record_interaction(current_recording())
    document = control.delete("recording").json()["document"]
    before, after = document["steps"]
    assert before["match"] == cassette["steps"][0]["match"] and after == cassette["steps"][0]


def test_replay_reports_drift(control: Control) -> None:
    cassette = record_cassette(control)
    control.put("recording", {"session": KEY, "mode": "none", "cassettes": [cassette]})
    recording = current_recording(key_session(KEY))
    recording.add_miss(MissedRequest("openai", SECOND_REQUEST))
    result = control.delete("recording", session=KEY).json()
    assert (result["document"], result["drifted"]) == (None, True)
    (drift,) = result["drift"]
    assert (drift["kind"], drift["step"]) == ("changed", "1")
    (replay_status,) = control.get("drift").json()["recordings"]
    assert (replay_status["session"], replay_status["cassettes"]) == (key_session(KEY), ["c"])


def test_a_session_gets_its_own_copy_of_a_cassette(control: Control) -> None:
    cassette = record_cassette(control)
    control.put("recording", {"mode": "none", "cassettes": [cassette]})
    for session in ("one", "two"):
        async_to_sync(current_recording().give_cassettes)(session)
        assert control.get("scenarios/c", session=session).status_code == 200
    control.delete("scenarios/c", session="one")
    async_to_sync(current_recording().give_cassettes)("one")
    assert control.get("scenarios/c", session="one").status_code == 404


def test_two_sessions_never_record_one_cassette(control: Control) -> None:
    control.put("recording", {"session": "one", "mode": "all", "name": "c"})
    conflict = control.put("recording", {"session": "two", "mode": "all", "name": "c"})
    assert conflict.status_code == 409 and conflict.json()["field"] == "name"
    same_session = control.put("recording", {"session": "one", "mode": "all", "name": "c"})
    replay = control.put("recording", {"session": "two", "mode": "none", "name": "c"})
    assert (same_session.status_code, replay.status_code) == (201, 201)


def test_without_an_upstream_nothing_is_recorded(control: Control) -> None:
    services().pipeline.options.upstreams.clear()
    response = control.put("recording", {"mode": "new"})
    assert response.status_code == 409 and "MOCKLLM_UPSTREAMS" in response.json()["message"]
    assert control.put("recording", {"mode": "none"}).status_code == 201


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "mode"),
        ({"mode": "sometimes"}, "mode"),
        ({"mode": "all", "keys": {"openai": 1}}, "keys"),
        ({"mode": "none", "cassettes": [{"name": "c", "stepz": []}]}, "scenarios[0].stepz"),
        ({"mode": "all", "upstream": "http://x"}, "upstream"),
    ],
)
def test_invalid_start_of_a_recording_names_the_field(
    control: Control, body: Any, field: str
) -> None:
    response = control.put("recording", body)
    assert response.status_code == 400 and str(response.json()["field"]).startswith(field)
    assert services().pipeline.recordings == {}


def test_recording_begins_only_with_a_name_that_its_scenario_can_have(control: Control) -> None:
    response = control.put("recording", {"mode": "new", "name": "my recording "})
    assert error_of(response) == (400, "VALIDATION_ERROR", "name")
    assert control.get("recording").status_code == 404


def test_ending_an_unknown_recording_is_not_found(control: Control) -> None:
    answer = control.delete("recording", session="nobody")
    assert answer.status_code == 404 and "session “nobody”" in answer.json()["message"]


def test_recording_can_start_before_its_session(control: Control) -> None:
    # The session has sent no request yet.
    control.put("recording", {"session": "of-a-header", "mode": "all"})
    recordings = services().pipeline.recordings
    assert recording_of(recordings, "of-a-header") is not None
    assert recording_of(recordings, "another") is None
    assert control.get("recording", session="of-a-header").status_code == 200
    assert control.delete("recording", session="of-a-header").status_code == 200
    assert recordings == {}


def test_running_interaction_is_left_out_after_the_timeout() -> None:
    recording = Recording(None, "all", "c")
    recording.begin()
    result = recording.wait_for_result(seconds=0)
    assert result.interactions == () and "still running" in result.problems[0]


def test_interactions_are_in_request_order() -> None:
    recording = Recording(None, "all", "c")
    first, second = recording.begin(), recording.begin()
    later = Interaction(SECOND_REQUEST, RESPONSE)
    recording.end(second, later)
    recording.end(first, Interaction(FIRST_REQUEST, RESPONSE))
    assert [interaction.request for interaction in recording.wait_for_result().interactions] == [
        FIRST_REQUEST,
        SECOND_REQUEST,
    ]


@pytest.mark.parametrize("key", ["sk-1\n", "sk-1\r\nx-evil: 1", "sk 1", "sk-\u00e4", "sk-\0"])
@pytest.mark.parametrize("mode", ["none", "all"])
def test_key_that_no_header_can_hold_is_refused_and_not_repeated(
    control: Control, mode: str, key: str
) -> None:
    response = control.put("recording", {"mode": mode, "name": "c", "keys": {"openai": key}})
    assert response.status_code == 400
    assert response.json()["field"] == "keys.openai" and "sk" not in response.content.decode()
    assert services().pipeline.recordings == {}


def test_name_with_a_line_break_is_refused(control: Control) -> None:
    response = control.put("recording", {"mode": "all", "name": "a\nb"})
    assert (response.status_code, response.json()["field"]) == (400, "name")
