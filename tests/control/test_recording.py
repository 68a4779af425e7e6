"""Recordings by the control API: begun, looked at, ended, and what they come to."""

from collections.abc import Iterator
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from scenarios_app.engine.state import key_session
from scenarios_app.recording import Interaction, RecordedRequest, RecordedResponse
from scenarios_app.serving.recorder.recordings import MissedRequest, Recording, recording_of
from scenarios_app.serving.services import services
from tests.control.control_client import KEY, Control, error_of

pytestmark = pytest.mark.django_db
ASKED = RecordedRequest(
    "POST", "/v1/chat/completions", body=b'{"model":"m","messages":[{"role":"user","content":"a"}]}'
)
ANSWER = RecordedResponse(200, (("content-type", "application/json"),), ((1.0, b'{"a": 1}'),))
MISSED = RecordedRequest(
    "POST", "/v1/chat/completions", body=b'{"model":"m","messages":[{"role":"user","content":"b"}]}'
)


@pytest.fixture(autouse=True)
def upstreams() -> Iterator[None]:
    """An upstream that nobody asks here."""
    pipeline = services().pipeline
    named = {"openai": "http://127.0.0.1:1"}
    before = dict(pipeline.options.upstreams)
    pipeline.options.upstreams.update(named)  # type: ignore[attr-defined]
    yield
    pipeline.options.upstreams.clear()  # type: ignore[attr-defined]
    pipeline.options.upstreams.update(before)  # type: ignore[attr-defined]
    pipeline.recordings.clear()
    services().drifts.clear()


def begun(session: str | None = None) -> Recording:
    return services().pipeline.recordings[session]


def hear(recording: Recording) -> None:
    recording.end(recording.begin(), Interaction(ASKED, ANSWER))


def cassette(control: Control) -> Any:
    control.put("recording", {"mode": "all", "name": "c"})
    hear(begun())
    return control.delete("recording").json()["document"]


def test_a_recording_becomes_a_scenario(control: Control) -> None:
    begun_as = control.put("recording", {"mode": "all", "name": "c", "keys": {"openai": "sk-1"}})
    assert begun_as.status_code == 201
    assert begun_as.json()["upstreams"] == {"openai": "http://127.0.0.1:1"}
    assert "sk-1" not in begun_as.content.decode()
    hear(begun())
    assert control.get("recording").json()["interactions"] == 1
    ended = control.delete("recording").json()
    document = ended["document"]
    assert document["name"] == "c" and len(document["steps"]) == 1
    assert control.put("scenarios/c", document).status_code == 201
    assert control.get("recording").status_code == 404


def test_recording_is_refused_with_several_processes(
    control: Control, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where there is a REDIS_URL: some other process may get the next request."""
    monkeypatch.setattr(services().cluster, "_bus", object())
    for mode in ("none", "new", "all"):
        refused = control.put("recording", {"mode": mode, "name": "c"})
        assert refused.status_code == 409
        assert "in the memory of one process" in refused.json()["message"]
    assert services().pipeline.recordings == {}


def test_a_recording_of_nothing_is_an_empty_scenario(control: Control) -> None:
    control.put("recording", {"mode": "all", "name": "c"})
    document = control.delete("recording").json()["document"]
    assert (document["name"], document["steps"]) == ("c", [])


def test_answer_that_no_document_can_hold_is_left_out_and_noted(control: Control) -> None:
    control.put("recording", {"mode": "all", "name": "c"})
    hear(begun())
    half = RecordedResponse(200, ANSWER.headers, ((1.0, b'{"a": "\\ud800"}'),))
    begun().end(begun().begin(), Interaction(ASKED, half))
    hear(begun())
    ended = control.delete("recording")
    assert ended.status_code == 200
    body = ended.json()
    assert len(body["document"]["steps"]) == 2
    assert [note for note in body["notes"] if "answer 2: produce" in note and "surrogate" in note]


def test_new_steps_follow_steps_of_the_cassette(control: Control) -> None:
    known = cassette(control)
    control.put("recording", {"mode": "new", "name": "c", "cassettes": [known]})
    hear(begun())
    document = control.delete("recording").json()["document"]
    before, after = document["steps"]
    assert before["match"] == known["steps"][0]["match"] and after == known["steps"][0]


def test_replay_reports_drift(control: Control) -> None:
    known = cassette(control)
    control.put("recording", {"session": KEY, "mode": "none", "cassettes": [known]})
    recording = begun(key_session(KEY))
    recording.add_miss(MissedRequest("openai", MISSED))
    ended = control.delete("recording", session=KEY).json()
    assert (ended["document"], ended["drifted"]) == (None, True)
    (one,) = ended["drift"]
    assert (one["kind"], one["step"]) == ("changed", "1")
    (told,) = control.get("drift").json()["recordings"]
    assert (told["session"], told["cassettes"]) == (key_session(KEY), ["c"])


def test_a_session_gets_its_own_copy_of_a_cassette(control: Control) -> None:
    known = cassette(control)
    control.put("recording", {"mode": "none", "cassettes": [known]})
    for session in ("one", "two"):
        async_to_sync(begun().give_cassettes)(session)
        assert control.get("scenarios/c", session=session).status_code == 200
    control.delete("scenarios/c", session="one")
    async_to_sync(begun().give_cassettes)("one")
    assert control.get("scenarios/c", session="one").status_code == 404


def test_two_sessions_never_record_one_cassette(control: Control) -> None:
    control.put("recording", {"session": "one", "mode": "all", "name": "c"})
    refused = control.put("recording", {"session": "two", "mode": "all", "name": "c"})
    assert refused.status_code == 409 and refused.json()["field"] == "name"
    again = control.put("recording", {"session": "one", "mode": "all", "name": "c"})
    replay = control.put("recording", {"session": "two", "mode": "none", "name": "c"})
    assert (again.status_code, replay.status_code) == (201, 201)


def test_without_an_upstream_nothing_is_recorded(control: Control) -> None:
    services().pipeline.options.upstreams.clear()  # type: ignore[attr-defined]
    refused = control.put("recording", {"mode": "new"})
    assert refused.status_code == 409 and "MOCKLLM_UPSTREAMS" in refused.json()["message"]
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
def test_a_wrong_beginning_names_its_place(control: Control, body: Any, field: str) -> None:
    refused = control.put("recording", body)
    assert refused.status_code == 400 and str(refused.json()["field"]).startswith(field)
    assert services().pipeline.recordings == {}


def test_recording_begins_only_with_a_name_that_its_scenario_can_have(control: Control) -> None:
    refused = control.put("recording", {"mode": "new", "name": "my recording "})
    assert error_of(refused) == (400, "VALIDATION_ERROR", "name")
    assert control.get("recording").status_code == 404


def test_ending_an_unknown_recording_is_not_found(control: Control) -> None:
    answer = control.delete("recording", session="nobody")
    assert answer.status_code == 404 and "session “nobody”" in answer.json()["message"]


def test_a_session_is_recorded_by_the_name_that_its_requests_bring(control: Control) -> None:
    """It need not be known yet."""
    control.put("recording", {"session": "of-a-header", "mode": "all"})
    recordings = services().pipeline.recordings
    assert recording_of(recordings, "of-a-header") is not None
    assert recording_of(recordings, "another") is None
    assert control.get("recording", session="of-a-header").status_code == 200
    assert control.delete("recording", session="of-a-header").status_code == 200
    assert recordings == {}


def test_an_answer_that_is_still_given_is_waited_for_and_then_left_out() -> None:
    recording = Recording(None, "all", "c")
    recording.begin()
    ended = recording.wait_for_result(seconds=0)
    assert ended.interactions == () and "still running" in ended.problems[0]


def test_interactions_stand_in_the_order_in_which_they_were_asked() -> None:
    recording = Recording(None, "all", "c")
    first, second = recording.begin(), recording.begin()
    later = Interaction(MISSED, ANSWER)
    recording.end(second, later)
    recording.end(first, Interaction(ASKED, ANSWER))
    assert [one.request for one in recording.wait_for_result().interactions] == [ASKED, MISSED]
