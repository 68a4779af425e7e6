"""Documents and rows: conversion without loss, in the order of keys in which they were written."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from scenarios_app.engine.document import (
    DocumentError,
    ScenarioDocument,
    compile_scenario,
    dump,
    load_documents,
)
from scenarios_app.models import Draft, Revision, Scenario, Step
from scenarios_app.store import (
    document_of,
    own_document,
    rows_of,
    save_document,
    set_own_document,
    split_document,
)
from tests.state import documents
from tests.state.catalogs import answer
from tests.support.hypothesis_profiles import example_count

# Keys in another order than that of the format, defaults, and short forms.
WRITTEN: list[dict[str, Any]] = [
    {"name": "a"},
    {"name": "a", "steps": []},
    {"$schema": "scenario.json", "version": 1, "name": "a", "enabled": True, "priority": 0},
    {"tags": ["x"], "name": "a", "select": "match", "description": "", "steps": [answer("1")]},
    {"priority": 3.0, "steps": [answer("1")], "name": "a", "variables": {"b": 1, "a": 2}},
    {
        "name": "a",
        "steps": [{"produce": {"usage": {}, "text": "\0 é"}, "match": {}, "consume": True}],
        "user": {"turns": [{"say": "Hello"}]},
    },
]


def load_one(data: object) -> ScenarioDocument:
    (document,) = load_documents(data)
    return document


def stored(scenario: Scenario) -> str:
    """Return the exported JSON of a stored scenario."""
    return json.dumps(dump(document_of(Scenario.objects.get(pk=scenario.pk))))


@settings(max_examples=example_count(200), deadline=None)
@given(documents.documents)
def test_unsaved_rows_convert_back_to_the_document(source: ScenarioDocument) -> None:
    scenario, steps = rows_of(source)
    again = document_of(scenario, steps)
    assert dump(again) == dump(source)
    assert compile_scenario(again) == compile_scenario(source)


@pytest.mark.django_db
@settings(
    max_examples=example_count(40),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(documents.documents)
def test_stored_rows_convert_back_to_the_document(source: ScenarioDocument) -> None:
    assert stored(save_document(source)) == json.dumps(dump(source))


@pytest.mark.django_db
@pytest.mark.parametrize("data", WRITTEN)
def test_export_gives_back_what_was_written(data: dict[str, Any]) -> None:
    assert stored(save_document(load_one(data))) == json.dumps(data)


@pytest.mark.django_db
def test_document_written_in_another_way_replaces_the_stored_one() -> None:
    for data in ({"name": "a", "tags": ["x"]}, {"tags": ["x"], "name": "a"}):
        scenario = save_document(load_one(data))
        assert stored(scenario) == json.dumps(data)
    assert Revision.objects.of(scenario).count() == 2


@pytest.mark.parametrize("data", [{"id": "a", "turns": []}, [WRITTEN[3], WRITTEN[3]]])
def test_converted_and_merged_documents_are_exported_in_the_shortest_form(data: Any) -> None:
    document = load_one(data)
    assert json.dumps(dump(document)) == json.dumps(document.dump_shortest())


def test_copy_with_other_values_is_not_the_document_as_written() -> None:
    document = load_one({"enabled": True, "name": "a"})
    assert dump(document.model_copy(update={"name": "b"})) == {"name": "b"}
    assert document == load_one({"name": "a"}) != document.model_copy(update={"name": "b"})


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({}, {"description": "d", "enabled": False, "name": "a"}),
        ({"enabled": True}, {"description": "d", "name": "a"}),
        ({"name": "b"}, {"description": "d", "enabled": False, "name": "b"}),
        ({"tags": ["x"]}, {"description": "d", "enabled": False, "name": "a", "tags": ["x"]}),
    ],
)
def test_changed_column_is_newer_than_the_document(
    columns: dict[str, Any], expected: dict[str, Any]
) -> None:
    scenario = Scenario()
    set_own_document(scenario, {"description": "d", "enabled": False, "name": "a"})
    for name, value in columns.items():
        setattr(scenario, name, value)
    assert json.dumps(own_document(scenario)) == json.dumps(expected)


@pytest.mark.parametrize("model", [Scenario, Draft])
def test_row_without_a_document_has_its_name(model: Any) -> None:
    assert own_document(model(name="a")) == {"name": "a"}


def test_draft_keeps_invalid_values() -> None:
    own: Any = {"priority": "high", "name": "a", "tags": 1}
    draft = Draft()
    set_own_document(draft, own)
    assert (draft.name, own_document(draft)) == ("a", own)


@pytest.mark.parametrize(
    ("scenario", "steps", "place"),
    [
        (Scenario(name="a", document=[]), [], "document"),
        (Scenario(name="a", document={"scenarios": []}), [], "scenarios"),
        (Scenario(name="a", document={"priority": 1}, tags="x"), [], "tags"),
        (Scenario(name="a"), [Step(document=["wrong"])], "steps[0]"),
        (Scenario(name="a"), [Step()], "steps[0].produce"),
        (Scenario(name="a"), [Step(document=answer("{{ nobody }}"))], "steps[0].produce.text"),
    ],
)
def test_invalid_rows_name_the_place(scenario: Scenario, steps: list[Step], place: str) -> None:
    with pytest.raises(DocumentError) as error:
        document_of(scenario, steps)
    assert error.value.place == place


def test_steps_in_a_scenarios_own_part_are_ignored() -> None:
    scenario = Scenario(name="a", document={"steps": [answer("no row")], "name": "a"})
    assert document_of(scenario, []).steps == []


@pytest.mark.parametrize("data", WRITTEN)
def test_split_document_keeps_the_place_of_steps(data: dict[str, Any]) -> None:
    own, steps = split_document(data)
    assert json.dumps({**own, "steps": steps} if "steps" in data else own) == json.dumps(data)
