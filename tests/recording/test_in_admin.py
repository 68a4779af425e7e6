"""Recordings imported in the admin and by the command: notes, display and edits."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client

from scenarios_app.admin.editor.inputs import (
    AS_RECORDED,
    EDITED,
    recorded_answer_text,
    recording_status,
)
from scenarios_app.models import Scenario
from scenarios_app.store import document_of
from tests.admin.pages import IMPORT, create_scenario, fields

pytestmark = pytest.mark.django_db

CASSETTES = Path(__file__).parents[1] / "data" / "cassettes"
WEATHER = CASSETTES / "openai_weather.yaml"
OTHERS = CASSETTES / "gemini_and_others.yaml"


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("import", *arguments, stdout=out, stderr=out)
    return out.getvalue()


def upload(client: Client, file: Path) -> str:
    """Preview a file and press the button below it."""
    sent = SimpleUploadedFile(file.name, file.read_bytes())
    preview = client.post(IMPORT, {"file": sent, "existing": "replace"}).content.decode()
    form_fields = fields(preview, "load_form") | {"load": "1"}
    assert client.post(IMPORT, form_fields).status_code == 302
    return preview


def test_a_cassette_is_imported_from_a_file(admin_client: Client) -> None:
    preview = upload(admin_client, OTHERS)
    assert "left out: Bedrock (bedrock-runtime.us-east-1.amazonaws.com)" in preview
    row = Scenario.objects.get(name="gemini_and_others")
    document = document_of(row)
    assert [step.produce.is_unedited_recording for step in document.steps] == [True, True]
    upload(admin_client, OTHERS)
    assert Scenario.objects.count() == 1


def test_recording_without_a_usable_interaction_imports_nothing(admin_client: Client) -> None:
    request = {"method": "GET", "uri": "https://example.com/x", "headers": {}}
    value = {"interactions": [{"request": request, "response": {"status": {"code": 200}}}]}
    sent = SimpleUploadedFile("a.json", json.dumps(value).encode())
    preview = admin_client.post(IMPORT, {"file": sent, "existing": "replace"}).content.decode()
    assert "Nothing was imported" in preview and "no part of it can be imported" in preview


def test_step_shows_its_recording_status_and_bytes(admin_client: Client) -> None:
    upload(admin_client, WEATHER)
    row = Scenario.objects.get(name="openai_weather")
    page = admin_client.get(f"/admin/scenarios_app/scenario/{row.pk}/change/").content.decode()
    assert page.count(AS_RECORDED) == 2 and EDITED not in page
    assert "200 · text/event-stream; charset=utf-8" in page
    step = row.steps.last()
    assert step is not None and recording_status(step.document) == AS_RECORDED
    step.document["produce"]["text"] = "It rains."
    assert recording_status(step.document) == EDITED
    step.document["produce"]["nonsense"] = 1
    assert recording_status(step.document) == ""


def test_saving_the_page_keeps_the_recording(admin_client: Client) -> None:
    upload(admin_client, WEATHER)
    row = Scenario.objects.get(name="openai_weather")
    before = [document_of(row).steps, row.name]
    url = f"/admin/scenarios_app/scenario/{row.pk}/change/"
    form_fields = fields(admin_client.get(url).content.decode(), "scenario_form")
    answer = admin_client.post(url, form_fields | {"description": "ours"})
    assert answer.status_code == 302
    row.refresh_from_db()
    assert row.document["description"] == "ours"
    assert [document_of(row).steps, row.name] == before


def test_recorded_answer_is_shown_as_text_where_possible() -> None:
    assert recorded_answer_text({}) == ""
    chunks = ["a", {"text": "b"}, {"base64": "/////w=="}, {}]
    assert recorded_answer_text({"cut": True, "chunks": chunks}) == "200 · cut off\n\nab(6 bytes)"
    assert recorded_answer_text({"chunks": ["x" * 20_001]}).endswith("… (1 more characters)")


def test_import_command_lists_what_is_left_out() -> None:
    output = run(str(CASSETTES))
    assert "openai_weather: 2 steps, new" in output
    assert "gemini_and_others.yaml: left out: Bedrock" in output
    assert "openai_weather: 2 steps, replaced" in run(str(WEATHER))
    assert "openai_weather: 2 steps, not loaded" in run(str(WEATHER), "--dry-run")
    report = json.loads(run(str(WEATHER), "--json"))
    assert report["scenarios"] == [{"name": "openai_weather", "steps": 2, "replaced": True}]
    assert report["loaded"] is True and report["notes"] == []


def test_recording_does_not_replace_a_written_scenario() -> None:
    create_scenario("openai_weather")
    assert "openai_weather-2: 2 steps, new" in run(str(WEATHER))
    assert "openai_weather-2: 2 steps, replaced" in run(str(WEATHER))


def test_a_broken_file_imports_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(WEATHER.read_bytes())
    (tmp_path / "b.yaml").write_text("interactions: [{request: {}}]")
    with pytest.raises(CommandError, match=r"b.yaml:1:\d+: interactions\[0\].request"):
        run(str(tmp_path))
    assert not Scenario.objects.exists()
    with pytest.raises(CommandError, match="nothing was imported"):
        run(str(_write_unusable_recording(tmp_path)))


def _write_unusable_recording(folder: Path) -> Path:
    file = folder / "c.json"
    request = {"method": "GET", "uri": "https://example.com/x", "headers": {}}
    value = {"interactions": [{"request": request, "response": {"status": {"code": 200}}}]}
    file.write_text(json.dumps(value))
    return file
