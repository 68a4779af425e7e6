"""Form fields for the frequency and the failures of a step are stored in its row."""

import pytest
from django.test import Client

from scenarios_app.admin.editor.forms import StepForm
from scenarios_app.admin.editor.frequency import ALWAYS, ONCE, shown_when
from scenarios_app.engine.producing.faults import FAULT_KINDS
from scenarios_app.models import Scenario, Step
from scenarios_app.store import document_of
from tests.admin.pages import ADD, create_scenario, error_lines, fields_at, new_step, page_of, save

pytestmark = pytest.mark.django_db

FAILURES = ("-failures_", "-fault_")


def choice(client: Client, scenario: Scenario) -> str:
    return fields_at(client, page_of(scenario))["steps-0-consume"]


@pytest.mark.parametrize("frequency", [ALWAYS, ONCE])
def test_each_frequency_is_stored_and_shown_again(root: Client, frequency: str) -> None:
    scenario = create_scenario("one", {"consume": frequency == ALWAYS})
    save(root, scenario, **{"steps-0-consume": frequency})
    assert scenario.steps.get().consume == (frequency == ONCE)
    assert choice(root, scenario) == frequency


def test_new_step_answers_every_time(root: Client) -> None:
    form_data = fields_at(root, ADD) | {"name": "fresh", "steps-TOTAL_FORMS": "1"}
    step_fields = new_step(0, answer_text="Hi!")
    del step_fields["steps-0-consume"]
    assert root.post(ADD, form_data | step_fields).status_code == 302
    assert Step.objects.get().consume is False


def test_unposted_failure_fields_are_emptied(root: Client) -> None:
    failing = {"failures_times": 3, "failures_kind": "http", "failures_status": 503}
    fault = {"fault_kind": "stall", "fault_hold_ms": 5, "fault_extra": {"message": "late"}}
    scenario = create_scenario("one", {**failing, "failures_extra": {"code": "busy"}, **fault})
    form_data = fields_at(root, page_of(scenario))
    # Browsers do not post disabled fields.
    remaining = {
        name: form_data[name] for name in form_data if not any(part in name for part in FAILURES)
    }
    assert root.post(page_of(scenario), remaining).status_code == 302
    (step,) = document_of(scenario).steps or ()
    assert (step.failures, step.produce.fault if step.produce else None) == (None, None)
    row = scenario.steps.get()
    assert (row.failures_extra, row.fault_extra, row.fault_hold_ms) == ({}, {}, None)


def test_failure_type_without_a_status_empties_the_status(root: Client) -> None:
    scenario = create_scenario(
        "one", {"fault_kind": "http", "fault_status": 503, "answer_text": ""}
    )
    form_data = fields_at(root, page_of(scenario)) | {"steps-0-fault_kind": "rate_limit"}
    del form_data["steps-0-fault_status"]
    assert root.post(page_of(scenario), form_data).status_code == 302
    assert scenario.steps.get().fault_status is None


def test_failure_type_without_a_number_fails_the_first_request(root: Client) -> None:
    scenario = create_scenario("one", {})
    assert save(root, scenario, **{"steps-0-failures_kind": "timeout"}).status_code == 302
    assert scenario.steps.get().failures_times == 1


def test_failures_without_a_type_are_shown_as_model_error_and_stay_unchanged(root: Client) -> None:
    scenario = create_scenario("one", {"failures_times": 2})
    assert fields_at(root, page_of(scenario))["steps-0-failures_kind"] == "model_error"
    assert save(root, scenario, description="changed").status_code == 302
    assert scenario.steps.get().failures_kind == ""
    save(root, scenario, **{"steps-0-failures_message": "Busy."})
    assert scenario.steps.get().failures_kind == "model_error"


@pytest.mark.parametrize("kind", FAULT_KINDS)
def test_save_keeps_failures_in_both_places(root: Client, kind: str) -> None:
    required = {"status": 503} if kind == "http" else {}
    columns: dict[str, object] = {"failures_kind": kind, "fault_kind": kind, "failures_times": 2}
    for prefix in ("failures", "fault"):
        columns |= {f"{prefix}_{key}": value for key, value in required.items()}
    columns["answer_text"] = "text" if FAULT_KINDS[kind].inside else ""
    scenario = create_scenario("one", columns)
    before = document_of(scenario).steps
    assert save(root, scenario, description="changed").status_code == 302
    assert document_of(Scenario.objects.get()).steps == before


@pytest.mark.parametrize(
    ("columns", "line"),
    [
        (
            {"failures_kind": "http", "failures_times": 2, "failures_status": 429},
            "first 2 requests: HTTP error 429",
        ),
        ({"failures_times": 1}, "first request: model error (500)"),
        ({"fault_kind": "disconnect"}, "always: connection closed inside the answer"),
        (
            {"failures_kind": "timeout", "failures_times": 1, "fault_kind": "truncate"},
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
    assert scenario.steps.get().consume
    response = save(root, scenario, **{"steps-0-consume": ONCE})
    assert error_lines(response) == [
        "Step 1, Can answer: A scenario that is selected by its name answers every time."
    ]


def test_stored_value_without_effect_stays_visible() -> None:
    # A hidden field would not be posted, so its value would be lost.
    step_with_value, step_without_value = (
        Step(fault_kind="http", fault_after_chunks=1),
        Step(fault_kind="http"),
    )
    assert "'http'" in shown_when("fault_after_chunks", StepForm(instance=step_with_value))
    assert "'http'" not in shown_when("fault_after_chunks", StepForm(instance=step_without_value))
