"""The shipped fixtures: equal to the shipped documents, and valid."""

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
from tests.state import django_cases

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
