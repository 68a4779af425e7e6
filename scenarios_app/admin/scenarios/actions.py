"""What one does with scenarios from the list: switch on and off, duplicate, export."""

import json
import logging
from collections.abc import Iterable

from asgiref.sync import async_to_sync
from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.utils.http import content_disposition_header

from scenarios_app.engine.document import DocumentError, ScenarioDocument
from scenarios_app.engine.state import StateUnavailable
from scenarios_app.models import Scenario
from scenarios_app.serving.services import services
from scenarios_app.store.documents import documents_json
from scenarios_app.store.rows import document_of, save_documents

log = logging.getLogger(__name__)

_SHOWN = 5


def switch(scenarios: Iterable[Scenario], *, enabled: bool) -> list[Scenario]:
    """Enable or disable; gives back those that were not so already."""
    changed = [scenario for scenario in scenarios if scenario.enabled != enabled]
    with transaction.atomic():
        for scenario in changed:
            # One by one, so that the history knows each.
            scenario.enabled = enabled
            scenario.save(update_fields=["enabled", "updated_at"])
    return changed


def duplicate(scenarios: Iterable[Scenario]) -> list[Scenario]:
    """Copies under new names, switched off: two of a kind would answer for one another."""
    taken = set(Scenario.objects.values_list("name", flat=True))
    copies: list[ScenarioDocument] = []
    for scenario in scenarios:
        name = _free(scenario.name, taken)
        taken.add(name)
        document = document_of(scenario)
        copies.append(document.model_copy(update={"name": name, "enabled": False}))
    return save_documents(copies)


def export(scenarios: Iterable[Scenario]) -> HttpResponse:
    """Their documents as a file to download."""
    documents = [document_of(scenario) for scenario in scenarios]
    name = documents[0].name if len(documents) == 1 else "scenarios"
    text = json.dumps(documents_json(documents), ensure_ascii=False, indent=2)
    response = HttpResponse(text + "\n", content_type="application/json; charset=utf-8")
    disposition = content_disposition_header(True, f"{name.replace('/', '_')}.json")
    response["Content-Disposition"] = disposition or "attachment"
    return response


def forget(names: Iterable[str]) -> None:
    """Once it is committed that these are gone or replaced, sessions know nothing of them."""

    def clear() -> None:
        try:
            for name in names:
                async_to_sync(services().state.clear_scenario)(name)
        except StateUnavailable as error:
            log.error("sessions still know steps of scenarios that were replaced: %s", error)

    transaction.on_commit(clear)


def tell(request: HttpRequest, error: DocumentError, before: str) -> None:
    """Show what a document's rows are wrong in."""
    shown = "; ".join(str(problem) for problem in error.problems[:_SHOWN])
    messages.error(request, f"{before}: {shown}")


def _free(name: str, taken: set[str]) -> str:
    number = 1
    while True:
        suffix = " copy" if number == 1 else f" copy {number}"
        # A document's name has 200 characters at most.
        free = f"{name[: 200 - len(suffix)]}{suffix}"
        if free not in taken:
            return free
        number += 1
