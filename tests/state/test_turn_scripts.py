"""Requirement 003's documents as rows: loaded by the command as they are, nothing of them lost."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from hypothesis import HealthCheck, given, settings

from scenarios_app.catalog import catalog
from scenarios_app.engine.document import compile_scenario, dump, load_documents
from scenarios_app.models import Scenario
from scenarios_app.store import document_of, rows_of, save_documents
from scenarios_app.store.translate import step_object
from tests.engine.turn_scripts import (
    SCRIPTS,
    calls,
    each_collection,
    reports,
    says,
    script,
    turn,
    written,
)


def loaded(path: Path) -> str:
    output = StringIO()
    call_command("load_scenarios", str(path), stdout=output)
    return output.getvalue()


@pytest.mark.django_db(transaction=True)
@each_collection
def test_load_scenarios_takes_a_list_of_them_and_answers_with_each(
    tmp_path: Path, documents: list[dict[str, Any]]
) -> None:
    file = tmp_path / "turns.json"
    file.write_text(json.dumps(documents))
    assert loaded(file).splitlines() == [f"{document['id']}: new" for document in documents]
    assert catalog.problems == ()
    for document in documents:
        row = Scenario.objects.get(name=document["id"])
        assert dump(document_of(row)) == written(document)
        compiled = catalog.index().by_name[document["id"]]
        assert [step.turn for step in compiled.steps] == [t["turn"] for t in document["turns"]]


@pytest.mark.django_db
def test_load_scenarios_names_the_file_and_the_place_of_a_mistake(tmp_path: Path) -> None:
    good, bad = tmp_path / "a.json", tmp_path / "b.json"
    good.write_text(json.dumps(script(turn())))
    bad.write_text(json.dumps([script(turn(calls({"arguments": {}})))]))
    with pytest.raises(CommandError) as raised:
        loaded(tmp_path)
    assert str(raised.value) == f"{bad}:1:89: [0].turns[0].response.toolCalls[0].toolName: missing"
    assert not Scenario.objects.exists()


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(SCRIPTS)
def test_rows_give_back_the_document(data: dict[str, Any]) -> None:
    (document,) = load_documents(data)
    again = document_of(*rows_of(document))
    assert dump(again) == dump(document)
    assert compile_scenario(again) == compile_scenario(document)


@pytest.mark.django_db
def test_a_final_report_is_in_columns_of_its_own() -> None:
    report = reports("# Done", reportFormat="markdown", status="failure", reportContentJson=[1])
    (document,) = load_documents(script(turn(report), turn(says("x"), 2)))
    (row,) = save_documents([document])
    first, second = row.steps.all()
    assert (first.report_content, first.report_format) == ("# Done", "markdown")
    assert first.report_status == "failure"
    assert first.answer_extra == {"final_report": {"content_json": [1]}}
    assert (second.report_content, second.answer_extra) == ("", {})
    first.report_content = "# Changed"
    assert step_object(first)["produce"] == {
        "final_report": {
            "content_json": [1],
            "status": "failure",
            "report_format": "markdown",
            "report_content": "# Changed",
        },
        "usage": {"input_tokens": 64, "output_tokens": 32},
    }
