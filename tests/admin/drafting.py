"""What one does with drafts in the admin: make one, write it, publish it."""

from typing import Any

from django.http import HttpResponse
from django.test import Client

from scenarios_app.catalog import catalog
from scenarios_app.models import Draft, Scenario
from tests.admin.pages import LIST, fields, fields_at

DRAFTS = "/admin/scenarios_app/draft/"


def draft_page(draft: Draft) -> str:
    return f"{DRAFTS}{draft.pk}/change/"


def edit_as_draft(client: Client, scenario: Scenario) -> Draft:
    client.post(f"{LIST}{scenario.pk}/draft/")
    return Draft.objects.get(published=scenario)


def save_draft(client: Client, draft: Draft, **changes: str) -> HttpResponse:
    url = draft_page(draft)
    return client.post(url, fields_at(client, url, "draft_form") | changes)


def publish(client: Client, draft: Draft, **ticks: str) -> Any:
    """Look at the page of publishing and press its button."""
    url = f"{DRAFTS}{draft.pk}/publish/"
    sent = fields(client.get(url).content.decode(), "publish_form") | ticks
    return client.post(url, sent, follow=True)


def message_text(response: Any) -> str:
    return " ".join(str(message) for message in response.context["messages"])


def served_step_keys() -> dict[str, list[str]]:
    """The answers that requests can get, by scenario."""
    scenarios = catalog.index().by_name
    return {
        name: [str(step.key) for step in scenario.steps]
        for name, scenario in sorted(scenarios.items())
    }
