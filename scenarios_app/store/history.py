"""A scenario's past, read from its history: who changed what and when, and the way back."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, TypeAlias

from django.db.models import Model

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.document import DocumentError
from scenarios_app.models import AnyScenario, Draft, DraftStep, Scenario, Step
from scenarios_app.store import parts, remember
from scenarios_app.store.translate import scenario_object, step_object

# Rows that one person changed within this time were changed by one save.
APART = timedelta(seconds=1)
NOBODY = "no user"
# Why records of the history were written, where it was not by a save.
PUBLISHED = "published from the draft"
_SHOWN = 80
_ORDER = {"order", "updated_at"}
_TIMES = {"created_at", "updated_at"}

_STEPS = (Step.history.model, DraftStep.history.model)
# What tells a step from the others: the number of its row, or its key.
StepId: TypeAlias = int | str


@dataclass(frozen=True, slots=True)
class State:
    """A scenario at one moment: its own part of the document, and its steps in order."""

    scenario: Mapping[str, Json] | None
    steps: Mapping[StepId, Mapping[str, Json]]

    def document(self, name: str) -> dict[str, Json]:
        """As a document, under another name."""
        steps: list[Json] = [dict(step) for step in self.steps.values()]
        return {**(self.scenario or {}), "name": name, "steps": steps}


@dataclass(frozen=True, slots=True)
class Version:
    """What one save made of a scenario; `at` is when it was through, `why` says more of it."""

    at: datetime
    who: str
    changes: tuple[str, ...]
    why: str = ""


@dataclass(slots=True)
class Meanwhile:
    """What others have changed since a moment: `scenario` is what its row was before, None where
    that stayed as it is; `steps` are the rows of steps that changed, by number, None for new ones
    and for those that are gone."""

    who: str = NOBODY
    scenario: Any = None
    steps: dict[int, Any] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.scenario or self.steps)


def record_loaded(rows: Iterable[Model], why: str) -> None:
    """Add versions of the scenarios and steps among rows that a fixture wrote.

    A fixture's rows are saved without history. One that is as its latest version gets no new one.
    """
    keys: dict[Any, list[Any]] = {model: [] for model in (Scenario, Step, Draft, DraftStep)}
    for row in rows:
        if type(row) in keys:
            keys[type(row)].append(row.pk)
    for model, loaded in keys.items():
        for part in parts(loaded):
            records = model.history.filter(id__in=part).order_by("history_date", "history_id")
            latest = {record.id: record for record in records}
            stored = list(model.objects.filter(pk__in=part))
            remember("+", [row for row in stored if row.pk not in latest], why)
            known = [row for row in stored if row.pk in latest]
            remember("~", [row for row in known if _differs(row, latest[row.pk])], why)


def _differs(row: Any, record: Any) -> bool:
    names = {column.attname for column in record.tracked_fields} - _TIMES
    return any(getattr(row, name) != getattr(record, name) for name in names)


def moment_of(text: str) -> datetime:
    """A moment as pages send it back; raises ValueError for what is none."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("a time without its zone")
    return moment


def versions_of(scenario: AnyScenario, *, most: int = 50) -> list[Version]:
    """The newest first; the oldest of them is told by what it changed of the one before."""
    records = sorted(_records(scenario), key=lambda record: record.history_date)
    saves: list[list[Any]] = []
    for record in records:
        if saves and _same_save(saves[-1][-1], record):
            saves[-1].append(record)
        else:
            saves.append([record])
    shown = saves[-most - 1 :]
    states = [_state(records, save[-1].history_date) for save in shown]
    found = [
        _version(save, tuple(changes_between(before, after)))
        for (before, after), save in zip(pairwise(states), shown[1:], strict=True)
    ]
    if len(saves) <= most and saves:
        found.insert(0, _version(saves[0], ("created",)))
    return found[::-1]


def state_at(scenario: AnyScenario, moment: datetime) -> State:
    """What a scenario was at a moment; raises DocumentError where there was none."""
    state = _state(sorted(_records(scenario), key=lambda r: r.history_date), moment)
    if state.scenario is None:
        raise DocumentError("", "There was no such scenario then.")
    return state


def changed_since(scenario: AnyScenario, moment: datetime) -> Meanwhile:
    """What has changed since a moment, moves of steps apart."""
    found = Meanwhile()
    newer = _records(scenario, history_date__gt=moment)
    if not newer:
        return found
    found.who = " and ".join(sorted({_who([record]) for record in newer}))
    for kind, pk in {(type(record), record.id) for record in newer}:
        rows = kind.objects.filter(id=pk).order_by("history_date")
        before, after = rows.filter(history_date__lte=moment).last(), rows.last()
        if not _columns(before, after):
            continue
        was = None if before is None or after.history_type == "-" else before.instance
        if kind in _STEPS:
            found.steps[pk] = was
        else:
            found.scenario = was
    return found


def authors_since(scenario: Scenario, moment: datetime) -> list[str]:
    """Who has changed a scenario since a moment."""
    newer = _records(scenario, history_date__gt=moment)
    return sorted({_who([record]) for record in newer}) or [NOBODY]


def authors_of(rows: Sequence[Draft]) -> dict[int, str]:
    """Who made each draft, by its number."""
    made = Draft.history.filter(id__in=[row.pk for row in rows], history_type="+")
    found = {record.id: _who([record]) for record in made.select_related("history_user")}
    return {row.pk: found.get(row.pk, NOBODY) for row in rows}


def author_of(record: Any) -> str:
    """Who made one change."""
    return _who([record])


def remover_of(name: str) -> str:
    """Who deleted the scenario that had a name last."""
    gone = Scenario.history.filter(name=name, history_type="-").select_related("history_user")
    return _who(gone.order_by("-history_date")[:1])


@dataclass(frozen=True, slots=True)
class Difference:
    """A value that two states of a scenario have different; None where one has none. `step` is its
    number in the state that has it, 0 for the scenario's own."""

    step: int
    place: str
    before: str | None
    after: str | None


def beside(before: State, after: State) -> Iterator[Difference]:
    """What differs between two states of a scenario, side by side."""
    yield from _beside(0, before.scenario or {}, after.scenario or {})
    were = {key: number for number, key in enumerate(before.steps, start=1)}
    for number, (key, step) in enumerate(after.steps.items(), start=1):
        yield from _beside(number, before.steps.get(key, {}), step)
    for key, number in were.items():
        if key not in after.steps:
            yield from _beside(number, before.steps[key], {})


def _beside(
    step: int, before: Mapping[str, Json], after: Mapping[str, Json]
) -> Iterator[Difference]:
    old, new = dict(_places(dict(before))), dict(_places(dict(after)))
    for place in dict.fromkeys([*old, *new]):
        if old.get(place, _NONE) != new.get(place, _NONE):
            yield Difference(step, place, _told(old, place), _told(new, place))


_NONE = object()


def _told(values: Mapping[str, Json], place: str) -> str | None:
    if place not in values:
        return None
    value = values[place]
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def changes_between(before: State, after: State) -> Iterator[str]:
    """The changes that make one state of a scenario of another, each in a line."""
    yield from _differences("", before.scenario or {}, after.scenario or {})
    numbers = {key: number for number, key in enumerate(after.steps, start=1)}
    were = {key: number for number, key in enumerate(before.steps, start=1)}
    for key, number in were.items():
        if key not in numbers:
            yield f"step {number} removed"
    for key, number in numbers.items():
        if key not in were:
            yield f"step {number} added"
        else:
            yield from _differences(f"step {number}: ", before.steps[key], after.steps[key])
    stayed = [key for key in before.steps if key in numbers]
    if stayed != [key for key in after.steps if key in were]:
        yield "steps moved"


def _columns(before: Any, after: Any) -> set[str]:
    """The columns in which two records of a row differ."""
    if before is None or after is None:
        return {"id"}
    names = {column.name for column in after.tracked_fields} - _ORDER
    return {name for name in names if getattr(before, name) != getattr(after, name)}


def _version(save: list[Any], changes: tuple[str, ...]) -> Version:
    why = next(
        (record.history_change_reason for record in save if record.history_change_reason), ""
    )
    return Version(save[-1].history_date, _who(save), changes, why)


def _records(scenario: AnyScenario, **those: Any) -> list[Any]:
    own = type(scenario).history.filter(id=scenario.pk, **those)
    steps = scenario.steps.model.history.filter(scenario_id=scenario.pk, **those)
    return [*own.select_related("history_user"), *steps.select_related("history_user")]


def _same_save(one: Any, other: Any) -> bool:
    return bool(
        one.history_user_id == other.history_user_id
        and one.history_change_reason == other.history_change_reason
        and other.history_date - one.history_date < APART
    )


def _who(records: Iterable[Any]) -> str:
    for record in records:
        if record.history_user is not None:
            return str(record.history_user)
    return NOBODY


def _state(records: Iterable[Any], moment: datetime) -> State:
    """Records come in the order of their times."""
    latest: dict[tuple[bool, int], Any] = {}
    for record in records:
        if record.history_date <= moment:
            latest[_is_step(record), record.id] = record
    alive = [record for record in latest.values() if record.history_type != "-"]
    own = next((record for record in alive if not _is_step(record)), None)
    steps = sorted((r for r in alive if _is_step(r)), key=lambda r: (r.order, r.id))
    return State(
        None if own is None else scenario_object(own.instance, []),
        {step.id: step_object(step.instance) for step in steps},
    )


def _is_step(record: Any) -> bool:
    return isinstance(record, _STEPS)


def _differences(
    where: str, before: Mapping[str, Json], after: Mapping[str, Json]
) -> Iterator[str]:
    old, new = dict(_places(dict(before))), dict(_places(dict(after)))
    for place in dict.fromkeys([*old, *new]):
        if place not in new:
            yield f"{where}{place} removed, it was {_shown(old[place])}"
        elif place not in old:
            yield f"{where}{place} set to {_shown(new[place])}"
        elif old[place] != new[place]:
            yield f"{where}{place} from {_shown(old[place])} to {_shown(new[place])}"


def _places(value: Json, place: str = "") -> Iterator[tuple[str, Json]]:
    """Every value of a document that holds no other, by its place."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _places(inner, f"{place}.{key}" if place else key)
    elif isinstance(value, list) and any(isinstance(inner, dict | list) for inner in value):
        for number, inner in enumerate(value):
            yield from _places(inner, f"{place}[{number}]")
    else:
        yield place, value


def _shown(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
