"""The *Record* button: permissions, the started recording, and the resulting draft."""

import time
from collections.abc import Iterator
from html import unescape
from importlib import import_module
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import Permission, User
from django.db import OperationalError
from django.test import Client

from mockllm_site.kit import env
from mockllm_site.roles import EDITOR, READER
from scenarios_app.models import Draft
from scenarios_app.recording import Interaction, RecordedRequest, RecordedResponse
from scenarios_app.serving.recorder.recordings import Recording, recording_of
from scenarios_app.serving.services import services
from tests.admin.pages import SESSION, SESSIONS

pytestmark = pytest.mark.django_db
RECORD = "/admin/scenarios_app/servedrequest/session/record/"
INTERACTION = Interaction(
    RecordedRequest("POST", "/v1/chat/completions", body=b'{"model":"m","messages":[]}'),
    RecordedResponse(200, (("content-type", "application/json"),), ((1.0, b'{"a": 1}'),)),
)


@pytest.fixture(autouse=True)
def upstreams() -> Iterator[dict[str, str]]:
    """Configure an upstream; no test sends it a request."""
    pipeline = services().pipeline
    upstream_urls: dict[str, str] = pipeline.options.upstreams
    before = dict(upstream_urls)
    upstream_urls["openai"] = "https://upstream.example"
    yield upstream_urls
    upstream_urls.clear()
    upstream_urls.update(before)
    pipeline.recordings.clear()


def page(client: Client, url: str) -> str:
    return client.get(url).content.decode()


@pytest.mark.parametrize(
    ("name", "url"), [(None, SESSIONS), ("a/b", f"{SESSION}?{urlencode({'name': 'a/b'})}")]
)
def test_one_session_or_all_are_recorded_into_a_draft(
    root: Client, name: str | None, url: str
) -> None:
    form_data = {} if name is None else {"name": name}
    assert "https://upstream.example" in page(root, url)
    answer = root.post(RECORD, form_data)
    assert answer.status_code == 302 and answer["location"] == url
    recording = services().pipeline.recordings[name]
    recording.end(recording.begin(), INTERACTION)
    assert "Recording: 1 answer so far." in page(root, url)
    answer = root.post(RECORD, {**form_data, "end": "1"}, follow=True)
    draft = Draft.objects.get()
    assert draft.name == f"Recording of {name or 'all sessions'}"
    assert draft.steps.count() == 1 and draft.published is None
    assert "1 step recorded. The draft answers no requests" in answer.content.decode()
    assert services().pipeline.recordings == {}


def test_recording_is_refused_with_several_processes(
    root: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services().cluster, "_bus", object())
    assert "in the memory of one process" in page(root, SESSIONS)
    assert "record_form" not in page(root, SESSIONS)
    answer = root.post(RECORD, {}, follow=True)
    assert "in the memory of one process" in answer.content.decode()
    assert services().pipeline.recordings == {}


def test_recording_is_kept_when_its_draft_cannot_be_stored(
    root: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(document: object) -> None:
        raise OperationalError("database or disk is full")

    root.post(RECORD, {"name": "kept"})
    recording = services().pipeline.recordings["kept"]
    recording.end(recording.begin(), INTERACTION)
    root.raise_request_exception = False
    with monkeypatch.context() as patch:
        patch.setattr(import_module("scenarios_app.admin.journal.record"), "create_draft", fail)
        answer = root.post(RECORD, {"name": "kept", "end": "1"})
    assert answer.status_code == 503
    assert "Nothing was saved." in answer.content.decode()
    assert services().pipeline.recordings["kept"] is recording
    assert root.post(RECORD, {"name": "kept", "end": "1"}).status_code == 302
    assert Draft.objects.get().steps.count() == 1
    assert "kept" not in services().pipeline.recordings


def test_empty_recording_makes_no_draft(root: Client) -> None:
    root.post(RECORD)
    answer = root.post(RECORD, {"end": "1"}, follow=True)
    assert "No answers of all sessions were recorded" in answer.content.decode()
    assert not Draft.objects.exists()


def test_stopping_an_unknown_recording_is_refused(root: Client) -> None:
    answer = root.post(RECORD, {"end": "1"}, follow=True)
    assert "There is no recording of all sessions." in answer.content.decode()


def test_record_button_is_missing_without_an_upstream(
    root: Client, upstreams: dict[str, str]
) -> None:
    upstreams.clear()
    html = page(root, SESSIONS)
    assert "record_form" not in html and "MOCKLLM_UPSTREAMS" in html
    answer = root.post(RECORD, follow=True)
    assert "No upstream is set; add one to MOCKLLM_UPSTREAMS." in answer.content.decode()
    assert services().pipeline.recordings == {}


def test_posted_upstream_address_is_ignored(root: Client) -> None:
    root.post(RECORD, {"openai": "http://127.0.0.1:1", "upstreams": "openai=http://127.0.0.1:1"})
    assert services().pipeline.options.upstreams == {"openai": "https://upstream.example"}


def test_reader_cannot_record(reader: Client) -> None:
    assert "record_form" not in page(reader, SESSIONS)
    assert reader.post(RECORD).status_code == 403
    assert services().pipeline.recordings == {}


@pytest.fixture
def chooser(editor: Client, settings: Any) -> Client:
    """Return a client of an editor with the permission to set up recording, in dev mode."""
    settings.MOCKLLM_ENV = "dev"
    permission = Permission.objects.get(codename="set_up_recording")
    User.objects.get(username=EDITOR).user_permissions.add(permission)
    return editor


def recording() -> Recording | None:
    return services().pipeline.recordings.get("s")


def choices(client: Client) -> dict[str, str]:
    panel = client.get(SESSION, {"name": "s"}).context["record"]
    return {choice.name: choice.url for choice in panel.choices}


def test_dev_mode_offers_every_official_provider(
    chooser: Client, upstreams: dict[str, str]
) -> None:
    offered_providers = choices(chooser)
    assert offered_providers["openai"] == "https://upstream.example"
    assert offered_providers["anthropic"] == "https://api.anthropic.com"
    assert all(url.startswith("https://") for url in offered_providers.values())


@pytest.mark.parametrize("mode", ["prod", "test"])
def test_other_modes_offer_only_configured_upstreams(
    chooser: Client, settings: Any, mode: str
) -> None:
    settings.MOCKLLM_ENV = mode
    assert choices(chooser) == {"openai": "https://upstream.example"}
    form_data = {"name": "s", "choose": "1", "upstream": "anthropic"}
    answer = chooser.post(RECORD, form_data, follow=True)
    assert "This server cannot record from “anthropic”" in text_of(answer)
    assert recording() is None


def test_recording_forwards_only_to_chosen_providers(chooser: Client) -> None:
    form_data = {"name": "s", "choose": "1", "upstream": ["anthropic", "gemini"]}
    answer = chooser.post(RECORD, form_data, follow=True)
    active_recording = recording()
    assert active_recording is not None
    assert active_recording.upstreams == {
        "anthropic": "https://api.anthropic.com",
        "gemini": "https://generativelanguage.googleapis.com",
    }
    assert active_recording.keys == {"anthropic": "", "gemini": ""}
    page = text_of(answer)
    assert "<b>anthropic</b> (https://api.anthropic.com) with the client’s key" in page
    assert "or when the server stops" in page and "upstream.example" not in page


@pytest.mark.parametrize("upstream", ["", "https://evil.example", "openai=https://evil.example"])
def test_unknown_provider_is_refused(chooser: Client, upstream: str) -> None:
    form_data = {"name": "s", "choose": "1", **({"upstream": upstream} if upstream else {})}
    answer = chooser.post(RECORD, form_data, follow=True)
    expected_message = (
        "This server cannot record from" if upstream else "Choose at least one provider"
    )
    assert expected_message in text_of(answer) and recording() is None


def test_server_key_is_sent_to_its_provider_and_not_shown(
    chooser: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(env.variables(), "ANTHROPIC_API_KEY", "sk-ant-of-the-server")
    monkeypatch.setitem(env.variables(), "OPENAI_API_KEY", "sk-of-the-server")
    form_data = {"name": "s", "choose": "1", "upstream": "anthropic", "key-anthropic": "server"}
    page = text_of(chooser.post(RECORD, form_data, follow=True))
    active_recording = recording()
    assert active_recording is not None and active_recording.keys == {
        "anthropic": "sk-ant-of-the-server"
    }
    assert "with this server’s key" in page and "sk-ant-of-the-server" not in page
    # The operator has set another upstream for openai.
    services().pipeline.recordings.clear()
    form_data = {"name": "s", "choose": "1", "upstream": "openai", "key-openai": "server"}
    answer = chooser.post(RECORD, form_data, follow=True)
    assert "This server has no key for openai" in text_of(answer)
    assert recording() is None


def test_editor_without_the_permission_records_from_named_upstreams(editor: Client) -> None:
    assert choices(editor) == {}
    assert (
        editor.post(RECORD, {"name": "s", "choose": "1", "upstream": "openai"}).status_code == 403
    )
    assert recording() is None
    editor.post(RECORD, {"name": "s"})
    active_recording = recording()
    assert (
        active_recording is not None
        and not active_recording.upstreams
        and not active_recording.keys
    )


def test_reader_with_the_permission_cannot_record(reader: Client) -> None:
    permission = Permission.objects.get(codename="set_up_recording")
    User.objects.get(username=READER).user_permissions.add(permission)
    assert choices(reader) == {}
    assert reader.post(RECORD, {"name": "s", "choose": "1"}).status_code == 403


def test_recording_stops_after_an_hour_and_keeps_its_answers(root: Client) -> None:
    root.post(RECORD, {"name": "s"})
    active_recording = recording()
    assert active_recording is not None and active_recording.ends_at is not None
    active_recording.end(active_recording.begin(), INTERACTION)
    recordings = services().pipeline.recordings
    assert (
        recording_of(recordings, "s", clock=lambda: active_recording.ends_at - 1)
        is active_recording
    )
    assert recording_of(recordings, "s", clock=lambda: active_recording.ends_at) is None
    active_recording.ends_at = time.monotonic()
    page = text_of(root.get(SESSION, {"name": "s"}))
    assert "Recording has stopped: 1 answer so far." in page
    assert "No more requests are sent to providers." in page
    root.post(RECORD, {"name": "s", "end": "1"})
    assert Draft.objects.get().steps.count() == 1


def text_of(answer: Any) -> str:
    return unescape(answer.content.decode())


def test_opened_recording_address_says_which_button_to_press(root: Client) -> None:
    response = root.get(RECORD)
    assert (response.status_code, response["Allow"]) == (405, "POST")
    text = response.content.decode()
    assert "Use the button on the page" in text
    assert f'<a href="{SESSIONS}">Sessions</a>' in text
    assert response["Content-Length"] == str(len(response.content))
