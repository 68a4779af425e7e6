"""Versions of a scenario, read from its revisions: who changed what and when."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import MAXYEAR, UTC, datetime
from itertools import zip_longest
from typing import Any, TypeAlias

from django.db.models import QuerySet

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.document import DocumentError
from scenarios_app.models import AnyScenario, Draft, Revision, Scenario
from scenarios_app.store import set_own_document, split_document, whole_document

NO_USER = "no user"
# The reason in the history of a published draft.
PUBLISHED = "published from the draft"
MAX_VERSIONS = 50
_MAX_VALUE_CHARS = 80

# The key of a step, or in a state without keys its number.
StepId: TypeAlias = int | str


@dataclass(frozen=True, slots=True)
class State:
    """A scenario at one time: its own part of the document, None if it did not exist, and its steps
    in order. Either may be invalid."""

    scenario: Mapping[str, Json] | None
    steps: Mapping[StepId, Json]

    def document(self, name: str) -> dict[str, Json]:
        """Return the document of this state under another name."""
        return {**(self.scenario or {}), "name": name, "steps": [*self.steps.values()]}

    @classmethod
    def of(cls, document: Mapping[str, Any], step_keys: Sequence[str]) -> "State":
        """Return the state of a document whose steps have these keys."""
        own, steps = split_document(document)
        keys: Sequence[StepId] = step_keys
        if not len(step_keys) == len(set(step_keys)) == len(steps):
            # As in a fixture written by hand.
            keys = range(len(steps))
        return cls(own, dict(zip(keys, steps, strict=True)))

    def with_keys(self, keys: Mapping[StepId, StepId]) -> "State":
        """Return the state with the steps' keys replaced as `keys` maps them; other keys stay."""
        return State(self.scenario, {keys.get(key, key): s for key, s in self.steps.items()})


@dataclass(frozen=True, slots=True)
class Version:
    """The result of one save at a time; `reason` names a cause other than an edit."""

    at: datetime
    who: str
    changes: tuple[str, ...]
    reason: str = ""


@dataclass(slots=True)
class ConcurrentChanges:
    """The changes of a scenario by others since a time.

    `scenario` is the old row, None if it did not change. `steps` are the old rows of changed steps
    by primary key, None for new ones. `deleted_steps` counts steps that were deleted.
    """

    who: str = NO_USER
    scenario: Any = None
    steps: dict[int, Any] = field(default_factory=dict)
    deleted_steps: int = 0

    def __bool__(self) -> bool:
        return bool(self.scenario or self.steps or self.deleted_steps)


def parse_time(text: str) -> datetime:
    """Return a time that a page sends back, in UTC. Raises ValueError."""
    time = datetime.fromisoformat(text)
    if time.tzinfo is None or not 1 < time.year < MAXYEAR:
        raise ValueError("a time without its zone, or at an end of the calendar")
    return time.astimezone(UTC)


def versions_of(scenario: AnyScenario) -> list[Version]:
    """Return the latest MAX_VERSIONS versions, the newest first, each with its changes from the one
    before."""
    revisions = list(Revision.objects.of(scenario).reverse()[: MAX_VERSIONS + 1])
    versions: list[Version] = []
    for revision, before in zip_longest(revisions, revisions[1:]):
        if revision.deleted:
            changes: tuple[str, ...] = ("deleted",)
        elif before is None:
            changes = ("created",)
        else:
            changes = tuple(changes_between(_state_of(before), _state_of(revision)))
        versions.append(Version(revision.at, revision.user or NO_USER, changes, revision.reason))
    return versions[:MAX_VERSIONS]


def current_state(scenario: AnyScenario) -> State:
    """Return the stored state of a scenario or draft."""
    steps: list[Any] = list(scenario.steps.all())
    return State.of(whole_document(scenario, steps), [step.key for step in steps])


def state_at(scenario: AnyScenario, time: datetime) -> State:
    """Return the state of a scenario at a time. Raises DocumentError if it did not exist."""
    revision = Revision.objects.of(scenario).filter(at__lte=time).last()
    if revision is None:
        raise DocumentError("", "There was no such scenario then.")
    return _state_of(revision)


def changed_since(scenario: AnyScenario, time: datetime) -> ConcurrentChanges:
    """Return what changed since a time; moved steps do not count."""
    revisions = Revision.objects.of(scenario)
    newer = list(revisions.filter(at__gt=time))
    if not newer:
        return ConcurrentChanges()
    changes = ConcurrentChanges(" and ".join(_authors(newer)))
    old = revisions.filter(at__lte=time).last()
    after = _state_of(newer[-1])
    before = State(None, {}) if old is None else _state_of(old)
    before = before.with_keys(current_keys(before, after))
    if before.scenario is not None and not _is_same(_own(before), _own(after)):
        changes.scenario = type(scenario)()
        set_own_document(changes.scenario, before.scenario)
    stored = dict(scenario.steps.values_list("key", "pk"))
    for key, step in after.steps.items():
        was: Any = before.steps.get(key)
        if key in stored and not _is_same(was, step):
            changes.steps[stored[key]] = was and scenario.steps.model(key=key, document=was)
    changes.deleted_steps = len(before.steps.keys() - after.steps.keys())
    return changes


def editors_since(scenario: Scenario, time: datetime) -> list[str]:
    """Return who has changed a scenario since a time; NO_USER alone if there is no record."""
    return _authors(Revision.objects.of(scenario).filter(at__gt=time)) or [NO_USER]


def authors_of(rows: Sequence[Draft]) -> dict[int, str]:
    """Return who created each draft, by primary key."""
    revisions = Revision.objects.filter(kind="draft", key__in=[row.key for row in rows])
    users = dict(revisions.first_of_each().values_list("key", "user"))
    return {row.pk: users.get(row.key) or NO_USER for row in rows}


def deletions() -> QuerySet[Revision]:
    """Return the last revisions of deleted scenarios, the latest first."""
    rows = Revision.objects.filter(kind="scenario", deleted=True)
    return rows.latest_of_each().order_by("-at", "-pk")


def last_deleter_of(name: str) -> str:
    """Return who last deleted a scenario of this name, or NO_USER."""
    users = (gone.user for gone in deletions() if gone.document.get("name") == name)
    return next(users, "") or NO_USER


def current_keys(before: State, now: State) -> dict[StepId, StepId]:
    """Map the keys of earlier steps to those that they have now. A step whose key is unknown now is
    an equal one with a new key, since loading a document again renews all keys."""
    new: dict[str, list[StepId]] = {}
    for key, step in now.steps.items():
        if key not in before.steps:
            new.setdefault(json.dumps(step), []).append(key)
    keys: dict[StepId, StepId] = {}
    for key, step in before.steps.items():
        if key in now.steps:
            keys[key] = key
        elif equal := new.get(json.dumps(step)):
            keys[key] = equal.pop(0)
    return keys


def _state_of(revision: Revision) -> State:
    return State.of(revision.document, revision.step_keys)


def _authors(revisions: Iterable[Revision]) -> list[str]:
    """Return the authors of the revisions, sorted and each once."""
    return sorted({revision.user or NO_USER for revision in revisions})


def _is_same(one: Any, other: Any) -> bool:
    # Compared as text: 1 is not true.
    return json.dumps(one) == json.dumps(other)


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
    before = before.with_keys(current_keys(before, after))
    objects: list[tuple[int, Json, Json]] = [(0, _own(before), _own(after))]
    for number, (key, step) in enumerate(after.steps.items(), start=1):
        objects.append((number, before.steps.get(key, {}), step))
    for number, (key, step) in enumerate(before.steps.items(), start=1):
        if key not in after.steps:
            objects.append((number, step, {}))
    for number, old_object, new_object in objects:
        for place, old, new in _changed_values(old_object, new_object):
            yield Difference(number, place, _value_text(old), _value_text(new))


_MISSING: Any = object()


def _own(state: State) -> dict[str, Json]:
    """Return a scenario's own part of its document without the place of the steps."""
    return {key: value for key, value in (state.scenario or {}).items() if key != "steps"}


def _changed_values(before: Json, after: Json) -> Iterator[tuple[str, Json, Json]]:
    """Yield the places at which two objects differ, with both values; _MISSING for none."""
    old, new = dict(_leaf_values(before)), dict(_leaf_values(after))
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
    before = before.with_keys(current_keys(before, after))
    yield from _describe_differences("", _own(before), _own(after))
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


def _describe_differences(where: str, before: Json, after: Json) -> Iterator[str]:
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
