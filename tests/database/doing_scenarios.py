"""What the processes can be told to do to scenarios, their drafts and the journal."""

from typing import Any

from scenarios_app.control.stores import CommonScenarios
from scenarios_app.engine.document import load_documents
from scenarios_app.journal import journal
from scenarios_app.models import Draft, Scenario, ServedRequest, Step
from scenarios_app.store.documents import load
from scenarios_app.store.drafts import get_or_create_draft, plan_publication
from scenarios_app.store.drafts import publish as publish_draft
from scenarios_app.store.trash import restore as restore_from_trash
from tests.state.entries import entry


def scenario(name: str, text: str = "Hi.") -> dict[str, Any]:
    document = {"name": name, "steps": [{"produce": {"text": text}}]}
    load(load_documents({"scenarios": [document]}))
    return {"pk": Scenario.objects.get(name=name).pk}


def texts(name: str) -> dict[str, Any]:
    """The answers of a scenario, and what its history has of steps that were not deleted."""
    stored = Scenario.objects.get(name=name)
    records = Step.history.filter(scenario_id=stored.pk)
    deleted = records.filter(history_type="-").values("id")
    return {
        "stored": list(stored.steps.values_list("answer_text", flat=True)),
        "history": list(records.exclude(id__in=deleted).values_list("answer_text", flat=True)),
    }


def delete_scenario(name: str) -> dict[str, Any]:
    scenario = Scenario.objects.get(name=name)
    pk = scenario.pk
    scenario.delete()
    return {"pk": pk}


def restore(pk: int) -> dict[str, Any]:
    """Restore a scenario from the trash."""
    try:
        return {"restored": restore_from_trash(pk).name}
    except Scenario.DoesNotExist:
        return {"restored": None}


def draft(scenario: int) -> dict[str, Any]:
    found, made = get_or_create_draft(Scenario.objects.get(pk=scenario))
    return {"pk": found.pk, "made": made}


def new_draft(name: str) -> dict[str, Any]:
    """A draft of no scenario."""
    found = Draft.objects.create(name=name)
    found.steps.create(order=1, answer_text="Hi.")
    return {"pk": found.pk}


def look(draft: int) -> dict[str, Any]:
    """What one who publishes looks at first."""
    return {"seen": plan_publication(Draft.objects.get(pk=draft)).token}


def publish(draft: int, seen: str) -> dict[str, Any]:
    return {"published": publish_draft(Draft(pk=draft), seen=seen).name}


def scenarios(name: str) -> dict[str, Any]:
    found = Scenario.objects.filter(name=name)
    return {"scenarios": found.count(), "drafts": Draft.objects.filter(name=name).count()}


def record(paths: list[str], body: bytes = b"") -> dict[str, Any]:
    """Let the journal write these requests; what it has of them then."""
    for path in paths:
        journal.record(entry(path=path, request_body=body))
    flushed = journal.flush()
    found = ServedRequest.objects.filter(path__in=paths).order_by("pk")
    return {
        "flushed": flushed,
        "failed": journal.failed,
        "paths": list(found.values_list("path", flat=True)),
    }


def put(name: str, text: str) -> dict[str, Any]:
    """Create or replace a common scenario as the control API does."""
    (document,) = load_documents({"name": name, "steps": [{"produce": {"text": text}}]})
    return {"new": CommonScenarios().put(document)}
