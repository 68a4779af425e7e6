"""A save changes in a document what the user changed, and a field says what it cannot show."""

import json
from typing import Any

import pytest
from django.test import Client

from scenarios_app.models import Scenario, Step
from tests.admin.pages import create_scenario, fields_at, page_of, save

pytestmark = pytest.mark.django_db

WRITTEN: dict[str, Any] = {
    "produce": {"usage": {}, "text": "Hello.", "latency_ms": 0},
    "turn": None,
    "match": {"tools": [], "messages": [{"contains": "a", "which": "last", "role": "user"}]},
    "consume": True,
}


def scenario_of(step: dict[str, Any]) -> Scenario:
    scenario = create_scenario("one")
    Step.objects.create(scenario=scenario, order=1, document=step)
    return scenario


def stored_text(scenario: Scenario) -> str:
    return json.dumps(scenario.steps.get().document)


def test_document_is_kept_key_for_key(root: Client) -> None:
    scenario = scenario_of(WRITTEN)
    scenario.document = {"steps": [], "priority": 0, "tags": [], "name": "one", "description": "a"}
    scenario.save()
    assert save(root, scenario).status_code == 302
    assert stored_text(scenario) == json.dumps(WRITTEN)
    changes = {"steps-0-produce.text": "Bye.", "description": "b"}
    assert save(root, scenario, **changes).status_code == 302
    assert stored_text(scenario) == json.dumps(WRITTEN).replace("Hello.", "Bye.")
    own = {"steps": [], "priority": 0, "tags": [], "name": "one", "description": "b"}
    assert json.dumps(Scenario.objects.get().document) == json.dumps(own)


def test_order_of_keys_in_json_is_what_was_typed(root: Client) -> None:
    call = '[{"name": "f", "arguments": {"b": 1, "a": 2}}]'
    scenario = scenario_of({"produce": {"tool_calls": json.loads(call)}})
    typed = '[{"name": "f", "arguments": {"a": 2, "b": 1}}]'
    assert save(root, scenario, **{"steps-0-produce.tool_calls": typed}).status_code == 302
    assert stored_text(scenario) == f'{{"produce": {{"tool_calls": {typed}}}}}'


@pytest.mark.parametrize(
    ("section", "place", "text"),
    [
        ({"produce": {"text": ""}}, "produce.text", '"" (see Other reply settings (JSON))'),
        (
            {"match": {"model": ["a", "b"]}},
            "match.model",
            '["a", "b"] (see Other conditions (JSON))',
        ),
        (
            {"match": {"provider": ["openai", "gemini"]}},
            "match.provider",
            '["openai", "gemini"] (see Other conditions (JSON))',
        ),
        (
            {"match": {"messages": [{"role": "system"}]}},
            "match.messages(system)",
            '{"role": "system"} (see Other conditions (JSON))',
        ),
        ({"turn": True}, "turn", "true (see Other step settings (JSON))"),
    ],
)
def test_field_says_what_it_cannot_show(
    root: Client, section: dict[str, Any], place: str, text: str
) -> None:
    step = {"match": {}, "produce": {"text": "x"}, **section}
    response = root.get(page_of(scenario_of(step)))
    groups = response.context["rows"][0].groups
    unshown = {cell.cell.place: cell.unshown for group in groups for cell in group.cells}
    assert {name: note for name, note in unshown.items() if note} == {place: text}


def test_typed_value_replaces_one_that_was_not_shown(root: Client) -> None:
    scenario = scenario_of({"produce": {"text": ""}})
    assert fields_at(root, page_of(scenario))["steps-0-produce.*"] == '{\n  "text": ""\n}'
    assert save(root, scenario).status_code == 302
    assert stored_text(scenario) == '{"produce": {"text": ""}}'
    assert save(root, scenario, **{"steps-0-produce.text": "Hi."}).status_code == 302
    assert stored_text(scenario) == '{"produce": {"text": "Hi."}}'
    assert fields_at(root, page_of(scenario))["steps-0-produce.*"] == ""
