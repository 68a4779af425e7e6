"""Turn scripts as rows: loaded by the command without loss."""

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
from scenarios_app.store import document_of, rows_of
from tests.engine.turn_scripts import (
    SCRIPTS,
    convert,
    each_collection,
    script,
    tool_call_response,
    turn,
)


def load_output(path: Path) -> str:
    output = StringIO()
    call_command("load_scenarios", str(path), stdout=output)
    return output.getvalue()


@pytest.mark.django_db(transaction=True)
@each_collection
def test_load_scenarios_loads_a_list_and_prints_each_name(
    tmp_path: Path, documents: list[dict[str, Any]]
) -> None:
    file = tmp_path / "turns.json"
    file.write_text(json.dumps(documents))
    assert load_output(file).splitlines() == [f"{document['id']}: new" for document in documents]
    assert catalog.problems == ()
    for document in documents:
        row = Scenario.objects.get(name=document["id"])
        assert dump(document_of(row)) == convert(document)
        compiled = catalog.index().by_name[document["id"]]
        assert [step.turn for step in compiled.steps] == [t["turn"] for t in document["turns"]]


@pytest.mark.django_db
def test_load_scenarios_reports_the_path_of_an_error(tmp_path: Path) -> None:
    valid_file, invalid_file = tmp_path / "a.json", tmp_path / "b.json"
    valid_file.write_text(json.dumps(script(turn())))
    invalid_file.write_text(json.dumps([script(turn(tool_call_response({"arguments": {}})))]))
    with pytest.raises(CommandError) as error:
        load_output(tmp_path)
    assert (
        str(error.value)
        == f"{invalid_file}:1:89: [0].turns[0].response.toolCalls[0].toolName: missing"
    )
    assert not Scenario.objects.exists()


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(SCRIPTS)
def test_rows_convert_back_to_the_document(data: dict[str, Any]) -> None:
    (document,) = load_documents(data)
    converted = document_of(*rows_of(document))
    assert dump(converted) == dump(document)
    assert compile_scenario(converted) == compile_scenario(document)
