"""Scenarios are equal after an import by one interface and an export by another."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from scenarios_app.engine.document import dump, load_text
from scenarios_app.models import Draft, Scenario
from scenarios_app.store import document_of
from scenarios_app.store.documents import load
from tests.admin.drafting import edit_as_draft, publish, save_draft
from tests.admin.pages import IMPORT, LIST, fields, save
from tests.control.conftest import control
from tests.control.control_client import Control
from tests.round_trips.generated import format_keys, generated, keys_of, short_fault_scenarios

__all__ = ["control"]
pytestmark = pytest.mark.django_db
Documents = Mapping[str, dict[str, Any]]


@pytest.fixture
def editor(db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("editor"))
    return client


def originals() -> Documents:
    return {document.name: dump(document) for document in generated()}


def stored_documents() -> Documents:
    return {row.name: dump(document_of(row)) for row in Scenario.objects.all()}


def write_documents(path: Path, documents: Documents) -> Path:
    path.write_text(json.dumps({"scenarios": list(documents.values())}))
    return path


def read(text: bytes) -> Documents:
    return {document.name: dump(document) for document in load_text(text)}


def test_generated_documents_hold_every_key_of_the_format() -> None:
    assert format_keys() - set(keys_of(generated())) == set()


def test_file_is_exported_as_it_was_loaded(tmp_path: Path) -> None:
    call_command("load_scenarios", write_documents(tmp_path / "in.json", originals()), verbosity=0)
    call_command("export_scenarios", output=tmp_path / "out.json")
    assert read((tmp_path / "out.json").read_bytes()) == originals()


@pytest.mark.parametrize("command", ["export_scenarios", "dumpdata"])
def test_rows_that_are_dumped_are_loaded_as_they_were(tmp_path: Path, command: str) -> None:
    load(generated())
    fixture = tmp_path / "rows.json"
    if command == "dumpdata":
        call_command("dumpdata", "scenarios_app.scenario", "scenarios_app.step", output=fixture)
    else:
        call_command("export_scenarios", output=fixture, format="fixture")
    Scenario.objects.all().delete()
    call_command("loaddata", fixture, verbosity=0)
    assert stored_documents() == originals()


def test_scenarios_saved_in_the_admin_are_exported_as_they_were_loaded(editor: Client) -> None:
    load(short_fault_scenarios())
    for scenario in Scenario.objects.all():
        assert save(editor, scenario).status_code == 302
        (exported,) = read(editor.get(f"{LIST}{scenario.pk}/export/").content).values()
        assert exported == next(
            dump(document) for document in short_fault_scenarios() if document.name == scenario.name
        )


def test_all_scenarios_are_exported_from_the_list_and_imported(editor: Client) -> None:
    load(generated())
    selected_keys = [str(pk) for pk in Scenario.objects.values_list("pk", flat=True)]
    exported = editor.post(LIST, {"action": "export", "_selected_action": selected_keys}).content
    assert read(exported) == originals()
    Scenario.objects.all().delete()
    form_data = {"text": exported.decode(), "existing": "replace", "preview": "1"}
    preview = editor.post(IMPORT, form_data).content.decode()
    editor.post(IMPORT, fields(preview, "load_form") | {"load": "1"})
    assert stored_documents() == originals()


def test_control_api_returns_the_posted_documents(control: Control) -> None:
    assert control.post("scenarios", {"scenarios": list(originals().values())}).status_code == 201
    documents = control.get("scenarios").json()["scenarios"]
    assert {document["name"]: document for document in documents} == originals()
    assert stored_documents() == originals()


# Five pages for each of many documents.
def test_scenario_of_the_control_api_is_drafted_published_and_restored(
    control: Control, editor: Client
) -> None:
    control.post("scenarios", {"scenarios": list(originals().values())})
    created_at = timezone.now()
    for scenario in Scenario.objects.all():
        original = originals()[scenario.name]
        draft = edit_as_draft(editor, scenario)
        assert dump(document_of(draft)) == original
        assert save_draft(editor, draft, description="published").status_code == 302
        publish(editor, draft)
        assert control.get(f"scenarios/{scenario.name}").json() == original | {
            "description": "published"
        }
        editor.post(f"{LIST}{scenario.pk}/history/", {"at": created_at.isoformat()})
        assert control.get(f"scenarios/{scenario.name}").json() == original
    assert not Draft.objects.exists()
