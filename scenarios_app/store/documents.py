"""Loads whole documents into the database and exports them as documents or fixtures; stores the
conversations that test them."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from django.db import DEFAULT_DB_ALIAS, transaction

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.document import (
    DocumentError,
    Problem,
    ScenarioDocument,
    dump,
    load_scenario,
    merge_documents,
)
from scenarios_app.models import (
    CatalogVersion,
    Draft,
    Scenario,
    Step,
    TrialConversation,
    mark_deleted,
    one_save,
)
from scenarios_app.recording.document import TAG
from scenarios_app.store import Object, batches, limits, save_documents, split_document


@dataclass(frozen=True, slots=True)
class Loaded:
    """The names of the scenarios that were created and of those that were replaced."""

    created: tuple[str, ...]
    replaced: tuple[str, ...]


def load(
    documents: Sequence[ScenarioDocument], *, replace: bool = True, reason: str = ""
) -> Loaded:
    """Store all documents or none; other scenarios stay. Raises DocumentError.

    Documents of one name are merged. Without `replace` a taken name is an error. The caller then
    calls `await state.clear_scenario(name)` for each replaced scenario.
    """
    merged = merge_documents(documents, limits=limits())
    with transaction.atomic():
        CatalogVersion.increase(DEFAULT_DB_ALIAS)
        stored_names = set(Scenario.objects.values_list("name", flat=True))
        replaced = tuple(d.name for d in merged if d.name in stored_names)
        if replaced and not replace:
            raise DocumentError.of(Problem(n, "a scenario of this name exists") for n in replaced)
        save_documents(merged, reason)
    return Loaded(tuple(d.name for d in merged if d.name not in stored_names), replaced)


def remove(names: Collection[str], *, reason: str) -> list[str]:
    """Move the scenarios of these names to the trash; return the names of those that existed."""
    removed: list[str] = []
    with one_save(reason):
        for part in batches(sorted(names)):
            CatalogVersion.increase(DEFAULT_DB_ALIAS)
            # Not `delete`, which takes a statement for each row.
            scenarios = Scenario.objects.filter(name__in=part)
            mark_deleted(scenarios)
            removed += scenarios.values_list("name", flat=True)
            Draft.objects.filter(published__in=scenarios).update(published=None)
            Step.objects.filter(scenario__in=scenarios).discard()
            scenarios.discard()
    return removed


def authored_names() -> set[str]:
    """Return the names of stored scenarios that are no recordings; no recording replaces them."""
    rows = Scenario.objects.values_list("name", "tags")
    return {name for name, tags in rows if TAG not in tags}


def documents_json(documents: Sequence[ScenarioDocument]) -> Object:
    """Return one document as it is, any other number as `{"scenarios": [...]}`."""
    objects = [dump(document) for document in documents]
    return objects[0] if len(objects) == 1 else {"scenarios": [*objects]}


def fixture_json(documents: Iterable[ScenarioDocument]) -> list[Object]:
    """Return the scenarios as fixture rows with natural keys, which `store.fixtures` reads."""
    fixture: list[Object] = []
    for document in documents:
        own, steps = split_document(dump(document))
        fixture.append({"model": "scenarios_app.scenario", "fields": own})
        for number, step in enumerate(steps, 1):
            fields: Object = {"scenario": [document.name], "order": number, "document": step}
            fixture.append({"model": "scenarios_app.step", "fields": fields})
    return fixture


def copy_disabled(document: ScenarioDocument, name: str) -> ScenarioDocument:
    """Return a copy under another name, disabled, since it would answer the same requests."""
    own, steps = split_document(dump(document))
    data = {**own, "name": name, "enabled": False, "steps": steps}
    return load_scenario(data, limits=limits())


def conversation_for(name: str) -> dict[str, Json] | None:
    """Return the stored conversation of a scenario, or None."""
    row = TrialConversation.objects.filter(scenario=name).first()
    return row.content if row and isinstance(row.content, dict) else None


def save_conversation(name: str, content: dict[str, Json]) -> None:
    """Store the conversation of a scenario; replaces the previous one."""
    TrialConversation.objects.update_or_create(scenario=name, defaults={"content": content})


def move_conversation(before: str, name: str) -> None:
    """Give the conversation of a renamed scenario or draft its new name, unless that has one. Copy
    it instead if a scenario or draft keeps the old name."""
    content = conversation_for(before)
    if content is None or conversation_for(name) is not None:
        return
    if any(model.objects.filter(name=before).exists() for model in (Scenario, Draft)):
        save_conversation(name, content)
    else:
        TrialConversation.objects.filter(scenario=before).update(scenario=name)
