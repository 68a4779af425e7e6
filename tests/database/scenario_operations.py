"""Operations on scenarios, drafts and the journal; each returns a JSON object with its result."""

from typing import Any

from scenarios_app.control.stores import CommonScenarios
from scenarios_app.engine.document import load_documents
from scenarios_app.journal import journal
from scenarios_app.models import Draft, Revision, Scenario, ServedRequest
from scenarios_app.store.documents import load
from scenarios_app.store.drafts import get_or_create_draft, plan_publication
from scenarios_app.store.drafts import publish as publish_draft
from scenarios_app.store.history import deletions
from scenarios_app.store.trash import restore as restore_from_trash
from tests.state.entries import entry


def scenario(name: str, text: str = "Hi.") -> dict[str, Any]:
    document = {"name": name, "steps": [{"produce": {"text": text}}]}
    load(load_documents({"scenarios": [document]}))
    return {"pk": Scenario.objects.get(name=name).pk}


def texts(name: str) -> dict[str, Any]:
    """Return the answers of a scenario, and those of its latest revision."""
    scenario_row = Scenario.objects.get(name=name)
    latest = Revision.objects.of(scenario_row).latest_of_each().get()
    return {
        "stored": [step.document["produce"]["text"] for step in scenario_row.steps.all()],
        "history": [step["produce"]["text"] for step in latest.document["steps"]],
    }


def delete_scenario(name: str) -> dict[str, Any]:
    scenario = Scenario.objects.get(name=name)
    scenario.delete()
    return {"pk": deletions().get(key=scenario.key).pk}


def restore(pk: int) -> dict[str, Any]:
    """Restore a scenario from the trash."""
    try:
        return {"restored": restore_from_trash(pk).name}
    except Scenario.DoesNotExist:
        return {"restored": None}


def draft(scenario: int) -> dict[str, Any]:
    draft_row, is_created = get_or_create_draft(Scenario.objects.get(pk=scenario))
    return {"pk": draft_row.pk, "created": is_created}


def new_draft(name: str) -> dict[str, Any]:
    """Create a draft of no scenario."""
    draft_row = Draft.objects.create(name=name)
    draft_row.steps.create(order=1, document={"produce": {"text": "Hi."}})
    return {"pk": draft_row.pk}


def plan(draft: int) -> dict[str, Any]:
    """Return the token that publishing needs."""
    return {"token": plan_publication(Draft.objects.get(pk=draft)).token}


def publish(draft: int, token: str) -> dict[str, Any]:
    return {"published": publish_draft(Draft(pk=draft), seen=token).name}


def scenarios(name: str) -> dict[str, Any]:
    rows = Scenario.objects.filter(name=name)
    return {"scenarios": rows.count(), "drafts": Draft.objects.filter(name=name).count()}


def record(paths: list[str], body: bytes = b"") -> dict[str, Any]:
    """Let the journal write requests of these paths, and return its rows of them."""
    for path in paths:
        journal.record(entry(path=path, request_body=body))
    flushed = journal.flush()
    rows = ServedRequest.objects.filter(path__in=paths).order_by("pk")
    return {
        "flushed": flushed,
        "failed": journal.failed,
        "paths": list(rows.values_list("path", flat=True)),
    }


def put(name: str, text: str) -> dict[str, Any]:
    """Create or replace a common scenario as the control API does."""
    (document,) = load_documents({"name": name, "steps": [{"produce": {"text": text}}]})
    return {"new": CommonScenarios().put(document)}
