"""Loading documents: all or none of them, and replacement of existing scenarios."""

import json
from typing import Any

import pytest
from django.db import DatabaseError
from pytest_django import DjangoAssertNumQueries

from scenarios_app.engine.document import DocumentError, ScenarioDocument, dump, load_documents
from scenarios_app.models import Revision, Scenario, Step
from scenarios_app.models.revisions import RevisionQuerySet
from scenarios_app.store import document_of
from scenarios_app.store.documents import Loaded, load
from tests.state.catalogs import answer

pytestmark = pytest.mark.django_db


def make_documents(*sources: dict[str, Any] | str) -> list[ScenarioDocument]:
    """Load documents; a string stands for a scenario of that name which answers with it."""
    data = [
        {"name": source, "steps": [{"produce": {"text": source or "-"}}]}
        if isinstance(source, str)
        else source
        for source in sources
    ]
    return load_documents({"scenarios": data})


def text_scenario(name: str, *texts: str) -> dict[str, Any]:
    return {"name": name, "steps": [{"produce": {"text": text}} for text in texts]}


def scenario_names() -> list[str]:
    return list(Scenario.objects.order_by("name").values_list("name", flat=True))


def step_keys(name: str) -> list[str]:
    return list(Step.objects.filter(scenario__name=name).values_list("key", flat=True))


def test_new_scenarios_are_created_and_others_stay() -> None:
    load(make_documents("a"))
    assert load(make_documents("c", "b")) == Loaded(created=("c", "b"), replaced=())
    assert scenario_names() == ["a", "b", "c"]


def test_scenario_of_the_same_name_is_replaced_completely() -> None:
    load(make_documents({**text_scenario("a", "1", "2", "3"), "priority": 5, "tags": ["old"]}))
    created_scenario = Scenario.objects.get()
    (document,) = make_documents({**text_scenario("a", "4"), "description": "new"})
    assert load([document]) == Loaded(created=(), replaced=("a",))
    scenario = Scenario.objects.get()
    assert dump(document_of(scenario)) == dump(document)
    assert (scenario.pk, scenario.created_at) == (created_scenario.pk, created_scenario.created_at)


@pytest.mark.parametrize("text", ["same", "other"])
def test_steps_of_a_replaced_scenario_have_new_keys(text: str) -> None:
    load(make_documents(text_scenario("a", "same")))
    (before,) = step_keys("a")
    load(make_documents(text_scenario("a", text)))
    (after,) = step_keys("a")
    assert after != before


def test_a_replaced_scenario_has_a_new_version() -> None:
    load(make_documents(text_scenario("a", "same")))
    before = Scenario.objects.get().version
    load(make_documents(text_scenario("a", "same")))
    assert Scenario.objects.get().version != before


def test_reload_of_the_same_document_adds_no_history() -> None:
    for _ in range(3):
        load(make_documents(text_scenario("a", "same")))
    revision = Revision.objects.get()
    # Keys are new after each load; the revision has those of the stored steps.
    assert revision.step_keys == step_keys("a")


@pytest.mark.parametrize("value", [True, 1.0])
def test_number_that_becomes_a_value_of_another_type_is_a_change(value: object) -> None:
    def document_with_argument(argument: object) -> ScenarioDocument:
        call = {"name": "f", "arguments": {"a": argument}}
        return make_documents({"name": "a", "steps": [{"produce": {"tool_calls": [call]}}]})[0]

    load([document_with_argument(1)])
    load([document_with_argument(value)])
    assert json.dumps(dump(document_of(Scenario.objects.get()))) == json.dumps(
        dump(document_with_argument(value))
    )


def test_history_has_the_replaced_values_of_a_load() -> None:
    load(make_documents({**text_scenario("a", "old"), "priority": 1}))
    load(make_documents({**text_scenario("a", "new"), "priority": 2}))
    documents = [revision.document for revision in Revision.objects.of(Scenario.objects.get())]
    assert documents == [
        {**text_scenario("a", "old"), "priority": 1},
        {**text_scenario("a", "new"), "priority": 2},
    ]


def test_invalid_row_is_replaced_by_a_load() -> None:
    load(make_documents("a"))
    Step.objects.update(document=["no object"])
    load(make_documents("a"))
    assert document_of(Scenario.objects.get()).steps[0].produce.text == "a"


def test_documents_of_one_name_are_merged() -> None:
    (first,) = make_documents(text_scenario("a", "1"))
    (second,) = make_documents(text_scenario("a", "2"))
    assert load([first, second]) == Loaded(created=("a",), replaced=())
    assert [step.document for step in Step.objects.all()] == [answer("1"), answer("2")]


def test_contradictory_merge_loads_nothing() -> None:
    (first,) = make_documents({**text_scenario("a", "1"), "priority": 1})
    (second,) = make_documents({**text_scenario("a", "2"), "priority": 2})
    with pytest.raises(DocumentError, match="priority"):
        load([*make_documents("other"), first, second])
    assert scenario_names() == []


def test_load_without_replace_rejects_existing_names() -> None:
    load(make_documents("a", "b"))
    with pytest.raises(DocumentError) as error:
        load(make_documents("b", "c", "a"), replace=False)
    assert [str(problem) for problem in error.value.problems] == [
        "b: a scenario of this name exists",
        "a: a scenario of this name exists",
    ]
    assert scenario_names() == ["a", "b"]


def test_failed_load_is_rolled_back(monkeypatch: pytest.MonkeyPatch) -> None:
    load(make_documents("a"))

    def fail(*rows: object) -> None:
        if Scenario.objects.filter(name="b").exists():
            raise DatabaseError

    monkeypatch.setattr(RevisionQuerySet, "bulk_create", fail)
    with pytest.raises(DatabaseError):
        load(make_documents(text_scenario("a", "changed"), "b"))
    assert scenario_names() == ["a"]
    assert Step.objects.get().document == answer("a")


def test_a_step_order_is_kept_and_counts_from_one() -> None:
    load(make_documents(text_scenario("a", "x", "y", "z")))
    steps = Step.objects.values_list("order", "document")
    assert list(steps) == [(1, answer("x")), (2, answer("y")), (3, answer("z"))]


def test_a_document_without_steps_can_be_loaded_twice() -> None:
    for _ in range(2):
        load(make_documents({"name": "empty"}))
    assert document_of(Scenario.objects.get()).steps == []


def test_many_documents_take_few_queries(
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    documents = make_documents(*(text_scenario(f"{number}", "one", "two") for number in range(100)))
    with django_assert_max_num_queries(120):
        load(documents)
    assert Step.objects.count() == 200
