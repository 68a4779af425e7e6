"""The commands load_scenarios, export_scenarios and check_scenarios."""

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
from tests.state.catalogs import answer

pytestmark = pytest.mark.django_db


def text_scenario(name: str, text: str = "Hi.") -> dict[str, Any]:
    return {"name": name, "steps": [{"produce": {"text": text}}]}


def write_scenarios(folder: Path, name: str, *documents: dict[str, Any]) -> str:
    path = folder / name
    path.write_text(json.dumps({"scenarios": documents}))
    return str(path)


def run_command(*command: str) -> str:
    """Run a command and return its output."""
    output = StringIO()
    call_command(*command, stdout=output, stderr=output)
    return output.getvalue()


def run_failing_command(*command: str) -> str:
    """Run a command that fails, and return its output with the error message."""
    output = StringIO()
    with pytest.raises(CommandError) as error:
        call_command(*command, stdout=output, stderr=output)
    assert error.value.returncode == 1
    return output.getvalue() + str(error.value)


def scenario_names() -> list[str]:
    return list(Scenario.objects.order_by("name").values_list("name", flat=True))


def test_files_and_directories_are_loaded(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    write_scenarios(tmp_path / "more", "b.json", text_scenario("b"))
    file = write_scenarios(tmp_path, "a.json", text_scenario("a"))
    assert run_command("load_scenarios", file, str(tmp_path / "more")) == "a: new\nb: new\n"
    assert run_command("load_scenarios", file) == "a: replaced\n"
    assert scenario_names() == ["a", "b"]


def test_files_of_another_format_in_a_directory_are_reported(tmp_path: Path) -> None:
    write_scenarios(tmp_path, "a.json", text_scenario("a"))
    (tmp_path / "b.yaml").write_text("name: b")
    line = f"{tmp_path / 'b.yaml'}: passed over, {NOT_JSON}\n"
    assert run_command("load_scenarios", str(tmp_path)) == f"{line}a: new\n"
    assert line in run_command("check_scenarios", str(tmp_path))
    assert run_failing_command("check_scenarios", "--strict", str(tmp_path)).startswith(line)


def test_a_dry_run_loads_nothing(tmp_path: Path) -> None:
    path = write_scenarios(tmp_path, "a.json", text_scenario("a"))
    assert run_command("load_scenarios", path, "--dry-run") == "a: 1 steps, not loaded\n"
    assert scenario_names() == []


@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
def test_every_error_names_its_file_and_place_and_nothing_is_loaded(
    tmp_path: Path, dry: list[str]
) -> None:
    good = write_scenarios(tmp_path, "good.json", text_scenario("good"))
    bad = write_scenarios(
        tmp_path, "bad.json", text_scenario("bad", "{{ nobody }}"), {"name": "worse", "step": []}
    )
    (tmp_path / "broken.json").write_text("{")
    lines = run_failing_command(
        "load_scenarios", good, bad, str(tmp_path / "broken.json"), *dry
    ).splitlines()
    assert any(
        re.match(rf"{bad}:\d+:\d+: scenarios\[1\].step: unknown key", line) for line in lines
    )
    assert any(line.startswith(f"{tmp_path}/broken.json:1:2: not valid JSON") for line in lines)
    assert scenario_names() == []


def test_missing_path_is_an_error(tmp_path: Path) -> None:
    assert str(tmp_path / "none.json") in run_failing_command(
        "load_scenarios", str(tmp_path / "none.json")
    )


def test_exported_document_loads_to_the_same_rows(tmp_path: Path) -> None:
    load(
        read_files(
            [write_scenarios(tmp_path, "a.json", text_scenario("a"), text_scenario("b", "été"))]
        )
    )
    before = [dump(document_of(row)) for row in Scenario.objects.all()]
    target = tmp_path / "exported.json"
    assert (
        run_command("export_scenarios", "--output", str(target))
        == f"{target}: scenarios written: 2\n"
    )
    assert "été" in target.read_text(encoding="utf-8")
    Scenario.objects.all().delete()
    run_command("load_scenarios", str(target))
    assert [dump(document_of(row)) for row in Scenario.objects.all()] == before


def test_one_scenario_is_exported_as_it_is(tmp_path: Path) -> None:
    load(read_files([write_scenarios(tmp_path, "a.json", text_scenario("a"), text_scenario("b"))]))
    assert json.loads(run_command("export_scenarios", "b")) == text_scenario("b")
    assert json.loads(run_command("export_scenarios", "b", "a")) == {
        "scenarios": [text_scenario("b"), text_scenario("a")]
    }


def test_an_unknown_name_is_an_error() -> None:
    assert (
        run_failing_command("export_scenarios", "nobody")
        == "nobody: there is no scenario of this name"
    )


def test_invalid_row_is_not_exported_and_does_not_affect_others(tmp_path: Path) -> None:
    load(read_files([write_scenarios(tmp_path, "a.json", text_scenario("a"), text_scenario("b"))]))
    Step.objects.filter(scenario__name="a").update(document=answer("Hi.", turn=0))
    assert run_failing_command("export_scenarios").startswith("a: steps[0].turn: ")
    assert json.loads(run_command("export_scenarios", "b")) == text_scenario("b")


def test_a_file_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    assert "cannot be written" in run_failing_command("export_scenarios", "--output", str(tmp_path))


def test_a_fixture_updates_its_rows_in_place(tmp_path: Path) -> None:
    documents = read_files(
        [write_scenarios(tmp_path, "a.json", text_scenario("a"), text_scenario("b", "x"))]
    )
    load(documents)
    target = tmp_path / "rows.json"
    run_command("export_scenarios", "--format", "fixture", "--output", str(target))
    rows = list(Step.objects.values_list("pk", "scenario_id"))
    Step.objects.update(document=answer("edited"))
    call_command("loaddata", str(target), verbosity=0)
    assert list(Step.objects.values_list("pk", "scenario_id")) == rows
    assert [dump(document_of(row)) for row in Scenario.objects.order_by("name")] == [
        dump(document) for document in documents
    ]


def test_documents_are_exported_as_a_fixture_without_the_database(tmp_path: Path) -> None:
    path = write_scenarios(tmp_path, "a.json", text_scenario("a"))
    rows = json.loads(run_command("export_scenarios", "--from", path, "--format", "fixture"))
    assert rows == [
        {"model": "scenarios_app.scenario", "fields": {"name": "a"}},
        {
            "model": "scenarios_app.step",
            "fields": {"scenario": ["a"], "order": 1, "document": answer("Hi.")},
        },
    ]


def test_files_without_problems_pass_the_check(tmp_path: Path) -> None:
    path = write_scenarios(tmp_path, "a.json", text_scenario("a"), text_scenario("b"))
    assert run_command("check_scenarios", path) == "no problems; scenarios: 2, steps: 2\n"


def test_each_problem_of_files_is_a_line(tmp_path: Path) -> None:
    path = write_scenarios(
        tmp_path, "a.json", text_scenario("a", "{{ x }}"), text_scenario("b", "{{ y }}")
    )
    *problems, summary = run_failing_command("check_scenarios", path).splitlines()
    assert [problem.rpartition(": ")[0] for problem in problems] == [
        f"{path}:1:53: scenarios[0].steps[0].produce.text",
        f"{path}:1:113: scenarios[1].steps[0].produce.text",
    ]
    assert summary == "problems found: 2"


def test_problems_of_files_are_printed_as_json(tmp_path: Path) -> None:
    path = write_scenarios(tmp_path, "a.json", text_scenario("a", "{{ x }}"))
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
    load(read_files([write_scenarios(tmp_path, "a.json", text_scenario("a"))]))
    assert json.loads(run_command("check_scenarios", "--json"))["scenarios"] == 1
    Step.objects.update(document=answer("{{ x }}"))
    out = StringIO()
    with pytest.raises(CommandError):
        call_command("check_scenarios", "--json", stdout=out)
    (problem,) = json.loads(out.getvalue())["problems"]
    assert (problem["scenario"], problem["step"], problem["place"]) == ("a", 1, "produce.text")


def test_schema_is_printed_and_has_an_example_for_every_key() -> None:
    schema = json.loads(run_command("schema"))
    assert schema == json.loads(run_command("schema", "scenario"))
    assert schema["$id"] == "urn:mockllm:schema:scenario:1"
    assert "examples" in schema["$defs"]["StepDocument"]["properties"]["match"]
    with pytest.raises(CommandError, match="invalid choice: 'nothing'"):
        call_command("schema", "nothing")


def test_disabled_scenarios_are_checked(tmp_path: Path) -> None:
    load(read_files([write_scenarios(tmp_path, "a.json", text_scenario("a"), text_scenario("b"))]))
    assert run_command("check_scenarios") == "no problems; scenarios: 2, steps: 2\n"
    Scenario.objects.filter(name="b").update(enabled=False)
    Step.objects.filter(scenario__name="b").update(document=answer("{{ x }}"))
    problem, summary = run_failing_command("check_scenarios").splitlines()
    assert problem.startswith("b: step 1: produce.text: ")
    assert summary == "problems found: 1"
