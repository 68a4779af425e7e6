"""Scenario documents as rows, read, written, exported and drafted: reading a document out of them,
writing documents down, many rows at a time, each with its entry in the history, and at which row
something is wrong."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from django.db import connections, transaction
from django.utils import timezone

from scenarios_app.conf import setting
from scenarios_app.engine.canonical import Json
from scenarios_app.engine.document import (
    DocumentError,
    DocumentLimits,
    ScenarioDocument,
    dump,
    load_documents,
)
from scenarios_app.models import (
    AnyScenario,
    AnyStep,
    CatalogVersion,
    Scenario,
    Step,
    announce,
    new_key,
)
from scenarios_app.store.columns import SCENARIO_KEYS
from scenarios_app.store.translate import scenario_object, scenario_values, step_object, step_values

_COLUMNS = [*SCENARIO_KEYS, "extra"]
T = TypeVar("T")

_PART = 500


def document_of(scenario: AnyScenario, steps: Iterable[AnyStep] | None = None) -> ScenarioDocument:
    """The document of a scenario's rows, saved or not. Raises DocumentError.

    `steps` are its steps in order; without them they are looked up.
    """
    rows: Iterable[AnyStep] = scenario.steps.all() if steps is None else steps
    data = scenario_object(scenario, [step_object(row) for row in rows])
    (document,) = load_documents(data, limits=limits())
    return document


def rows_of(document: ScenarioDocument) -> tuple[Scenario, list[Step]]:
    """The rows of a document, not saved."""
    data = dump(document)
    scenario = Scenario(**scenario_values(data))
    return scenario, [
        Step(scenario=scenario, order=number, **step_values(step))
        for number, step in enumerate(_objects(data.get("steps")), 1)
    ]


def limits() -> DocumentLimits:
    """The most that a scenario may ask for on this server."""
    return DocumentLimits(
        text_bytes=setting("MOCKLLM_MAX_TEXT_BYTES"), latency_ms=setting("MOCKLLM_MAX_LATENCY_MS")
    )


def save_document(document: ScenarioDocument) -> Scenario:
    """Store one document, in place of the scenario of its name if there is one."""
    (scenario,) = save_documents([document])
    return scenario


@transaction.atomic
def save_documents(documents: Sequence[ScenarioDocument], why: str = "") -> list[Scenario]:
    """Store documents of different names, each in place of the scenario of its name; the history
    gives `why` as the reason.

    All steps get new keys, so that no session knows anything of them. A scenario that stays as it
    is gets nothing else: neither its rows nor their history grow by it.
    """
    stored = _stored([document.name for document in documents])
    writing = _Writing()
    saved = [writing.take(document, stored.get(document.name)) for document in documents]
    writing.write(why)
    return saved


@dataclass(slots=True)
class _Writing:
    """All rows that a load writes, so that each kind is written at once."""

    created: list[Scenario] = field(default_factory=list)
    changed: list[Scenario] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    removed: list[Step] = field(default_factory=list)
    kept: list[Scenario] = field(default_factory=list)

    def take(self, document: ScenarioDocument, stored: Scenario | None) -> Scenario:
        before = list(stored.steps.all()) if stored else []
        if stored and _plain(stored, before) == dump(document):
            self.kept.append(stored)
            return stored
        scenario, steps = rows_of(document)
        if stored is None:
            self.created.append(scenario)
            self.steps += steps
            return scenario
        for column in _COLUMNS:
            setattr(stored, column, getattr(scenario, column))
        for step in steps:
            step.scenario = stored
        self.changed.append(stored)
        self.removed += before
        self.steps += steps
        return stored

    def write(self, why: str) -> None:
        Scenario.objects.bulk_create(self.created)
        remember("+", self.created, why)
        Scenario.objects.bulk_update(self.changed, _COLUMNS)
        remember("~", self.changed, why)
        remember("-", self.removed, why)
        for part in parts([scenario.pk for scenario in self.changed]):
            Step.objects.filter(scenario__in=part).discard()
        Step.objects.bulk_create(self.steps)
        remember("+", self.steps, why)
        for part in parts([scenario.pk for scenario in self.kept]):
            Step.objects.filter(scenario__in=part).renew_keys()


def _stored(names: Sequence[str]) -> dict[str, Scenario]:
    found: dict[str, Scenario] = {}
    for part in parts(names):
        rows = Scenario.objects.filter(name__in=part).prefetch_related("steps")
        found |= {row.name: row for row in rows}
    return found


def _plain(scenario: Scenario, steps: Iterable[Step]) -> dict[str, Json] | None:
    try:
        return scenario_object(scenario, [step_object(row) for row in steps])
    except DocumentError:
        return None


def _objects(items: Json) -> list[dict[str, Json]]:
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


_STEP = re.compile(r"steps\[(\d+)\]\.?")


@dataclass(frozen=True, slots=True)
class RowProblem:
    """Why a scenario is left out. `step` is the number from 1 of the step it is about, if it is
    about one, and `place` the place in that step's document, else in the scenario's."""

    scenario: str
    step: int | None
    place: str
    message: str

    def __str__(self) -> str:
        step = f"step {self.step}" if self.step else ""
        return ": ".join(part for part in (self.scenario, step, self.place, self.message) if part)


def problems_of(error: DocumentError, scenario: str) -> tuple[RowProblem, ...]:
    """What is wrong with a scenario's document, by step."""
    found: list[RowProblem] = []
    for problem in error.problems:
        step = _STEP.match(problem.place)
        place = problem.place[step.end() :] if step else problem.place
        number = int(step[1]) + 1 if step else None
        found.append(RowProblem(scenario, number, place, problem.message))
    return tuple(found)


def parts(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """As many at a time as one statement may name."""
    return (items[start : start + _PART] for start in range(0, len(items), _PART))


def remember(kind: str, rows: Sequence[AnyScenario] | Sequence[AnyStep], why: str = "") -> None:
    """Enter rows into the history as they are stored, before a deletion and after other changes.

    `kind` is `+`, `~` or `-`, `why` the reason that the entries give."""
    if not rows:
        return
    model: Any = type(rows[0])
    history = model.history.model
    connection = connections[history.objects.db]
    quote = connection.ops.quote_name
    entry = history(
        history_type=kind,
        history_date=timezone.now(),
        history_user=history.get_default_history_user(rows[0]),
        history_change_reason=why or None,
    )
    own = ("history_type", "history_date", "history_user", "history_change_reason")
    fields = [history._meta.get_field(name) for name in own]
    given = [f.get_db_prep_save(getattr(entry, f.attname), connection) for f in fields]
    copied = ", ".join(quote(field.column) for field in history.tracked_fields)
    named = ", ".join(quote(field.column) for field in fields)
    into = f"INSERT INTO {quote(history._meta.db_table)} ({copied}, {named})"
    out_of = f"SELECT {copied}, %s, %s, %s, %s FROM {quote(model._meta.db_table)}"
    with connection.cursor() as cursor:
        for part in parts([row.pk for row in rows]):
            listed = ", ".join(["%s"] * len(part))
            where = f'WHERE "id" IN ({listed}) ORDER BY "id"'
            cursor.execute(f"{into} {out_of} {where}", [*given, *part])


@transaction.atomic
def save_steps(
    *,
    new: Sequence[AnyStep] = (),
    changed: Sequence[AnyStep] = (),
    columns: Collection[str] = (),
    gone: Sequence[AnyStep] = (),
    why: str = "",
) -> None:
    """Store steps of one kind: new ones, `columns` of changed ones, and the end of others."""
    model = next((type(step) for step in (*new, *changed, *gone)), None)
    if model is None:
        return
    rows: Any = model._default_manager
    if model is Step:
        CatalogVersion.bump(rows.db)
    remember("-", gone, why)
    for part in parts([step.pk for step in gone]):
        rows.filter(pk__in=part).discard()
    _write(changed, columns)
    remember("~", changed, why)
    rows.bulk_create(new)
    remember("+", new, why)
    if model is Step:
        announce({step.scenario_id for step in changed}, rows.db)


def _write(steps: Sequence[AnyStep], columns: Iterable[str]) -> None:
    """Columns of rows that are there; `bulk_update` would spell out each row in SQL."""
    if not steps:
        return
    model: Any = type(steps[0])
    fields = [model._meta.get_field(name) for name in columns]
    if model is Step:
        fields.append(model._meta.get_field("version"))
    for step in steps:
        if isinstance(step, Step):
            step.version = new_key()
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
