"""Invalid rows and database errors leave the valid part of the catalog in use."""

from typing import Any

import pytest
from django.db import OperationalError

from scenarios_app import catalog as catalog_module
from scenarios_app.catalog import Catalog, catalog
from scenarios_app.catalog import snapshot as snapshot_module
from scenarios_app.store import RowProblem
from tests.state.catalogs import answer, catalog_names, create_scenario

pytestmark = pytest.mark.django_db(transaction=True)


def test_invalid_row_is_omitted_and_reported(caplog: pytest.LogCaptureFixture) -> None:
    valid_scenario = create_scenario(name="good")
    invalid_scenario = create_scenario(name="bad")
    invalid_scenario.steps.create(order=2, document=answer("Hi.", turn=0))
    assert catalog_names() == {"good"}
    places = {(p.scenario, p.step, p.place) for p in catalog.problems}
    assert ("bad", 2, "turn") in places
    assert str(catalog.problems[0]) in caplog.text
    assert valid_scenario.steps.count() == 1
    invalid_scenario.steps.filter(order=2).update(document=answer("Hi."))
    assert catalog_names() == {"good", "bad"}
    assert catalog.problems == ()


def test_problem_of_a_scenario_has_no_step() -> None:
    create_scenario(tags=["rain", 1])
    (problem,) = catalog.problems
    assert (problem.scenario, problem.step, problem.place) == ("weather", None, "tags[1]")
    assert str(problem) == f"weather: tags[1]: {problem.message}"


def test_a_problem_reads_as_one_line() -> None:
    problem = RowProblem("weather", 2, "produce.text", "expected a string")
    assert str(problem) == "weather: step 2: produce.text: expected a string"


def test_row_that_cannot_be_compiled_does_not_affect_others(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    compile_scenario = snapshot_module.compile_scenario

    def fail(document: Any, **keys: Any) -> Any:
        if document.name == "bad":
            raise RuntimeError("our own mistake")
        return compile_scenario(document, **keys)

    monkeypatch.setattr(snapshot_module, "compile_scenario", fail)
    create_scenario(name="good")
    create_scenario(name="bad")
    assert catalog_names() == {"good"}
    (problem,) = catalog.problems
    assert problem.message == "cannot be compiled: our own mistake"
    assert "our own mistake" in caplog.text


def test_database_error_keeps_the_last_valid_snapshot(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    create_scenario()
    index = catalog.index()

    def fail(previous: object) -> None:
        raise OperationalError("gone")

    monkeypatch.setattr(catalog_module, "take_snapshot", fail)
    create_scenario("later")
    assert catalog.index() is index
    assert "catalog: could not be read" in caplog.text
    with pytest.raises(OperationalError):
        Catalog().reload()


def test_change_during_a_read_is_read_too(monkeypatch: pytest.MonkeyPatch) -> None:
    create_scenario()
    catalog_number = snapshot_module.catalog_number
    reads = iter(range(100))

    def number_changed_while_reading() -> int | None:
        if next(reads) == 1:
            create_scenario("in between")
        return catalog_number()

    monkeypatch.setattr(snapshot_module, "catalog_number", number_changed_while_reading)
    snapshot = snapshot_module.take_snapshot({})
    assert set(snapshot.index.by_name) == {"weather", "in between"}
    assert snapshot.number == catalog_number()
