"""A scenario's past, read from its history: who changed what and when, and the way back."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from django.db import transaction

from scenarios_app.columns import scenario_object, step_object
from scenarios_app.engine.canonical import Json
from scenarios_app.engine.document import DocumentError, load_documents
from scenarios_app.models import Scenario, Step
from scenarios_app.rows import limits, save_document

# Rows that one person changed within this time were changed by one save.
APART = timedelta(seconds=1)
NOBODY = "somebody without a login"
_SHOWN = 80
_ORDER = {"order", "updated_at"}


@dataclass(frozen=True, slots=True)
class State:
    """A scenario at one moment: its own part of the document, and its steps in order by the
    numbers of their rows."""

    scenario: Mapping[str, Json] | None
    steps: Mapping[int, Mapping[str, Json]]

    def document(self, name: str) -> dict[str, Json]:
        """As a document, under another name."""
        steps: list[Json] = [dict(step) for step in self.steps.values()]
        return {**(self.scenario or {}), "name": name, "steps": steps}


@dataclass(frozen=True, slots=True)
class Version:
    """What one save made of a scenario; `at` is when it was through."""

    at: datetime
    who: str
    changes: tuple[str, ...]


@dataclass(slots=True)
class Meanwhile:
    """What others have changed since a moment: columns of the scenario, and steps by number."""

    who: str = NOBODY
    columns: set[str] = field(default_factory=set)
    steps: set[int] = field(default_factory=set)

    def __bool__(self) -> bool:
        return bool(self.columns or self.steps)


def moment_of(text: str) -> datetime:
    """A moment as pages send it back; raises ValueError for whatever is none."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("a time without its zone")
    return moment


def versions_of(scenario: Scenario, *, most: int = 50) -> list[Version]:
    """The newest first; the oldest of them is told by what it changed of the one before."""
    records = sorted(_records(scenario), key=lambda record: record.history_date)
    saves: list[list[Any]] = []
    for record in records:
        if saves and _same_save(saves[-1][-1], record):
            saves[-1].append(record)
        else:
            saves.append([record])
    ends = [save[-1].history_date for save in saves][-most - 1 :]
    authors = [_who(save) for save in saves][-most - 1 :]
    states = [_state(records, end) for end in ends]
    found = [
        Version(end, who, tuple(_changes(before, after)))
        for (before, after), end, who in zip(pairwise(states), ends[1:], authors[1:], strict=True)
    ]
    if len(saves) <= most and states:
        found.insert(0, Version(ends[0], authors[0], ("made",)))
    return found[::-1]


def restore(scenario: Scenario, moment: datetime) -> Scenario:
    """Make a scenario what it was at a moment, under the name that it has now. Raises
    DocumentError where this server would not take it any more, and changes nothing then."""
    state = _state(sorted(_records(scenario), key=lambda r: r.history_date), moment)
    if state.scenario is None:
        raise DocumentError("", "There was no such scenario then.")
    (document,) = load_documents(state.document(scenario.name), limits=limits())
    with transaction.atomic():
        return save_document(document)


def changed_since(scenario: Scenario, moment: datetime) -> Meanwhile:
    """What has changed since a moment, moves of steps apart."""
    found = Meanwhile()
    newer = [record for record in _records(scenario) if record.history_date > moment]
    if not newer:
        return found
    found.who = _who(newer)
    for is_step, pk in {(_is_step(record), record.id) for record in newer}:
        rows = (Step if is_step else Scenario).history.filter(id=pk).order_by("history_date")
        columns = _columns(rows.filter(history_date__lte=moment).last(), rows.last())
        if not is_step:
            found.columns |= columns
        elif columns:
            found.steps.add(pk)
    return found


def _columns(before: Any, after: Any) -> set[str]:
    """The columns in which two records of a row differ."""
    if before is None or after is None:
        return {"id"}
    names = {column.name for column in after.tracked_fields} - _ORDER
    return {name for name in names if getattr(before, name) != getattr(after, name)}


def _records(scenario: Scenario) -> list[Any]:
    own = Scenario.history.filter(id=scenario.pk)
    steps = Step.history.filter(scenario_id=scenario.pk)
    return [*own.select_related("history_user"), *steps.select_related("history_user")]


def _same_save(one: Any, other: Any) -> bool:
    return bool(
        one.history_user_id == other.history_user_id
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
    return isinstance(record, Step.history.model)


def _changes(before: State, after: State) -> Iterator[str]:
    yield from _differences("", before.scenario or {}, after.scenario or {})
    numbers = {pk: number for number, pk in enumerate(after.steps, start=1)}
    were = {pk: number for number, pk in enumerate(before.steps, start=1)}
    for pk, number in were.items():
        if pk not in numbers:
            yield f"step {number} removed"
    for pk, number in numbers.items():
        if pk not in were:
            yield f"step {number} added"
        else:
            yield from _differences(f"step {number}: ", before.steps[pk], after.steps[pk])
    stayed = [pk for pk in before.steps if pk in numbers]
    if stayed != [pk for pk in after.steps if pk in were]:
        yield "steps moved"


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
