"""Loading documents: all of them or none, and what replaces what."""

import json
from typing import Any

import pytest
from django.db import DatabaseError
from pytest_django import DjangoAssertNumQueries

from scenarios_app import store as rows_module
from scenarios_app.engine.document import DocumentError, ScenarioDocument, dump, load_documents
from scenarios_app.models import Scenario, Step
from scenarios_app.store import document_of
from scenarios_app.store.documents import Loaded, load

pytestmark = pytest.mark.django_db


def documents(*given: dict[str, Any] | str) -> list[ScenarioDocument]:
    """Documents, or names of scenarios that say their name."""
    whole = [
        {"name": one, "steps": [{"produce": {"text": one or "-"}}]} if isinstance(one, str) else one
        for one in given
    ]
    return load_documents({"scenarios": whole})


def saying(name: str, *texts: str) -> dict[str, Any]:
    return {"name": name, "steps": [{"produce": {"text": text}} for text in texts]}


def names() -> list[str]:
    return list(Scenario.objects.order_by("name").values_list("name", flat=True))


def keys(name: str) -> list[str]:
    return list(Step.objects.filter(scenario__name=name).values_list("key", flat=True))


def test_new_scenarios_are_created_and_others_stay() -> None:
    load(documents("a"))
    assert load(documents("c", "b")) == Loaded(created=("c", "b"), replaced=())
    assert names() == ["a", "b", "c"]


def test_a_scenario_of_the_same_name_is_replaced_whole() -> None:
    load(documents({**saying("a", "1", "2", "3"), "priority": 5, "tags": ["old"]}))
    created = Scenario.objects.get()
    (new,) = documents({**saying("a", "4"), "description": "new"})
    assert load([new]) == Loaded(created=(), replaced=("a",))
    stored = Scenario.objects.get()
    assert dump(document_of(stored)) == dump(new)
    assert (stored.pk, stored.created_at) == (created.pk, created.created_at)


@pytest.mark.parametrize("text", ["same", "other"])
def test_a_replaced_scenario_s_steps_have_new_identities(text: str) -> None:
    load(documents(saying("a", "same")))
    (before,) = keys("a")
    load(documents(saying("a", text)))
    (after,) = keys("a")
    assert after != before


def test_a_replaced_scenario_has_a_new_version() -> None:
    load(documents(saying("a", "same")))
    before = Scenario.objects.get().version
    load(documents(saying("a", "same")))
    assert Scenario.objects.get().version != before


def test_the_same_document_again_is_no_entry_in_the_history() -> None:
    for _ in range(3):
        load(documents(saying("a", "same")))
    assert [entry.history_type for entry in Scenario.history.all()] == ["+"]
    assert [entry.history_type for entry in Step.history.all()] == ["+"]


@pytest.mark.parametrize("value", [True, 1.0])
def test_number_that_becomes_a_value_of_another_type_is_a_change(value: object) -> None:
    def calling(argument: object) -> ScenarioDocument:
        call = {"name": "f", "arguments": {"a": argument}}
        return documents({"name": "a", "steps": [{"produce": {"tool_calls": [call]}}]})[0]

    load([calling(1)])
    load([calling(value)])
    assert json.dumps(dump(document_of(Scenario.objects.get()))) == json.dumps(dump(calling(value)))


def test_the_history_tells_what_a_load_replaced() -> None:
    load(documents({**saying("a", "old"), "priority": 1}))
    load(documents({**saying("a", "new"), "priority": 2}))
    scenarios = Scenario.history.order_by("history_id").values_list("history_type", "priority")
    steps = Step.history.order_by("history_id").values_list("history_type", "answer_text")
    assert list(scenarios) == [("+", 1), ("~", 2)]
    assert list(steps) == [("+", "old"), ("-", "old"), ("+", "new")]


def test_a_row_that_was_broken_by_hand_is_replaced_too() -> None:
    load(documents("a"))
    Step.objects.update(answer_extra=["no object"])
    load(documents("a"))
    assert document_of(Scenario.objects.get()).steps[0].produce.text == "a"


def test_documents_of_one_name_are_merged() -> None:
    (first,) = documents(saying("a", "1"))
    (second,) = documents(saying("a", "2"))
    assert load([first, second]) == Loaded(created=("a",), replaced=())
    assert [step.answer_text for step in Step.objects.all()] == ["1", "2"]


def test_a_merge_that_contradicts_itself_loads_nothing() -> None:
    (first,) = documents({**saying("a", "1"), "priority": 1})
    (second,) = documents({**saying("a", "2"), "priority": 2})
    with pytest.raises(DocumentError, match="priority"):
        load([*documents("other"), first, second])
    assert names() == []


def test_names_that_are_taken_can_be_refused() -> None:
    load(documents("a", "b"))
    with pytest.raises(DocumentError) as raised:
        load(documents("b", "c", "a"), replace=False)
    assert [str(problem) for problem in raised.value.problems] == [
        "b: a scenario of this name exists",
        "a: a scenario of this name exists",
    ]
    assert names() == ["a", "b"]


def test_failed_load_is_rolled_back(monkeypatch: pytest.MonkeyPatch) -> None:
    load(documents("a"))

    def fail(*rows: object) -> None:
        if Scenario.objects.filter(name="b").exists():
            raise DatabaseError

    monkeypatch.setattr(rows_module, "add_history", fail)
    with pytest.raises(DatabaseError):
        load(documents(saying("a", "changed"), "b"))
    assert names() == ["a"]
    assert Step.objects.get().answer_text == "a"


def test_a_step_order_is_kept_and_counts_from_one() -> None:
    load(documents(saying("a", "x", "y", "z")))
    stored = Step.objects.values_list("order", "answer_text")
    assert list(stored) == [(1, "x"), (2, "y"), (3, "z")]


def test_a_document_without_steps_can_be_loaded_twice() -> None:
    for _ in range(2):
        load(documents({"name": "empty"}))
    assert document_of(Scenario.objects.get()).steps == []


def test_many_documents_take_few_queries(
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    many = documents(*(saying(f"{number}", "one", "two") for number in range(100)))
    with django_assert_max_num_queries(120):
        load(many)
    assert Step.objects.count() == 200
