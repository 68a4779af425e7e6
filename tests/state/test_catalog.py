"""The catalog has the last committed scenarios, and compiles only what changed."""

import ast
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.core.management import call_command
from django.db import transaction
from pytest_django import DjangoAssertNumQueries

from scenarios_app import catalog as catalog_module
from scenarios_app.catalog import catalog
from scenarios_app.catalog import snapshot as snapshot_module
from scenarios_app.engine.scenario import ScriptedAnswer
from scenarios_app.models import Scenario, Step
from scenarios_app.models.changes import CatalogQuerySet
from tests.state.catalogs import answer, catalog_names, create_scenario
from tests.support.database_engine import on_sqlite

pytestmark = pytest.mark.django_db(transaction=True)
ROOT = Path(__file__).resolve().parents[2]


def answer_text(name: str) -> str:
    """Return the text with which the first step of a scenario answers."""
    script = catalog.index().by_name[name].steps[0].produce.non_streaming
    assert isinstance(script, ScriptedAnswer)
    return "".join(getattr(part, "text", "") for part in script.choices[0].parts)


CHANGES: dict[str, Callable[[], object]] = {
    "save": lambda: Scenario(pk=Scenario.objects.get(name="b").pk, name="b", enabled=False).save(),
    "deleted row": lambda: Scenario.objects.get(name="b").delete(),
    "update": lambda: Scenario.objects.filter(name="b").update(enabled=False),
    "bulk_update": lambda: Scenario.objects.bulk_update(
        [Scenario(pk=Scenario.objects.get(name="b").pk, enabled=False)], ["enabled"]
    ),
    "delete": lambda: Scenario.objects.filter(name="b").delete(),
    "discard": lambda: (
        Step.objects.filter(scenario__name="b").discard(),
        Scenario.objects.filter(name="b").discard(),
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_next_request_sees_a_change_by_any_method(
    change: Callable[[], object],
) -> None:
    for name in "ab":
        create_scenario(name)
    assert catalog_names() == {"a", "b"}
    change()
    assert catalog_names() == {"a"}


def test_next_request_sees_rows_of_a_bulk_create() -> None:
    assert catalog_names() == set()
    (scenario,) = Scenario.objects.bulk_create([Scenario(name="a")])
    Step.objects.bulk_create([Step(scenario=scenario, order=1, document=answer("Hi."))])
    assert answer_text("a") == "Hi."


STEP_CHANGES: dict[str, Callable[[Step], object]] = {
    "save": lambda step: step.save(),
    "save some": lambda step: step.save(update_fields=["document"]),
    "update": lambda step: Step.objects.filter(pk=step.pk).update(document=step.document),
    "related update": lambda step: step.scenario.steps.update(document=step.document),
    "bulk_update": lambda step: Step.objects.bulk_update([step], ["document"]),
}


@pytest.mark.parametrize("change", STEP_CHANGES.values(), ids=STEP_CHANGES)
def test_edited_step_has_its_new_answer_and_its_old_key(
    change: Callable[[Step], object],
) -> None:
    create_scenario()
    before = catalog.index().by_name["weather"]
    step = Step.objects.get()
    step.document = answer("Rain.")
    change(step)
    assert answer_text("weather") == "Rain."
    assert catalog.index().by_name["weather"].steps[0].key == before.steps[0].key


def test_a_step_that_moves_changes_both_scenarios() -> None:
    create_scenario()
    other_scenario = create_scenario(name="other")
    assert catalog_names() == {"weather", "other"}
    Step.objects.filter(scenario__name="weather").update(scenario=other_scenario)
    by_name = catalog.index().by_name
    assert (len(by_name["weather"].steps), len(by_name["other"].steps)) == (0, 2)


def test_deleted_step_is_removed_from_the_catalog() -> None:
    scenario = create_scenario()
    assert answer_text("weather") == "Sunny."
    scenario.steps.get().delete()
    assert catalog.index().by_name["weather"].steps == ()


def test_transaction_causes_one_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    assert catalog_names() == set()
    snapshots: list[int] = []
    take_snapshot = snapshot_module.take_snapshot
    monkeypatch.setattr(
        catalog_module,
        "take_snapshot",
        lambda previous: (snapshots.append(1), take_snapshot(previous))[1],
    )
    with transaction.atomic():
        for number in range(5):
            create_scenario(str(number))
    assert len(catalog_names()) == 5
    assert len(snapshots) == 1


def test_rolled_back_change_is_not_in_the_catalog() -> None:
    create_scenario()
    index = catalog.index()
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        create_scenario("rolled back")
        raise ZeroDivisionError
    assert catalog.index() is index


def test_a_change_after_a_savepoint_that_was_rolled_back_is_seen() -> None:
    assert catalog_names() == set()
    with transaction.atomic():
        with pytest.raises(ZeroDivisionError), transaction.atomic():
            create_scenario("rolled back")
            raise ZeroDivisionError
        create_scenario("kept")
    assert catalog_names() == {"kept"}


def test_an_open_transaction_is_not_seen_before_its_end() -> None:
    assert catalog_names() == set()
    with transaction.atomic():
        create_scenario("a")
        assert catalog_names() == set()
    assert catalog_names() == {"a"}


def test_edit_compiles_only_its_scenario(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    for number in range(20):
        create_scenario(str(number))
    before = catalog.index().by_name
    Step.objects.filter(scenario__name="7").update(document=answer("New."))
    after = catalog.index().by_name
    assert {name for name in after if after[name] is not before[name]} == {"7"}
    with django_assert_num_queries(3):
        catalog.reload()


def test_request_needs_no_query(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    create_scenario()
    with django_assert_num_queries(0):
        assert catalog_names() == {"weather"}
        assert catalog.problems == ()


async def test_the_first_request_may_come_on_an_event_loop() -> None:
    await Scenario.objects.acreate(name="a")
    catalog.forget()
    assert catalog_names() == {"a"}


def test_disabled_scenario_is_not_in_the_catalog() -> None:
    create_scenario(enabled=False)
    assert catalog_names() == set()


def test_emptied_tables_are_seen() -> None:
    create_scenario()
    assert catalog_names() == {"weather"}
    call_command("flush", verbosity=0, interactive=False)
    assert catalog_names() == set()


@on_sqlite
def test_a_database_in_memory_is_not_polled() -> None:
    catalog.start()
    assert catalog._poller is None
    catalog.stop()


def test_every_write_of_catalog_rows_is_announced() -> None:
    """Every manager announces its bulk methods, and no module bypasses the managers."""
    for model in (Scenario, Step):
        for manager in model._meta.managers:
            assert isinstance(manager.get_queryset(), CatalogQuerySet), manager
    for package in ("mockllm_site", "scenarios_app", "chat_app", "traces_app"):
        for module in (ROOT / package).rglob("*.py"):
            if module != ROOT / "scenarios_app" / "models" / "changes.py":
                attribute_names = {
                    node.attr
                    for node in ast.walk(ast.parse(module.read_text()))
                    if isinstance(node, ast.Attribute)
                }
                assert not attribute_names & {
                    "_base_manager",
                    "_raw_delete",
                    "_insert",
                    "_update",
                } - ({"_insert"} if module.parent.name == "journal" else set()), module


def test_every_bulk_method_of_django_is_covered() -> None:
    """A new bulk method sends no signals and would have to be announced."""
    changing = {name for name in dir(CatalogQuerySet) if name.startswith(("bulk", "update"))}
    assert changing == {"bulk_create", "bulk_update", "update", "update_or_create"}


@pytest.mark.parametrize(
    ("name", "is_shared"),
    [
        ("/srv/agent-memory/db.sqlite3", True),
        (Path("/srv/memory.sqlite3"), True),
        (":memory:", False),
        ("file:mockllm?mode=memory&cache=shared", False),
        ("file:/mockllm?vfs=memdb", False),
    ],
)
def test_database_in_memory_is_distinguished_from_a_file_with_memory_in_its_path(
    monkeypatch: pytest.MonkeyPatch, name: object, is_shared: bool
) -> None:
    database = SimpleNamespace(vendor="sqlite", settings_dict={"NAME": name})
    with monkeypatch.context() as patch:
        patch.setattr(snapshot_module, "connection", database)
        assert snapshot_module.can_be_shared() is is_shared
