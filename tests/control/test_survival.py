"""Results of fault sweeps at the control API."""

from typing import Any

import pytest

from scenarios_app.models import FaultResult
from scenarios_app.verdict.fault_kinds import KINDS
from scenarios_app.verdict.survival import version_of
from tests.control.control_client import Control, chat, error_of, scenario, text_step

GREETING = scenario(
    "greeting",
    text_step("Hi.", name="hello", match={"messages": ["Hello"]}, consume=False),
    text_step("Bye.", name="bye", match={"messages": ["Bye"]}, consume=False),
)


@pytest.fixture
def greeting(control: Control) -> Control:
    control.post("scenarios", GREETING)
    return control


def current_version(control: Control, name: str = "greeting") -> str:
    return version_of(control.get(f"scenarios/{name}").json())


def store_results(
    control: Control, *cells: tuple[str, str, str], **versions: str
) -> dict[str, Any]:
    keys = ("step", "kind", "outcome")
    body = {
        "versions": versions or {"greeting": current_version(control)},
        "cells": [dict(zip(keys, cell, strict=True)) for cell in cells],
    }
    response = control.post("coverage/faults", body)
    assert response.status_code == 200, response.content
    counts: dict[str, Any] = response.json()
    return counts


def get_survival(control: Control, **query: str) -> dict[str, Any]:
    response = control.get("coverage/faults", **query)
    assert response.status_code == 200, response.content
    report: dict[str, Any] = response.json()
    return report


def outcomes(control: Control, step: int = 0) -> dict[str, str]:
    faults = get_survival(control, scenarios="greeting")["scenarios"][0]["steps"][step]["faults"]
    return {kind: outcome for kind, outcome in faults.items() if outcome}


def test_stored_results_are_counted(greeting: Control) -> None:
    cells = [("greeting/hello", "stall", "survived"), ("greeting/bye", "reset", "wrong")]
    assert store_results(greeting, *cells) == {"stored": 2, "skipped": []}
    report = get_survival(greeting)
    assert (report["survived"], report["faults"], report["percent"]) == (1, 30, 3.3)
    assert report["text"].startswith("fault coverage: 3.3 %, 1 of 30 faults survived, 1 wrong")
    assert (outcomes(greeting), outcomes(greeting, 1)) == (
        {"stall": "survived"},
        {"reset": "wrong"},
    )


def test_faults_of_a_step_are_the_kinds_that_its_answer_can_have(greeting: Control) -> None:
    greeting.put("changes", {"changes": []})
    chat("Hello")
    (answer,) = greeting.get("changes").json()["answers"]
    faults = get_survival(greeting)["scenarios"][0]["steps"][0]["faults"]
    assert list(faults) == [kind.name for kind in KINDS if kind.applies(answer)]
    greeting.delete("changes")


def test_later_results_replace_earlier_ones_and_add_to_them(greeting: Control) -> None:
    store_results(
        greeting, ("greeting/hello", "stall", "hung"), ("greeting/hello", "reset", "wrong")
    )
    store_results(greeting, ("greeting/hello", "stall", "survived"))
    assert outcomes(greeting) == {"stall": "survived", "reset": "wrong"}


def test_results_of_a_changed_scenario_do_not_count_until_the_next_sweep(greeting: Control) -> None:
    store_results(greeting, ("greeting/hello", "stall", "survived"))
    greeting.post("scenarios/greeting/steps", text_step("Sure.", match={"messages": ["Please"]}))
    report = get_survival(greeting)
    assert (report["survived"], report["scenarios"][0]["outdated"]) == (0, 1)
    store_results(greeting, ("greeting/hello", "reset", "survived"))
    report = get_survival(greeting)
    assert (report["survived"], report["scenarios"][0]["outdated"]) == (1, 0)
    assert FaultResult.objects.count() == 1


def test_results_of_other_versions_and_unknown_scenarios_are_skipped(greeting: Control) -> None:
    cells = [("greeting/hello", "stall", "survived"), ("gone/1", "stall", "survived")]
    assert store_results(greeting, *cells, greeting="other", gone="v") == {
        "stored": 0,
        "skipped": [
            {"scenario": "gone", "reason": "this server does not have it"},
            {"scenario": "greeting", "reason": "it has changed since the sweep"},
        ],
    }
    assert not FaultResult.objects.exists()


@pytest.mark.parametrize("step", ["gone", "3", "x" * 1_000])
def test_results_of_a_step_that_the_scenario_does_not_have_are_skipped(
    greeting: Control, step: str
) -> None:
    answer = store_results(greeting, (f"greeting/{step}", "stall", "survived"))
    assert answer["stored"] == 0
    assert answer["skipped"] == [{"scenario": "greeting", "reason": f"it has no step “{step}”"}]


def test_more_scenarios_than_a_query_may_name_are_answered(greeting: Control) -> None:
    names = [f"gone-{number}" for number in range(2_000)]
    cells = [(f"{name}/1", "stall", "survived") for name in names]
    answer = store_results(greeting, *cells, **dict.fromkeys(names, "v"))
    assert len(answer["skipped"]) == 2_000


def test_catch_all_and_disabled_scenarios_have_no_faults(greeting: Control) -> None:
    greeting.put("scenarios/greeting", {**GREETING, "enabled": False})
    greeting.put(
        "scenarios/test-mode", scenario("test-mode", {"produce": {"generate": {"kind": "lorem"}}})
    )
    assert get_survival(greeting)["faults"] == 0


@pytest.mark.parametrize(
    ("cell", "field"),
    [
        ({"step": "greeting/hello", "kind": "stal", "outcome": "wrong"}, "cells.0.kind"),
        ({"step": "greeting/hello", "kind": "stall", "outcome": "fine"}, "cells.0.outcome"),
        ({"kind": "stall", "outcome": "wrong"}, "cells.0.step"),
        ({"step": "greeting/\0", "kind": "stall", "outcome": "wrong"}, "cells.0.step"),
    ],
)
def test_cell_with_an_error_is_named(greeting: Control, cell: Any, field: str) -> None:
    response = greeting.post("coverage/faults", {"versions": {"greeting": "v"}, "cells": [cell]})
    assert error_of(response) == (400, "VALIDATION_ERROR", field)


def test_unknown_scenario_in_the_query_is_404(greeting: Control) -> None:
    response = greeting.get("coverage/faults", scenarios="nobody")
    assert error_of(response) == (404, "NOT_FOUND", "scenarios")
    assert get_survival(greeting, scenarios="*")["faults"] == 30
