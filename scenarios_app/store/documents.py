"""Whole documents into the database, checked before anything is written, and out of it: as files
and the control API hold them, or as the rows that `loaddata` takes; and the conversations that are
kept with scenarios, by name."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from django.db import transaction
from django.db.models import Model

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.document import (
    DocumentError,
    Problem,
    ScenarioDocument,
    dump,
    merge_documents,
)
from scenarios_app.models import Draft, Scenario, Step, TrialConversation
from scenarios_app.recording.document import TAG
from scenarios_app.store import limits, rows_of, save_documents
from scenarios_app.store.columns import SCENARIO_KEYS, empty_value


@dataclass(frozen=True, slots=True)
class Loaded:
    """Names of the scenarios that were new, and of those that took the place of another."""

    created: tuple[str, ...]
    replaced: tuple[str, ...]


def load(documents: Sequence[ScenarioDocument], *, replace: bool = True, why: str = "") -> Loaded:
    """Store all documents or none; scenarios that they do not name stay. Raises DocumentError.

    Documents of one name are merged. Without `replace` a name that is taken is an error. Once this
    returns, the caller tells its sessions: `await state.clear_scenario(name)` for each that was
    replaced.
    """
    merged = check(documents)
    with transaction.atomic():
        taken = set(Scenario.objects.values_list("name", flat=True))
        if not replace and (names := [d.name for d in merged if d.name in taken]):
            raise DocumentError.of(
                Problem(name, "a scenario of this name exists") for name in names
            )
        save_documents(merged, why)
    return Loaded(
        created=tuple(d.name for d in merged if d.name not in taken),
        replaced=tuple(d.name for d in merged if d.name in taken),
    )


def written_names() -> set[str]:
    """The names of stored scenarios that are no recordings, which no recording takes over."""
    rows = Scenario.objects.values_list("name", "tags")
    return {name for name, tags in rows if TAG not in tags}


def check(documents: Sequence[ScenarioDocument]) -> list[ScenarioDocument]:
    """The documents as they would be stored: merged by name. Raises DocumentError."""
    return merge_documents(documents, limits=limits())


Object: TypeAlias = dict[str, Json]

_SCENARIO = (*SCENARIO_KEYS, "extra")
_STEP = tuple(
    column.name
    for column in Step._meta.concrete_fields
    if column.editable and column.name not in ("id", "scenario", "order")
)


def documents_json(documents: Sequence[ScenarioDocument]) -> Object:
    """One file of documents: the document itself where there is one, else a list."""
    written: list[Json] = [dump(document) for document in documents]
    if len(written) == 1 and isinstance(written[0], dict):
        return written[0]
    return {"scenarios": written}


def fixture_json(documents: Iterable[ScenarioDocument]) -> list[Object]:
    """The same scenarios as rows with natural keys, empty columns left out."""
    fixture: list[Object] = []
    for document in documents:
        scenario, steps = rows_of(document)
        fixture.append(_row(scenario, _SCENARIO, {}))
        fixture += (
            _row(step, _STEP, {"scenario": [scenario.name], "order": step.order}) for step in steps
        )
    return fixture


def _row(row: Model, columns: Iterable[str], first: dict[str, Any]) -> Object:
    model = type(row)
    fields = first | {
        column: value
        for column in columns
        if (value := getattr(row, column)) != empty_value(model, column)
    }
    return {"model": model._meta.label_lower, "fields": fields}


def conversation_for(name: str) -> dict[str, Json] | None:
    """The one that is kept for a scenario."""
    found = TrialConversation.objects.filter(scenario=name).first()
    return found.content if found and isinstance(found.content, dict) else None


def keep(name: str, content: dict[str, Json]) -> None:
    """Keep it for a scenario, in place of the one so far."""
    TrialConversation.objects.update_or_create(scenario=name, defaults={"content": content})


def follow(before: str, name: str) -> None:
    """What is kept goes with a scenario, or a draft of it, that has another name now. Where the old
    name stays in use, by the scenario or by its draft, both have it."""
    content = conversation_for(before)
    if content is None or conversation_for(name) is not None:
        return
    if any(model.objects.filter(name=before).exists() for model in (Scenario, Draft)):
        keep(name, content)
    else:
        TrialConversation.objects.filter(scenario=before).update(scenario=name)
