"""Turn scripts (requirement 003) are imported and edited in the admin."""

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from scenarios_app.engine.document import dump
from scenarios_app.models import Scenario
from scenarios_app.store import document_of
from tests.admin.pages import IMPORT, fields, save
from tests.engine.turn_scripts import convert, final_report_response, script, shipped_scripts, turn

pytestmark = pytest.mark.django_db


def import_documents(root: Client, documents: object) -> None:
    file = SimpleUploadedFile("turns.json", json.dumps(documents).encode())
    preview_page = root.post(IMPORT, {"file": file, "existing": "replace", "preview": "1"})
    assert preview_page.context["problems"] == ()
    form_data = fields(preview_page.content.decode(), "load_form") | {"load": "1"}
    root.post(IMPORT, form_data, follow=True)


def test_file_of_turn_scripts_is_imported_unchanged(root: Client) -> None:
    import_documents(root, shipped_scripts())
    stored_documents = {row.name: dump(document_of(row)) for row in Scenario.objects.all()}
    assert stored_documents == {document["id"]: convert(document) for document in shipped_scripts()}


def test_import_error_names_the_place_in_the_file(root: Client) -> None:
    text = json.dumps([script({"turn": 1, "response": {"kind": "text", "asistantText": ""}})])
    response = root.post(IMPORT, {"text": text, "existing": "replace", "preview": "1"})
    problems = [f"{problem.place}: {problem.message}" for problem in response.context["problems"]]
    path = "[0].turns[0].response.asistantText"
    assert problems == [f'{path}: unknown key, did you mean "assistantText"?']
    assert not Scenario.objects.exists()


def test_turn_script_page_saves_it_unchanged_and_edits_its_report(root: Client) -> None:
    document = script(
        turn(final_report_response("# Done", reportFormat="markdown", status="failure"))
    )
    import_documents(root, document)
    row = Scenario.objects.get()
    assert save(root, row).status_code == 302
    assert dump(document_of(row)) == convert(document)
    changes = {
        "steps-0-produce.final_report.report_content": "# Better",
        "steps-0-produce.final_report.status": "",
    }
    assert save(root, row, **changes).status_code == 302
    edited_document = dump(document_of(Scenario.objects.get()))
    better = script(turn(final_report_response("# Better", reportFormat="markdown")))
    assert edited_document == convert(better)
