"""The *Record* button: who sees it, what it begins, and the draft that comes of it."""

from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
from django.test import Client

from scenarios_app.models import Draft
from scenarios_app.recording import Interaction, RecordedRequest, RecordedResponse
from scenarios_app.serving.services import services
from tests.admin.pages import SESSION, SESSIONS

pytestmark = pytest.mark.django_db
RECORD = "/admin/scenarios_app/servedrequest/session/record/"
HEARD = Interaction(
    RecordedRequest("POST", "/v1/chat/completions", body=b'{"model":"m","messages":[]}'),
    RecordedResponse(200, (("content-type", "application/json"),), ((1.0, b'{"a": 1}'),)),
)


@pytest.fixture(autouse=True)
def upstreams() -> Iterator[dict[str, str]]:
    """What the operator names; nobody is asked here."""
    pipeline = services().pipeline
    named: dict[str, str] = pipeline.options.upstreams  # type: ignore[assignment]
    before = dict(named)
    named["openai"] = "https://upstream.example"
    yield named
    named.clear()
    named.update(before)
    pipeline.recordings.clear()


def page(client: Client, url: str) -> str:
    return client.get(url).content.decode()


@pytest.mark.parametrize(
    ("name", "url"), [(None, SESSIONS), ("a/b", f"{SESSION}?{urlencode({'name': 'a/b'})}")]
)
def test_a_session_or_all_are_recorded_into_a_draft(
    root: Client, name: str | None, url: str
) -> None:
    named = {} if name is None else {"name": name}
    assert "https://upstream.example" in page(root, url)
    answer = root.post(RECORD, named)
    assert answer.status_code == 302 and answer["location"] == url
    recording = services().pipeline.recordings[name]
    recording.end(recording.begin(), HEARD)
    assert "Recording: 1 answer so far." in page(root, url)
    answer = root.post(RECORD, {**named, "end": "1"}, follow=True)
    draft = Draft.objects.get()
    assert draft.name == f"Recording of {name or 'all sessions'}"
    assert draft.steps.count() == 1 and draft.published is None
    assert "1 step recorded. Nothing answers from a draft yet." in answer.content.decode()
    assert services().pipeline.recordings == {}


def test_a_server_of_several_processes_says_why_it_records_nothing(
    root: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services().everywhere, "_bus", object())
    assert "in the memory of one process" in page(root, SESSIONS)
    assert "record_form" not in page(root, SESSIONS)
    answer = root.post(RECORD, {}, follow=True)
    assert "in the memory of one process" in answer.content.decode()
    assert services().pipeline.recordings == {}


def test_a_recording_of_nothing_makes_no_draft(root: Client) -> None:
    root.post(RECORD)
    answer = root.post(RECORD, {"end": "1"}, follow=True)
    assert "Nothing of all sessions was recorded" in answer.content.decode()
    assert not Draft.objects.exists()


def test_what_is_not_recorded_cannot_be_stopped(root: Client) -> None:
    answer = root.post(RECORD, {"end": "1"}, follow=True)
    assert "There is no recording of all sessions." in answer.content.decode()


def test_without_an_upstream_there_is_no_button(root: Client, upstreams: dict[str, str]) -> None:
    upstreams.clear()
    html = page(root, SESSIONS)
    assert "record_form" not in html and "MOCKLLM_UPSTREAMS" in html
    answer = root.post(RECORD, follow=True)
    assert "MOCKLLM_UPSTREAMS names no upstream" in answer.content.decode()
    assert services().pipeline.recordings == {}


def test_no_address_comes_from_a_form(root: Client) -> None:
    root.post(RECORD, {"openai": "http://127.0.0.1:1", "upstreams": "openai=http://127.0.0.1:1"})
    assert services().pipeline.options.upstreams == {"openai": "https://upstream.example"}


def test_who_only_reads_cannot_record(reader: Client) -> None:
    assert "record_form" not in page(reader, SESSIONS)
    assert reader.post(RECORD).status_code == 403
    assert services().pipeline.recordings == {}
