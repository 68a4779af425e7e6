"""A draft on the page on which a request is tried: there it stands for what is published."""

from dataclasses import dataclass

from django.urls import reverse

from scenarios_app.engine.document import DocumentError
from scenarios_app.engine.scenario import Scenario
from scenarios_app.models import Draft
from scenarios_app.store.drafts import compiled_draft


@dataclass(frozen=True, slots=True)
class TriedDraft:
    """`scenarios` are what requests would see, the draft's own last."""

    pk: int
    name: str
    url: str
    scenarios: tuple[Scenario, ...]


def tried_draft(key: str) -> TriedDraft | None:
    """The draft of a number. One with errors cannot be tried; its own page tells of them."""
    number = number_in(key)
    row = None if number is None else Draft.objects.filter(pk=number).first()
    if row is None:
        return None
    try:
        scenarios = compiled_draft(row)
    except DocumentError:
        return None
    url = reverse("admin:scenarios_app_draft_change", args=(row.pk,))
    return TriedDraft(row.pk, row.name, url, tuple(scenarios))


def number_in(key: str) -> int | None:
    """The number of a row, as addresses hold it."""
    return int(key) if key.isascii() and key.isdigit() and len(key) < 19 else None
