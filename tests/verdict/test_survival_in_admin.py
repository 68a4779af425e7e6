"""The page of a scenario shows which faults programs survived at its steps."""

import pytest
from django.test import Client
from django.utils.html import strip_tags

from scenarios_app.engine.document import dump
from scenarios_app.journal.survival import add_results
from scenarios_app.models import Scenario
from scenarios_app.store import document_of
from scenarios_app.verdict.survival import version_of
from tests.admin.pages import create_scenario, page_of

pytestmark = pytest.mark.django_db


def make_swept_scenario(**results: str) -> Scenario:
    """Create a scenario with results of fault kinds at its first step."""
    scenario = create_scenario("weather", {"produce.text": "Sunny."})
    version = version_of(dump(document_of(scenario)))
    step_results = {("1", kind): outcome for kind, outcome in results.items()}
    assert add_results({"weather": version}, {"weather": step_results}) == []
    return scenario


def survival_text(client: Client, scenario: Scenario) -> str:
    page = client.get(page_of(scenario)).content.decode()
    _, marker, after = page.partition('id="survival"')
    return strip_tags(after.partition("</section>")[0]) if marker else ""


def test_survived_and_other_faults_are_shown(admin_client: Client) -> None:
    text = survival_text(admin_client, make_swept_scenario(stall="survived", refusal="wrong"))
    assert "1 of 15" in text
    assert "wrong: refusal" in text
    assert "not tried: 429 with Retry-After, 429 without" in text


def test_results_of_an_earlier_version_do_not_count(admin_client: Client) -> None:
    scenario = make_swept_scenario(stall="survived")
    scenario.steps.update(document={"produce": {"text": "Rainy."}})
    text = survival_text(admin_client, scenario)
    assert "1 result is of another version of this scenario and does not count" in text
    assert "0 of 15" in text


def test_scenario_without_results_has_no_table(admin_client: Client) -> None:
    assert survival_text(admin_client, create_scenario("weather", {})) == ""
