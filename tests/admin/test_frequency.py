"""Form fields for the frequency and the failures of a step are stored in its row."""

import pytest
from django.test import Client

from scenarios_app.admin.editor.frequency import ALWAYS, ONCE, shown_when
from scenarios_app.engine.producing.faults import FAULT_KINDS
from scenarios_app.models import Scenario, Step
from scenarios_app.store import document_of
from tests.admin.pages import (
    ADD,
    create_scenario,
    error_lines,
    fields_at,
    inputs_of,
    new_step,
    page_of,
    save,
)

pytestmark = pytest.mark.django_db

FAILURES = ("-failures.", "-produce.fault.")


def choice(client: Client, scenario: Scenario) -> str:
    return fields_at(client, page_of(scenario))["steps-0-consume"]


@pytest.mark.parametrize("frequency", [ALWAYS, ONCE])
def test_each_frequency_is_stored_and_shown_again(root: Client, frequency: str) -> None:
    scenario = create_scenario("one", {"consume": frequency == ALWAYS})
    save(root, scenario, **{"steps-0-consume": frequency})
    assert scenario.steps.get().document.get("consume", True) == (frequency == ONCE)
    assert choice(root, scenario) == frequency


def test_new_step_answers_every_time(root: Client) -> None:
    form_data = fields_at(root, ADD) | {"name": "fresh", "steps-TOTAL_FORMS": "1"}
    step_fields = new_step(0, {"produce.text": "Hi!"})
    del step_fields["steps-0-consume"]
    assert root.post(ADD, form_data | step_fields).status_code == 302
    assert Step.objects.get().document["consume"] is False


def test_unposted_failure_fields_are_emptied(root: Client) -> None:
    failing = {"failures.times": 3, "failures.fault.kind": "http", "failures.fault.status": 503}
    fault = {
        "produce.fault.kind": "stall",
        "produce.fault.hold_ms": 5,
        "produce.fault.*": {"message": "late"},
    }
    scenario = create_scenario("one", {**failing, "failures.fault.*": {"code": "busy"}, **fault})
    form_data = fields_at(root, page_of(scenario))
    # Browsers do not post disabled fields.
    remaining = {
        name: form_data[name] for name in form_data if not any(part in name for part in FAILURES)
    }
    assert root.post(page_of(scenario), remaining).status_code == 302
    (step,) = document_of(scenario).steps or ()
    assert (step.failures, step.produce.fault if step.produce else None) == (None, None)
    assert scenario.steps.get().document == {"produce": {"text": "answer 1"}}


def test_failure_type_without_a_status_empties_the_status(root: Client) -> None:
    scenario = create_scenario(
        "one", {"produce.fault.kind": "http", "produce.fault.status": 503, "produce.text": ""}
    )
    form_data = fields_at(root, page_of(scenario)) | {"steps-0-produce.fault.kind": "rate_limit"}
    del form_data["steps-0-produce.fault.status"]
    assert root.post(page_of(scenario), form_data).status_code == 302
    assert inputs_of(scenario.steps.get())["produce.fault.status"] is None


def test_failure_type_without_a_number_fails_the_first_request(root: Client) -> None:
    scenario = create_scenario("one", {})
    assert save(root, scenario, **{"steps-0-failures.fault.kind": "timeout"}).status_code == 302
    assert scenario.steps.get().document["failures"]["times"] == 1


def test_failures_without_a_type_are_shown_as_model_error_and_stay_unchanged(root: Client) -> None:
    scenario = create_scenario("one", {"failures.times": 2})
    assert fields_at(root, page_of(scenario))["steps-0-failures.fault.kind"] == "model_error"
    assert save(root, scenario, description="changed").status_code == 302
    assert scenario.steps.get().document["failures"] == {"times": 2}
    save(root, scenario, **{"steps-0-failures.fault.message": "Busy."})
    assert inputs_of(scenario.steps.get())["failures.fault.kind"] == "model_error"


@pytest.mark.parametrize("kind", FAULT_KINDS)
def test_save_keeps_failures_in_both_places(root: Client, kind: str) -> None:
    required = {"status": 503} if kind == "http" else {}
    columns: dict[str, object] = {
        "failures.fault.kind": kind,
        "produce.fault.kind": kind,
        "failures.times": 2,
    }
    for prefix in ("failures.fault", "produce.fault"):
        columns |= {f"{prefix}.{key}": value for key, value in required.items()}
    columns["produce.text"] = "text" if FAULT_KINDS[kind].inside else ""
    scenario = create_scenario("one", columns)
    before = document_of(scenario).steps
    assert save(root, scenario, description="changed").status_code == 302
    assert document_of(Scenario.objects.get()).steps == before


@pytest.mark.parametrize(
    ("columns", "line"),
    [
        (
            {"failures.fault.kind": "http", "failures.times": 2, "failures.fault.status": 429},
            "first 2 requests: HTTP error 429",
        ),
        ({"failures.times": 1}, "first request: model error (500)"),
        ({"produce.fault.kind": "disconnect"}, "always: connection closed inside the answer"),
        (
            {
                "failures.fault.kind": "timeout",
                "failures.times": 1,
                "produce.fault.kind": "truncate",
            },
            "first request: timeout (no answer) · always: stream without [DONE]",
        ),
    ],
)
def test_folded_group_summarises_the_failures(
    root: Client, columns: dict[str, object], line: str
) -> None:
    scenario = create_scenario("one", columns)
    assert f">{line}</span>" in root.get(page_of(scenario)).content.decode()


def test_scenario_selected_by_name_has_no_once(root: Client) -> None:
    scenario = create_scenario("talk", {"turn": 1}, select="first_user_message")
    assert choice(root, scenario) == ALWAYS
    assert b"once per session</span>" not in root.get(page_of(scenario)).content
    assert save(root, scenario, description="changed").status_code == 302
    assert "consume" not in scenario.steps.get().document
    response = save(root, scenario, **{"steps-0-consume": ONCE})
    assert error_lines(response) == [
        "Step 1, Can answer: A scenario that is selected by its name answers every time."
    ]


def test_stored_value_without_effect_stays_visible() -> None:
    # A hidden field would not be posted, so its value would be lost.
    kind, place = {"produce.fault.kind": "http"}, "produce.fault.after_chunks"
    assert "'http'" in shown_when(place, {**kind, place: 1}.get)
    assert "'http'" not in shown_when(place, kind.get)


def test_stored_json_without_a_type_stays_visible() -> None:
    for place, choice in (("produce.fault.*", "fault"), ("failures.fault.*", "failing")):
        assert shown_when(place, {place: '{"code": "x"}'}.get) == ""
        assert shown_when(place, {}.get) == choice
