"""The bulk action that sets latency and failures of many scenarios."""

from typing import Any

import pytest
from django.test import Client

from scenarios_app.catalog import catalog
from scenarios_app.models import Scenario, Step
from scenarios_app.store.history import versions_of
from tests.admin.pages import LIST, create_scenario, inputs_of

pytestmark = pytest.mark.django_db


def post_bulk_action(client: Client, *scenarios: Scenario, **fields: Any) -> Any:
    selected_keys = [scenario.pk for scenario in scenarios]
    form_data = {"action": "set_on_steps", "_selected_action": selected_keys, **fields}
    return client.post(LIST, form_data, follow=True)


def test_bulk_page_names_the_selected_scenarios(root: Client) -> None:
    scenario_one, scenario_two = create_scenario("one", {}), create_scenario("two", {})
    page = post_bulk_action(root, scenario_one, scenario_two).content.decode()
    assert "On every step of 2 scenarios" in page
    assert {inputs_of(step)["produce.latency_ms"] for step in Step.objects.all()} == {None}


def test_latency_is_set_on_every_step_of_the_selected_scenarios(root: Client) -> None:
    scenario_one, scenario_two = create_scenario("one", {}, {}), create_scenario("two", {})
    create_scenario("other", {})
    post_bulk_action(root, scenario_one, scenario_two, apply="1", latency_ms="250")
    steps = Step.objects.select_related("scenario")
    latencies = [(step.scenario.name, inputs_of(step)["produce.latency_ms"]) for step in steps]
    assert sorted(latencies, key=str) == [
        ("one", 250),
        ("one", 250),
        ("other", None),
        ("two", 250),
    ]
    assert len(versions_of(scenario_one)) == 2


def test_failures_are_set_and_removed_in_bulk(root: Client) -> None:
    scenario_one = create_scenario("one", {})
    post_bulk_action(root, scenario_one, apply="1", failure="rate_limit", times="3")
    failures = catalog.index().by_name["one"].steps[0].failures
    assert failures is not None
    assert (failures.times, failures.fault.kind) == (3, "rate_limit")
    post_bulk_action(root, scenario_one, apply="1", failure="none")
    assert catalog.index().by_name["one"].steps[0].failures is None


@pytest.mark.parametrize("kind", ["none", "rate_limit"])
def test_failures_with_their_own_values_are_replaced_in_bulk(root: Client, kind: str) -> None:
    values = {
        "failures.fault.status": 503,
        "failures.fault.message": "busy",
        "failures.fault.retry_after_ms": 5,
    }
    scenario_one = create_scenario(
        "one", {"failures.times": 2, "failures.fault.kind": "http", **values}
    )
    assert (
        "Set on 1 steps"
        in post_bulk_action(root, scenario_one, apply="1", failure=kind).content.decode()
    )
    failures = catalog.index().by_name["one"].steps[0].failures
    assert (failures and failures.fault.kind) == (None if kind == "none" else kind)


def test_empty_bulk_fields_change_nothing(root: Client) -> None:
    scenario_one = create_scenario("one", {"produce.latency_ms": 7})
    page = post_bulk_action(root, scenario_one, apply="1", latency_ms="", failure="")
    assert "Set on 0 steps" in page.content.decode()
    assert scenario_one.steps.get().document["produce"]["latency_ms"] == 7


@pytest.mark.parametrize("latency", ["-1", "600001", "long"])
def test_too_long_latency_is_an_error_at_its_field(root: Client, latency: str) -> None:
    scenario_one = create_scenario("one", {})
    page = post_bulk_action(root, scenario_one, apply="1", latency_ms=latency)
    assert list(page.context["form"].errors) == ["latency_ms"]
    assert "latency_ms" not in scenario_one.steps.get().document["produce"]


def test_invalid_scenario_prevents_the_whole_bulk_change(root: Client) -> None:
    valid_scenario = create_scenario("a fine one", {})
    invalid_scenario = create_scenario("broken", {"produce.text": "{{ nobody }}"})
    page = post_bulk_action(
        root, valid_scenario, invalid_scenario, apply="1", latency_ms="5"
    ).content.decode()
    assert "Nothing was changed" in page
    assert {inputs_of(step)["produce.latency_ms"] for step in Step.objects.all()} == {None}


def test_reader_cannot_set_values_in_bulk(reader: Client) -> None:
    scenario_one = create_scenario("one", {})
    post_bulk_action(reader, scenario_one, apply="1", latency_ms="5")
    assert "latency_ms" not in scenario_one.steps.get().document["produce"]
