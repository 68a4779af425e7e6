"""Versions of a scenario, read from its history: who changed what and when."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import MAXYEAR, UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, TypeAlias

from django.db.models import Model

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.document import DocumentError
from scenarios_app.models import AnyScenario, Draft, DraftStep, Scenario, Step
from scenarios_app.store import add_history, batches, own_document

# Changes by one person within this time belong to one save.
SAVE_GAP = timedelta(seconds=1)
NO_USER = "no user"
# The reason in the history of a published draft.
PUBLISHED = "published from the draft"
INVALID = "not compared: this version or the one before is invalid"
MAX_VERSIONS = 50
_MAX_VALUE_CHARS = 80
_UNTRACKED_COLUMNS = {"order", "updated_at"}
_TIME_COLUMNS = {"created_at", "updated_at"}

_STEP_HISTORIES = (Step.history.model, DraftStep.history.model)
# Identifies a step: its primary key or its `key`.
StepId: TypeAlias = int | str


@dataclass(frozen=True, slots=True)
class State:
    """A scenario at one time: its own part of the document, None if it did not exist, and its steps
    in order."""

    scenario: Mapping[str, Json] | None
    steps: Mapping[StepId, Mapping[str, Json]]

    def document(self, name: str) -> dict[str, Json]:
        """Return the document of this state under another name."""
        steps: list[Json] = [dict(step) for step in self.steps.values()]
        return {**(self.scenario or {}), "name": name, "steps": steps}


@dataclass(frozen=True, slots=True)
class Version:
    """The result of one save. `at` is when it was finished; `reason` names a cause other than an
    edit."""

    at: datetime
    who: str
    changes: tuple[str, ...]
    reason: str = ""


@dataclass(slots=True)
class ConcurrentChanges:
    """The changes of a scenario by others since a time.

    `scenario` is the old row, None if it did not change. `steps` are the old rows of changed steps
    by primary key, None for new and deleted ones.
    """

    who: str = NO_USER
    scenario: Any = None
    steps: dict[int, Any] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.scenario or self.steps)


def record_loaded(rows: Iterable[Model], reason: str) -> None:
    """Add versions of the scenarios, drafts and steps that a fixture wrote, since its rows are
    saved without history. A row that equals its latest version gets no new one."""
    keys: dict[Any, list[Any]] = {model: [] for model in (Scenario, Step, Draft, DraftStep)}
    for row in rows:
        if type(row) in keys:
            keys[type(row)].append(row.pk)
    for model, loaded in keys.items():
        for part in batches(loaded):
            records = model.history.filter(id__in=part).order_by("history_date", "history_id")
            latest = {record.id: record for record in records}
            stored = list(model.objects.filter(pk__in=part))
            add_history("+", [row for row in stored if row.pk not in latest], reason)
            recorded = [row for row in stored if row.pk in latest]
            changed = [row for row in recorded if _differs(row, latest[row.pk], _TIME_COLUMNS)]
            add_history("~", changed, reason)


def _differs(row: Any, record: Any, ignored: set[str]) -> bool:
    """Return whether a row or record differs from another record of it in other columns."""
    names = {column.attname for column in record.tracked_fields} - ignored
    return any(repr(getattr(row, name)) != repr(getattr(record, name)) for name in names)


def parse_time(text: str) -> datetime:
    """Return a time that a page sends back, in UTC. Raises ValueError."""
    time = datetime.fromisoformat(text)
    if time.tzinfo is None or not 1 < time.year < MAXYEAR:
        raise ValueError("a time without its zone, or at an end of the calendar")
    return time.astimezone(UTC)


def versions_of(scenario: AnyScenario) -> list[Version]:
    """Return the latest MAX_VERSIONS versions, the newest first, each with its changes from the one
    before."""
    records = _history_records(scenario)
    saves: list[list[Any]] = []
    for record in records:
        if saves and _same_save(saves[-1][-1], record):
            saves[-1].append(record)
        else:
            saves.append([record])
    recent = saves[-MAX_VERSIONS - 1 :]
    states = [_valid_state(records, save[-1].history_date) for save in recent]
    versions = [
        _version_of(save, tuple(changes_between(before, after)) if before and after else (INVALID,))
        for (before, after), save in zip(pairwise(states), recent[1:], strict=True)
    ]
    if len(saves) <= MAX_VERSIONS and saves:
        versions.insert(0, _version_of(saves[0], ("created",)))
    return versions[::-1]


def state_at(scenario: AnyScenario, time: datetime) -> State:
    """Return the state of a scenario at a time. Raises DocumentError if it did not exist."""
    state = _state(_history_records(scenario), time)
    if state.scenario is None:
        raise DocumentError("", "There was no such scenario then.")
    return state


def changed_since(scenario: AnyScenario, time: datetime) -> ConcurrentChanges:
    """Return what changed since a time; moved steps do not count."""
    newer = _history_records(scenario, history_date__gt=time)
    changes = ConcurrentChanges(" and ".join(_authors_of_each(newer)) or NO_USER)
    for kind, pk in {(type(record), record.id) for record in newer}:
        rows = kind.objects.filter(id=pk).order_by("history_date")
        before, after = rows.filter(history_date__lte=time).last(), rows.last()
        if before is not None and not _differs(before, after, _UNTRACKED_COLUMNS):
            continue
        was = None if before is None or after.history_type == "-" else before.instance
        if kind in _STEP_HISTORIES:
            changes.steps[pk] = was
        else:
            changes.scenario = was
    return changes


def editors_since(scenario: Scenario, time: datetime) -> list[str]:
    """Return who has changed a scenario since a time; NO_USER alone if there is no record."""
    return _authors_of_each(_history_records(scenario, history_date__gt=time)) or [NO_USER]


def authors_of(rows: Sequence[Draft]) -> dict[int, str]:
    """Return who created each draft, by primary key."""
    creations = Draft.history.filter(id__in=[row.pk for row in rows], history_type="+")
    authors = {record.id: author_of(record) for record in creations.select_related("history_user")}
    return {row.pk: authors.get(row.pk, NO_USER) for row in rows}


def author_of(*records: Any) -> str:
    """Return the first user of the records of one save, or NO_USER."""
    return next((str(one.history_user) for one in records if one.history_user), NO_USER)


def _authors_of_each(records: Iterable[Any]) -> list[str]:
    """Return the authors of the records, sorted and each once."""
    return sorted({author_of(record) for record in records})


def last_deleter_of(name: str) -> str:
    """Return who last deleted a scenario of this name, or NO_USER."""
    gone = Scenario.history.filter(name=name, history_type="-").select_related("history_user")
    return author_of(*gone.order_by("-history_date")[:1])


@dataclass(frozen=True, slots=True)
class Difference:
    """A value that differs between two states; None where it is missing. `step` is the step's
    number, 0 for the scenario itself."""

    step: int
    place: str
    before: str | None
    after: str | None


def compare_states(before: State, after: State) -> Iterator[Difference]:
    """Yield the values that differ between two states."""
    objects = [(0, before.scenario or {}, after.scenario or {})]
    for number, (key, step) in enumerate(after.steps.items(), start=1):
        objects.append((number, before.steps.get(key, {}), step))
    for number, (key, step) in enumerate(before.steps.items(), start=1):
        if key not in after.steps:
            objects.append((number, step, {}))
    for number, old_object, new_object in objects:
        for place, old, new in _changed_values(old_object, new_object):
            yield Difference(number, place, _value_text(old), _value_text(new))


_MISSING: Any = object()


def _changed_values(
    before: Mapping[str, Json], after: Mapping[str, Json]
) -> Iterator[tuple[str, Json, Json]]:
    """Yield the places at which two objects differ, with both values; _MISSING for none."""
    old, new = dict(_leaf_values(dict(before))), dict(_leaf_values(dict(after)))
    for place in dict.fromkeys([*old, *new]):
        old_value, new_value = old.get(place, _MISSING), new.get(place, _MISSING)
        # Compared as text: 1 is not true.
        if repr(old_value) != repr(new_value):
            yield place, old_value, new_value


def _value_text(value: Json) -> str | None:
    """Return a text unchanged, another value as JSON, or None for _MISSING."""
    if value is _MISSING:
        return None
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def changes_between(before: State, after: State) -> Iterator[str]:
    """Yield the changes from one state to another, one line each."""
    yield from _describe_differences("", before.scenario or {}, after.scenario or {})
    for number, key in enumerate(before.steps, start=1):
        if key not in after.steps:
            yield f"step {number} removed"
    for number, key in enumerate(after.steps, start=1):
        if key not in before.steps:
            yield f"step {number} added"
        else:
            yield from _describe_differences(
                f"step {number}: ", before.steps[key], after.steps[key]
            )
    common = [key for key in before.steps if key in after.steps]
    if common != [key for key in after.steps if key in before.steps]:
        yield "steps moved"


def _version_of(save: list[Any], changes: tuple[str, ...]) -> Version:
    """Return the version that the records of one save make."""
    reason = next(filter(None, (record.history_change_reason for record in save)), "")
    return Version(save[-1].history_date, author_of(*save), changes, reason)


def _history_records(scenario: AnyScenario, **those: Any) -> list[Any]:
    """Return the history records of a scenario and its steps that fit the filters, by time."""
    own = type(scenario).history.filter(id=scenario.pk, **those)
    steps = scenario.steps.model.history.filter(scenario_id=scenario.pk, **those)
    records = [*own.select_related("history_user"), *steps.select_related("history_user")]
    return sorted(records, key=lambda record: record.history_date)


def _same_save(one: Any, other: Any) -> bool:
    """Return whether two records have one user and reason, less than SAVE_GAP apart."""
    return bool(
        one.history_user_id == other.history_user_id
        and one.history_change_reason == other.history_change_reason
        and other.history_date - one.history_date < SAVE_GAP
    )


def _state(records: Iterable[Any], time: datetime) -> State:
    """Return the state at a time; `records` are sorted by time. Raises DocumentError."""
    latest: dict[tuple[bool, int], Any] = {}
    for record in records:
        if record.history_date <= time:
            latest[_is_step(record), record.id] = record
    alive = [record for record in latest.values() if record.history_type != "-"]
    own = next((record for record in alive if not _is_step(record)), None)
    steps = sorted((r for r in alive if _is_step(r)), key=lambda r: (r.order, r.id))
    return State(
        None if own is None else own_document(own.instance),
        {step.id: step.document for step in steps},
    )


def _valid_state(records: Iterable[Any], time: datetime) -> State | None:
    """Return the state at a time as by `_state`, or None if its rows are invalid."""
    try:
        return _state(records, time)
    except DocumentError:
        return None


def _is_step(record: Any) -> bool:
    return isinstance(record, _STEP_HISTORIES)


def _describe_differences(
    where: str, before: Mapping[str, Json], after: Mapping[str, Json]
) -> Iterator[str]:
    """Yield a line for each value that was added, removed or changed."""
    for place, old, new in _changed_values(before, after):
        if new is _MISSING:
            yield f"{where}{place} removed, it was {_short_json(old)}"
        elif old is _MISSING:
            yield f"{where}{place} set to {_short_json(new)}"
        else:
            yield f"{where}{place} from {_short_json(old)} to {_short_json(new)}"


def _leaf_values(value: Json, place: str = "") -> Iterator[tuple[str, Json]]:
    """Yield every leaf with its place in the document: a plain value, an empty object, or a list
    without objects or lists."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _leaf_values(inner, f"{place}.{key}" if place else key)
    elif isinstance(value, list) and any(isinstance(inner, dict | list) for inner in value):
        for number, inner in enumerate(value):
            yield from _leaf_values(inner, f"{place}[{number}]")
    else:
        yield place, value


def _short_json(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MAX_VALUE_CHARS else f"{text[: _MAX_VALUE_CHARS - 1]}…"
