"""Posts the form of the tab *One request* of *Test*."""

from typing import Any

from django.test import Client

TRY = "/admin/scenarios_app/scenario/test/"
FIELDS = {"provider": "openai", "model": "gpt-4o", "turn": "1", "stream": "on"}


def post_try(client: Client, **fields: Any) -> Any:
    return client.post(TRY, FIELDS | fields)


def states(page: Any) -> list[tuple[str, str]]:
    cards = [*page.context["cards"], *page.context["misses"]]
    return [(card.step.step, card.state) for card in cards]
