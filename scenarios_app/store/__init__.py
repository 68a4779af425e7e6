"""Scenario documents in database rows: reads and saves them.

A row's document is what was written, key for key. `own_document` is a scenario's part of it and
`whole_document` has the steps too; both may be invalid. `document_of` validates.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from django.db import DEFAULT_DB_ALIAS, connections

from scenarios_app.conf import setting
from scenarios_app.engine.canonical import Json
from scenarios_app.engine.document import (
    DocumentError,
    DocumentLimits,
    ScenarioDocument,
    dump,
    load_scenario,
)
from scenarios_app.models import (
    AnyScenario,
    AnyStep,
    CatalogVersion,
    Draft,
    Scenario,
    Step,
    announce_changes,
    mark_changed,
    new_key,
    one_save,
)
from scenarios_app.models.documents import Object, default_of, own_document, whole_document

__all__ = ["Object", "own_document", "whole_document"]

T = TypeVar("T")

_BATCH_ROWS = 500


def document_of(scenario: AnyScenario, steps: Iterable[AnyStep] | None = None) -> ScenarioDocument:
    """Return the document of a scenario's rows, saved or not; `steps` are its steps in order, by
    default the stored ones. Raises DocumentError."""
    return load_scenario(whole_document(scenario, steps), limits=limits())


def set_own_document(scenario: AnyScenario, own: Mapping[str, Json]) -> None:
    """Set a scenario's own part of its document and its columns; the row is not saved."""
    scenario.document = dict(own)
    for key in scenario.columns:
        setattr(scenario, key, own.get(key, default_of(scenario, key)))


def split_document(document: Mapping[str, Json]) -> tuple[Object, list[Any]]:
    """Return a scenario's own part of its document, and its steps. An empty list keeps the place of
    steps that other keys follow."""
    steps = document.get("steps")
    if not isinstance(steps, list):
        return dict(document), []
    if steps and list(document)[-1] == "steps":
        return {key: value for key, value in document.items() if key != "steps"}, steps
    return {**document, "steps": []}, steps


def rows_of(document: ScenarioDocument) -> tuple[Scenario, list[Step]]:
    """Return the unsaved rows of a document."""
    own, steps = split_document(dump(document))
    scenario = Scenario()
    set_own_document(scenario, own)
    return scenario, [
        Step(scenario=scenario, order=number, document=step) for number, step in enumerate(steps, 1)
    ]


def limits() -> DocumentLimits:
    """Return the limits of this server for a scenario document."""
    return DocumentLimits(
        text_bytes=setting("MOCKLLM_MAX_TEXT_BYTES"),
        latency_ms=setting("MOCKLLM_MAX_LATENCY_MS"),
        file_bytes=setting("MOCKLLM_MAX_UPLOAD_BYTES"),
    )


def save_document(document: ScenarioDocument) -> Scenario:
    """Store one document; replace the scenario of its name if there is one."""
    (scenario,) = save_documents([document])
    return scenario


def save_documents(documents: Sequence[ScenarioDocument], reason: str = "") -> list[Scenario]:
    """Store documents of different names; each replaces the scenario of its name.

    `reason` is written to the history. All steps get new keys, so that they are unused in every
    session. An unchanged scenario keeps its rows, and its history does not grow.
    """
    with one_save(reason):
        return _save_documents(documents)


def _save_documents(documents: Sequence[ScenarioDocument]) -> list[Scenario]:
    CatalogVersion.increase(DEFAULT_DB_ALIAS)
    stored_by_name: dict[str, Scenario] = {}
    for names in batches([document.name for document in documents]):
        rows = Scenario.objects.filter(name__in=names).prefetch_related("steps")
        stored_by_name |= {row.name: row for row in rows}
    created, changed, unchanged, saved = (list[Scenario]() for _ in range(4))
    new_steps = list[Step]()
    for document in documents:
        stored = stored_by_name.get(document.name)
        before = list(stored.steps.all()) if stored else []
        if stored and are_rows_of(document, stored, before):
            unchanged.append(stored)
            saved.append(stored)
            continue
        scenario, steps = rows_of(document)
        if stored:
            set_own_document(stored, scenario.document)
            for step in steps:
                step.scenario = stored
            changed.append(stored)
        else:
            created.append(scenario)
        new_steps += steps
        saved.append(stored or scenario)
    Scenario.objects.bulk_create(created)
    Scenario.objects.bulk_update(changed, ["document", *Scenario.columns])
    for part in batches([scenario.pk for scenario in changed]):
        Step.objects.filter(scenario__in=part).discard()
    Step.objects.bulk_create(new_steps)
    for part in batches([scenario.pk for scenario in unchanged]):
        Step.objects.filter(scenario__in=part).renew_keys()
    return saved


def are_rows_of(document: ScenarioDocument, scenario: Scenario, steps: Iterable[Step]) -> bool:
    """Return whether stored rows hold this document, key for key."""
    # Compared as text: 1 is not true, and keys have an order.
    return json.dumps(whole_document(scenario, steps)) == json.dumps(dump(document))


_STEP = re.compile(r"steps\[(\d+)\]\.?")


@dataclass(frozen=True, slots=True)
class RowProblem:
    """Why a scenario is not served.

    `step` is the number of the step from 1, None if the problem is not in a step; `place` is the
    place in that step's document, else in the scenario's.
    """

    scenario: str
    step: int | None
    place: str
    message: str

    def __str__(self) -> str:
        step = f"step {self.step}" if self.step else ""
        return ": ".join(part for part in (self.scenario, step, self.place, self.message) if part)


def problems_of(error: DocumentError, scenario: str) -> tuple[RowProblem, ...]:
    """Split the problems of a scenario's document by step."""
    problems: list[RowProblem] = []
    for problem in error.problems:
        step = _STEP.match(problem.place)
        place = problem.place[step.end() :] if step else problem.place
        number = int(step[1]) + 1 if step else None
        problems.append(RowProblem(scenario, number, place, problem.message))
    return tuple(problems)


def batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """Yield slices of the items, each as long as one SQL statement may be."""
    return (items[start : start + _BATCH_ROWS] for start in range(0, len(items), _BATCH_ROWS))


def save_steps(
    *,
    new: Sequence[AnyStep] = (),
    changed: Sequence[AnyStep] = (),
    gone: Sequence[AnyStep] = (),
    reason: str = "",
) -> None:
    """Store `new` steps and update `changed` ones and delete those `gone`, as one save with the
    `reason`. All steps are of one model."""
    steps = (*new, *changed, *gone)
    if not steps:
        return
    rows: Any = type(steps[0])._default_manager
    scenarios = {step.scenario_id for step in steps}
    with one_save(reason):
        if rows.model is Step:
            CatalogVersion.increase(rows.db)
        for batch in batches([step.pk for step in gone]):
            rows.filter(pk__in=batch).discard()
        _update_steps(changed)
        rows.bulk_create(new)
        if rows.model is Step:
            announce_changes(scenarios, rows.db)
        else:
            mark_changed(Draft, scenarios, rows.db)


def _update_steps(steps: Sequence[AnyStep]) -> None:
    """Update stored rows, with new versions of published steps; `bulk_update` would spell out each
    row in SQL."""
    if not steps:
        return
    model: Any = type(steps[0])
    fields = [model._meta.get_field(name) for name in ("order", "document")]
    if model is Step:
        fields.append(model._meta.get_field("version"))
        for step in steps:
            vars(step)["version"] = new_key()
    connection = connections[model._default_manager.db]
    quote = connection.ops.quote_name
    set_to = ", ".join(f"{quote(field.column)} = %s" for field in fields)
    with connection.cursor() as cursor:
        cursor.executemany(
            f'UPDATE {quote(model._meta.db_table)} SET {set_to} WHERE "id" = %s',
            [
                [*(f.get_db_prep_save(getattr(s, f.attname), connection) for f in fields), s.pk]
                for s in steps
            ],
        )
