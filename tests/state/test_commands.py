"""load_scenarios, export_scenarios and check_scenarios, as a person or CI meets them."""

import json
import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from scenarios_app.engine.document import dump
from scenarios_app.engine.document.files import NOT_JSON, read_files
from scenarios_app.models import Scenario, Step
from scenarios_app.store import document_of
from scenarios_app.store.documents import load

pytestmark = pytest.mark.django_db


def saying(name: str, text: str = "Hi.") -> dict[str, Any]:
    return {"name": name, "steps": [{"produce": {"text": text}}]}


def written(folder: Path, name: str, *documents: dict[str, Any]) -> str:
    path = folder / name
    path.write_text(json.dumps({"scenarios": documents}))
    return str(path)


def said(*command: str) -> str:
    """What a command prints."""
    output = StringIO()
    call_command(*command, stdout=output, stderr=output)
    return output.getvalue()


def failed(*command: str) -> str:
    """What a command that fails prints, and the error that ends it."""
    output = StringIO()
    with pytest.raises(CommandError) as raised:
        call_command(*command, stdout=output, stderr=output)
    assert raised.value.returncode == 1
    return output.getvalue() + str(raised.value)


def names() -> list[str]:
    return list(Scenario.objects.order_by("name").values_list("name", flat=True))


def test_files_and_directories_are_loaded(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    written(tmp_path / "more", "b.json", saying("b"))
    one = written(tmp_path, "a.json", saying("a"))
    assert said("load_scenarios", one, str(tmp_path / "more")) == "a: new\nb: new\n"
    assert said("load_scenarios", one) == "a: replaced\n"
    assert names() == ["a", "b"]


def test_files_of_a_directory_in_another_form_are_told(tmp_path: Path) -> None:
    written(tmp_path, "a.json", saying("a"))
    (tmp_path / "b.yaml").write_text("name: b")
    line = f"{tmp_path / 'b.yaml'}: passed over, {NOT_JSON}\n"
    assert said("load_scenarios", str(tmp_path)) == f"{line}a: new\n"
    assert line in said("check_scenarios", str(tmp_path))
    assert failed("check_scenarios", "--strict", str(tmp_path)).startswith(line)


def test_a_dry_run_loads_nothing(tmp_path: Path) -> None:
    path = written(tmp_path, "a.json", saying("a"))
    assert said("load_scenarios", path, "--dry-run") == "a: 1 steps, not loaded\n"
    assert names() == []


@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
def test_every_error_names_its_file_and_place_and_nothing_is_loaded(
    tmp_path: Path, dry: list[str]
) -> None:
    good = written(tmp_path, "good.json", saying("good"))
    bad = written(
        tmp_path, "bad.json", saying("bad", "{{ nobody }}"), {"name": "worse", "step": []}
    )
    (tmp_path / "broken.json").write_text("{")
    lines = failed("load_scenarios", good, bad, str(tmp_path / "broken.json"), *dry).splitlines()
    assert any(
        re.match(rf"{bad}:\d+:\d+: scenarios\[1\].step: unknown key", line) for line in lines
    )
    assert any(line.startswith(f"{tmp_path}/broken.json:1:2: not valid JSON") for line in lines)
    assert names() == []


def test_a_path_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    assert str(tmp_path / "none.json") in failed("load_scenarios", str(tmp_path / "none.json"))


def test_exported_document_loads_to_the_same_rows(tmp_path: Path) -> None:
    load(read_files([written(tmp_path, "a.json", saying("a"), saying("b", "été"))]))
    before = [dump(document_of(row)) for row in Scenario.objects.all()]
    target = tmp_path / "exported.json"
    assert said("export_scenarios", "--output", str(target)) == f"{target}: scenarios written: 2\n"
    assert "été" in target.read_text(encoding="utf-8")
    Scenario.objects.all().delete()
    said("load_scenarios", str(target))
    assert [dump(document_of(row)) for row in Scenario.objects.all()] == before


def test_one_scenario_is_exported_as_it_is(tmp_path: Path) -> None:
    load(read_files([written(tmp_path, "a.json", saying("a"), saying("b"))]))
    assert json.loads(said("export_scenarios", "b")) == saying("b")
    assert json.loads(said("export_scenarios", "b", "a")) == {
        "scenarios": [saying("b"), saying("a")]
    }


def test_an_unknown_name_is_an_error() -> None:
    assert failed("export_scenarios", "nobody") == "nobody: there is no scenario of this name"


def test_a_broken_row_is_not_exported_and_hinders_no_other(tmp_path: Path) -> None:
    load(read_files([written(tmp_path, "a.json", saying("a"), saying("b"))]))
    Step.objects.filter(scenario__name="a").update(jitter=5.0)
    assert failed("export_scenarios").startswith("a: steps[0].produce.pacing.jitter: ")
    assert json.loads(said("export_scenarios", "b")) == saying("b")


def test_a_file_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    assert "cannot be written" in failed("export_scenarios", "--output", str(tmp_path))


def test_a_fixture_updates_its_rows_in_place(tmp_path: Path) -> None:
    documents = read_files([written(tmp_path, "a.json", saying("a"), saying("b", "x"))])
    load(documents)
    target = tmp_path / "rows.json"
    said("export_scenarios", "--format", "fixture", "--output", str(target))
    rows = list(Step.objects.values_list("pk", "scenario_id"))
    Step.objects.update(answer_text="edited", counter="edited")
    call_command("loaddata", str(target), verbosity=0)
    assert list(Step.objects.values_list("pk", "scenario_id")) == rows
    assert [dump(document_of(row)) for row in Scenario.objects.order_by("name")] == [
        dump(document) for document in documents
    ]


def test_documents_become_a_fixture_without_the_database(tmp_path: Path) -> None:
    path = written(tmp_path, "a.json", saying("a"))
    rows = json.loads(said("export_scenarios", "--from", path, "--format", "fixture"))
    assert rows == [
        {"model": "scenarios_app.scenario", "fields": {"name": "a"}},
        {
            "model": "scenarios_app.step",
            "fields": {"scenario": ["a"], "order": 1, "answer_text": "Hi."},
        },
    ]


def test_files_without_problems_pass_the_check(tmp_path: Path) -> None:
    path = written(tmp_path, "a.json", saying("a"), saying("b"))
    assert said("check_scenarios", path) == "no problems; scenarios: 2, steps: 2\n"


def test_each_problem_of_files_is_a_line(tmp_path: Path) -> None:
    path = written(tmp_path, "a.json", saying("a", "{{ x }}"), saying("b", "{{ y }}"))
    *problems, summary = failed("check_scenarios", path).splitlines()
    assert [problem.rpartition(": ")[0] for problem in problems] == [
        f"{path}:1:53: scenarios[0].steps[0].produce.text",
        f"{path}:1:113: scenarios[1].steps[0].produce.text",
    ]
    assert summary == "problems found: 2"


def test_problems_of_files_are_printed_as_json(tmp_path: Path) -> None:
    path = written(tmp_path, "a.json", saying("a", "{{ x }}"))
    out = StringIO()
    with pytest.raises(CommandError, match="problems found: 1"):
        call_command("check_scenarios", path, "--json", stdout=out)
    place, message = "scenarios[0].steps[0].produce.text", "unknown name in {{ x }}"
    problem = {"source": path, "line": 1, "column": 53, "place": place, "message": message}
    assert json.loads(out.getvalue()) == {
        "problems": [problem],
        "warnings": [],
        "scenarios": 0,
        "steps": 0,
    }


def test_result_without_problems_is_printed_as_json(tmp_path: Path) -> None:
    load(read_files([written(tmp_path, "a.json", saying("a"))]))
    assert json.loads(said("check_scenarios", "--json"))["scenarios"] == 1
    Step.objects.update(answer_text="{{ x }}")
    out = StringIO()
    with pytest.raises(CommandError):
        call_command("check_scenarios", "--json", stdout=out)
    (problem,) = json.loads(out.getvalue())["problems"]
    assert (problem["scenario"], problem["step"], problem["place"]) == ("a", 1, "produce.text")


def test_schema_is_printed_and_has_an_example_for_every_key() -> None:
    schema = json.loads(said("schema"))
    assert schema == json.loads(said("schema", "scenario"))
    assert schema["$id"] == "urn:mockllm:schema:scenario:1"
    assert "examples" in schema["$defs"]["StepDocument"]["properties"]["match"]
    with pytest.raises(CommandError, match="invalid choice: 'nothing'"):
        call_command("schema", "nothing")


def test_the_database_is_checked_with_its_disabled_scenarios(tmp_path: Path) -> None:
    load(read_files([written(tmp_path, "a.json", saying("a"), saying("b"))]))
    assert said("check_scenarios") == "no problems; scenarios: 2, steps: 2\n"
    Scenario.objects.filter(name="b").update(enabled=False)
    Step.objects.filter(scenario__name="b").update(answer_text="{{ x }}")
    problem, summary = failed("check_scenarios").splitlines()
    assert problem.startswith("b: step 1: produce.text: ")
    assert summary == "problems found: 1"
