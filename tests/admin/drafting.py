"""Creates, saves and publishes drafts in the admin."""

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


def publish(client: Client, draft: Draft, **changes: str) -> Any:
    """Open the publish page of a draft and submit its form."""
    url = f"{DRAFTS}{draft.pk}/publish/"
    form_data = fields(client.get(url).content.decode(), "publish_form") | changes
    return client.post(url, form_data, follow=True)


def message_text(response: Any) -> str:
    return " ".join(str(message) for message in response.context["messages"])


def served_step_keys() -> dict[str, list[str]]:
    """Return the keys of the steps that are served, by scenario."""
    scenarios = catalog.index().by_name
    return {
        name: [str(step.key) for step in scenario.steps]
        for name, scenario in sorted(scenarios.items())
    }
