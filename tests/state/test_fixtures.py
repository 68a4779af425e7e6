"""The shipped fixtures: found by name, the same as the shipped documents, and valid."""

import json
from pathlib import Path

import pytest
from django.core.management import call_command

from mockllm_site.paths import FIXTURES, SCENARIOS
from scenarios_app.catalog import catalog
from scenarios_app.engine.document import dump
from scenarios_app.engine.document.files import read_files
from scenarios_app.models import Scenario
from scenarios_app.store import document_of
from scenarios_app.store.documents import fixture_json
from tests.state import cases

# Fixtures of scenarios; profiles are not documents.
NAMES = sorted({path.stem for path in FIXTURES.glob("*.json")} - {"profiles"})
REMAKE = (
    "made by: manage.py export_scenarios --from examples/scenarios/{0}.json"
    " --format fixture --output fixtures/{0}.json"
)


def documents(name: str) -> dict[str, object]:
    return {d.name: dump(d) for d in read_files([SCENARIOS / f"{name}.json"])}


def test_each_document_has_its_fixture() -> None:
    assert {"demo", "openai_tool_calls", "anthropic_tool_use"} <= set(NAMES)
    assert {path.stem for path in SCENARIOS.glob("*.json")} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_fixture_is_what_export_makes_of_the_document(name: str) -> None:
    made = fixture_json(read_files([SCENARIOS / f"{name}.json"]))
    assert json.loads((FIXTURES / f"{name}.json").read_text()) == made, REMAKE.format(name)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", NAMES)
def test_loading_a_fixture_twice_gives_the_document_once(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        call_command("loaddata", name, verbosity=0)
    assert {row.name: dump(document_of(row)) for row in Scenario.objects.all()} == documents(name)
    assert set(catalog.index().by_name) == set(documents(name))
    assert catalog.problems == ()


@pytest.mark.django_db(transaction=True)
def test_a_test_case_with_a_fixture_sees_its_scenarios() -> None:
    assert cases.run(cases.FixtureCase) == 1
    assert catalog.index().by_name == {}
