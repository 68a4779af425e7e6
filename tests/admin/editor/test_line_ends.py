"""Texts with Windows line ends are shown in their fields, and kept by saves that do not change
them."""

import json
from typing import Any

import pytest
from django.test import Client

from scenarios_app.engine.document import load_text
from scenarios_app.models import Scenario
from scenarios_app.store import document_of, save_document
from scenarios_app.store.history import versions_of
from tests.admin.drafting import edit_as_draft, save_draft
from tests.admin.pages import create_scenario, fields_at, page_of

pytestmark = pytest.mark.django_db

WINDOWS = "It rains.\r\nTake a coat.\nOr stay.\rIn."
PLAIN = "It rains.\nTake a coat.\nOr stay.\nIn."
STEP = {
    "match": {"messages": [{"role": "user", "contains": WINDOWS}]},
    "failures": {"times": 1, "fault": {"kind": "model_error", "message": WINDOWS}},
    "produce": {"text": WINDOWS, "reasoning": WINDOWS},
}


def load(*steps: dict[str, Any]) -> Scenario:
    document = {"name": "rain", "description": WINDOWS, "steps": [*steps]}
    return save_document(load_text(json.dumps(document).encode())[0])


def save_like_a_browser(client: Client, scenario: Scenario, **changes: str) -> None:
    """Post the page's form; browsers read and post each text with their own line ends."""
    values = fields_at(client, page_of(scenario)) | changes
    lines = {name: "\r\n".join(value.splitlines()) for name, value in values.items()}
    assert client.post(page_of(scenario), lines).status_code == 302


def dumped(scenario: Scenario) -> dict[str, Any]:
    row = Scenario.objects.get(pk=scenario.pk)
    return document_of(row).model_dump(by_alias=True, exclude_defaults=True)


def test_text_with_windows_line_ends_is_in_its_field(root: Client) -> None:
    fields = fields_at(root, page_of(load(STEP)))
    for name in (
        "produce.text",
        "produce.reasoning",
        "match.messages(user)",
        "failures.fault.message",
    ):
        assert fields[f"steps-0-{name}"].splitlines() == PLAIN.splitlines()
    assert fields["description"].splitlines() == PLAIN.splitlines()
    assert fields["steps-0-produce.*"] == fields["steps-0-match.*"] == ""


def test_unrelated_save_keeps_every_line_end(root: Client) -> None:
    scenario = load(STEP, STEP | {"name": "second"})
    before = dumped(scenario)
    save_like_a_browser(root, scenario, **{"steps-1-name": "other", "priority": "3"})
    after = dumped(scenario)
    assert after.pop("priority") == 3
    assert after["steps"][1].pop("name") == "other"
    before["steps"][1].pop("name")
    assert after == before


def test_changed_text_has_plain_line_ends_and_the_others_stay(root: Client) -> None:
    scenario = load(STEP)
    save_like_a_browser(root, scenario, **{"steps-0-produce.text": f"{PLAIN}\nSoon."})
    (step,) = dumped(scenario)["steps"]
    assert step["produce"] == {"text": f"{PLAIN}\nSoon.", "reasoning": WINDOWS}


def test_save_without_changes_writes_no_history(root: Client) -> None:
    scenario = load(STEP)
    save_like_a_browser(root, scenario)
    assert len(versions_of(scenario)) == 1


def test_draft_keeps_the_line_ends(root: Client) -> None:
    draft = edit_as_draft(root, load(STEP))
    save_draft(root, draft, **{"steps-0-name": "first"})
    step = draft.steps.get()
    assert (step.document["produce"]["text"], step.document["name"]) == (WINDOWS, "first")


@pytest.mark.parametrize("typed", ["Sunny.", ""])
def test_text_with_windows_line_ends_is_replaced_or_removed(root: Client, typed: str) -> None:
    scenario = create_scenario("old", {"produce.text": WINDOWS, "produce.refusal": "No."})
    assert fields_at(root, page_of(scenario))["steps-0-produce.text"].splitlines() == (
        PLAIN.splitlines()
    )
    save_like_a_browser(root, scenario, **{"steps-0-produce.text": typed})
    step = scenario.steps.get()
    texts = {"text": typed, "refusal": "No."} if typed else {"refusal": "No."}
    assert step.document["produce"] == texts
