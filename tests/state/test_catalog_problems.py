"""Rows that cannot be used, and a database that fails: what was good goes on."""

from typing import Any

import pytest
from django.db import OperationalError

from scenarios_app import catalog as catalog_module
from scenarios_app.catalog import Catalog, catalog
from scenarios_app.catalog import snapshot as snapshot_module
from scenarios_app.store import RowProblem
from tests.state.catalogs import names, one

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_invalid_row_is_left_out_and_reported(caplog: pytest.LogCaptureFixture) -> None:
    good = one(name="good")
    bad = one(name="bad")
    bad.steps.create(order=2, answer_text="{{ nobody }}", jitter=3.0)
    assert names() == {"good"}
    places = {(p.scenario, p.step, p.place) for p in catalog.problems}
    assert ("bad", 2, "produce.pacing.jitter") in places
    assert str(catalog.problems[0]) in caplog.text
    assert good.steps.count() == 1
    bad.steps.filter(order=2).update(answer_text="Hi.", jitter=None)
    assert names() == {"good", "bad"}
    assert catalog.problems == ()


def test_a_problem_of_the_whole_scenario_names_no_step() -> None:
    one(tags=["rain", 1])
    (problem,) = catalog.problems
    assert (problem.scenario, problem.step, problem.place) == ("weather", None, "tags[1]")
    assert str(problem) == f"weather: tags[1]: {problem.message}"


def test_a_problem_reads_as_one_line() -> None:
    problem = RowProblem("weather", 2, "produce.text", "expected a string")
    assert str(problem) == "weather: step 2: produce.text: expected a string"


def test_a_row_that_cannot_be_compiled_does_not_take_others_with_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    compile_scenario = snapshot_module.compile_scenario

    def fail(document: Any, **keys: Any) -> Any:
        if document.name == "bad":
            raise RuntimeError("our own mistake")
        return compile_scenario(document, **keys)

    monkeypatch.setattr(snapshot_module, "compile_scenario", fail)
    one(name="good")
    one(name="bad")
    assert names() == {"good"}
    (problem,) = catalog.problems
    assert problem.message == "cannot be compiled: our own mistake"
    assert "our own mistake" in caplog.text


def test_a_database_that_fails_leaves_the_last_good_snapshot(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    one()
    index = catalog.index()

    def fail(known: object) -> None:
        raise OperationalError("gone")

    monkeypatch.setattr(catalog_module, "take_snapshot", fail)
    one("later")
    assert catalog.index() is index
    assert "catalog: could not be read" in caplog.text
    with pytest.raises(OperationalError):
        Catalog().reload()


def test_a_change_in_the_middle_of_reading_is_read_too(monkeypatch: pytest.MonkeyPatch) -> None:
    one()
    number = snapshot_module.catalog_number
    reads = iter(range(100))

    def moving() -> int | None:
        if next(reads) == 1:
            one("in between")
        return number()

    monkeypatch.setattr(snapshot_module, "catalog_number", moving)
    snapshot = snapshot_module.take_snapshot({})
    assert set(snapshot.index.by_name) == {"weather", "in between"}
    assert snapshot.number == number()
