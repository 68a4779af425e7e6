"""Fixtures of scenarios: those shipped, rows as people write them, and errors in them."""

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from mockllm_site.paths import FIXTURES, SCENARIOS
from scenarios_app.catalog import catalog
from scenarios_app.engine.document import dump
from scenarios_app.engine.document.files import read_files
from scenarios_app.models import Draft, Scenario, Step
from scenarios_app.store import document_of
from scenarios_app.store.documents import fixture_json
from tests.state import django_cases
from tests.state.catalogs import answer

# Fixtures of scenarios; profiles are not documents.
FIXTURE_NAMES = sorted({path.stem for path in FIXTURES.glob("*.json")} - {"profiles"})
REMAKE = (
    "made by: manage.py export_scenarios --from examples/scenarios/{0}.json"
    " --format fixture --output fixtures/{0}.json"
)


def dumped_documents(name: str) -> dict[str, object]:
    return {d.name: dump(d) for d in read_files([SCENARIOS / f"{name}.json"])}


def test_each_document_has_its_fixture() -> None:
    assert {"demo", "openai_tool_calls", "anthropic_tool_use"} <= set(FIXTURE_NAMES)
    assert {path.stem for path in SCENARIOS.glob("*.json")} == set(FIXTURE_NAMES)


@pytest.mark.parametrize("name", FIXTURE_NAMES)
def test_fixture_equals_the_exported_document(name: str) -> None:
    exported = fixture_json(read_files([SCENARIOS / f"{name}.json"]))
    assert json.loads((FIXTURES / f"{name}.json").read_text()) == exported, REMAKE.format(name)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", FIXTURE_NAMES)
def test_loading_a_fixture_twice_gives_the_document_once(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        call_command("loaddata", name, verbosity=0)
    assert {row.name: dump(document_of(row)) for row in Scenario.objects.all()} == dumped_documents(
        name
    )
    assert set(catalog.index().by_name) == set(dumped_documents(name))
    assert catalog.problems == ()


@pytest.mark.django_db(transaction=True)
def test_a_test_case_with_a_fixture_sees_its_scenarios() -> None:
    assert django_cases.run_case(django_cases.FixtureCase) == 1
    assert catalog.index().by_name == {}


def scenario_row(**fields: Any) -> dict[str, Any]:
    return {"model": "scenarios_app.scenario", "fields": {"name": "order desk", **fields}}


def step_row(**fields: Any) -> dict[str, Any]:
    place = {"scenario": ["order desk"], "order": 1}
    return {"model": "scenarios_app.step", "fields": place | fields}


def load_rows(folder: Path, *rows: dict[str, Any], suffix: str = "json") -> None:
    """Load a fixture; YAML reads JSON too."""
    file = folder / f"rows.{suffix}"
    lines = "".join(f"{json.dumps(row)}\n" for row in rows)
    file.write_text(lines if suffix == "jsonl" else json.dumps(rows))
    call_command("loaddata", str(file), verbosity=0)


FORMER_ROWS = (
    scenario_row(description="Old.", extra={"variables": {"a": 1}}),
    step_row(match_user="Hello", match_user_mode="equals", answer_text="Hi."),
)
FORMER_DOCUMENT = {
    "name": "order desk",
    "description": "Old.",
    "variables": {"a": 1},
    "steps": [
        {"match": {"messages": [{"role": "user", "equals": "Hello"}]}, "produce": {"text": "Hi."}}
    ],
}


@pytest.mark.django_db
@pytest.mark.parametrize("suffix", ["json", "jsonl", "yaml"])
def test_rows_hold_documents_as_they_are_written(tmp_path: Path, suffix: str) -> None:
    own = {"tags": ["a"], "priority": 0, "variables": {"z": 1, "b": 2}, "$schema": "x.json"}
    step = answer("Hi.", consume=True, match={})
    load_rows(tmp_path, scenario_row(**own), step_row(document=step), suffix=suffix)
    scenario = Scenario.objects.get()
    expected = {"name": "order desk", **own, "steps": [step]}
    assert json.dumps(dump(document_of(scenario))) == json.dumps(expected)
    assert scenario.tags == ["a"]


@pytest.mark.django_db
def test_columns_of_a_row_with_a_document_come_from_it(tmp_path: Path) -> None:
    load_rows(tmp_path, scenario_row(document={"priority": 5, "tags": ["a"]}, tags=["b"]))
    scenario = Scenario.objects.get()
    assert (scenario.priority, scenario.tags) == (5, ["b"])
    assert dump(document_of(scenario)) == {"name": "order desk", "priority": 5, "tags": ["b"]}


@pytest.mark.django_db
@pytest.mark.parametrize("suffix", ["json", "jsonl", "yaml"])
def test_rows_with_former_columns_load_with_a_warning(tmp_path: Path, suffix: str) -> None:
    with pytest.warns(FutureWarning, match="the last that loads rows with columns") as caught:
        load_rows(tmp_path, *FORMER_ROWS, suffix=suffix)
    assert [warning.filename for warning in caught] == [str(tmp_path / f"rows.{suffix}")]
    assert dump(document_of(Scenario.objects.get())) == FORMER_DOCUMENT


@pytest.mark.django_db(transaction=True)
def test_fixture_of_a_test_case_may_have_former_columns(tmp_path: Path) -> None:
    file = tmp_path / "former.json"
    file.write_text(json.dumps(FORMER_ROWS))

    class FormerCase(django_cases.TestCase):
        fixtures = (str(file),)

        def test_document(self) -> None:
            assert dump(document_of(Scenario.objects.get())) == FORMER_DOCUMENT

    with pytest.warns(FutureWarning, match="columns"):
        assert django_cases.run_case(FormerCase) == 1


@pytest.mark.django_db
def test_a_draft_in_a_fixture_may_be_invalid(tmp_path: Path) -> None:
    row = {"model": "scenarios_app.draft", "fields": {"name": "a", "key": "k", "priority": "high"}}
    load_rows(tmp_path, row)
    draft = Draft.objects.get(key="k")
    assert (draft.name, draft.document) == ("a", {"name": "a", "priority": "high"})


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        (
            [scenario_row(priority="high")],
            "order desk: priority: expected a whole number from -2147483647 to 2147483647",
        ),
        (
            [scenario_row(priorty=1)],
            'order desk: priorty: unknown key, did you mean "priority"?',
        ),
        (
            [scenario_row(steps=[answer("x")])],
            "order desk: steps: expected a row of scenarios_app.step for each",
        ),
        ([scenario_row(document=[])], "a scenario: expected an object"),
        (
            [scenario_row(), step_row(match={})],
            "scenario ['order desk'], order 1: match: expected in the field document",
        ),
        ([scenario_row(), step_row(document=[])], "order desk: step 1: expected an object"),
        ([scenario_row(), step_row()], "order desk: step 1: produce: missing"),
        (
            [scenario_row(), step_row(document=answer("{{ nobody }}"))],
            "order desk: step 1: produce.text: unknown name in {{ nobody }}",
        ),
    ],
)
def test_error_of_a_fixture_names_file_scenario_step_and_place(
    tmp_path: Path, rows: list[dict[str, Any]], problem: str
) -> None:
    with pytest.raises(CommandError) as error:
        load_rows(tmp_path, *rows)
    message = str(error.value)
    assert f"{tmp_path}/rows.json" in message
    assert message.endswith(f": {problem}")
    assert not Scenario.objects.exists()


@pytest.mark.django_db
def test_error_of_a_fixture_lists_a_few_problems(tmp_path: Path) -> None:
    rows = [step_row(order=n, document=answer("{{ nobody }}")) for n in range(7)]
    with pytest.raises(CommandError, match=r"step 1: .*; order desk: step 5: .*; 2 more$"):
        load_rows(tmp_path, scenario_row(), *rows)


@pytest.mark.django_db
def test_shipped_fixtures_load_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call_command("loaddata", *FIXTURE_NAMES, verbosity=0)
    assert Step.objects.count() > 20
