"""Drafts: copies of published scenarios to work on, and how they take the place of these."""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from itertools import count
from typing import Any

from django.db import DEFAULT_DB_ALIAS, models, transaction
from django.db.models import Max
from django.utils import timezone

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.document import (
    DocumentError,
    ScenarioDocument,
    compile_scenario,
    load_documents,
)
from scenarios_app.engine.scenario import Scenario as Compiled
from scenarios_app.models import (
    AnyScenario,
    CatalogVersion,
    Draft,
    DraftStep,
    Scenario,
    Step,
    StepColumns,
    new_key,
)
from scenarios_app.store import RowProblem, document_of, limits, problems_of, rows_of, save_steps
from scenarios_app.store.columns import SCENARIO_KEYS
from scenarios_app.store.history import (
    PUBLISHED,
    State,
    StepId,
    authors_since,
    changes_between,
    remover_of,
    state_at,
)
from scenarios_app.store.translate import scenario_object, step_object

DELETED = "the published scenario was deleted"
NAME_TAKEN = "another scenario has this name"
# A document's name has so many characters at most.
NAME_LENGTH = 200

_SCENARIO = (*SCENARIO_KEYS, "extra")
_STEP = tuple(column.name for column in StepColumns._meta.local_concrete_fields)
_NOTHING = State(None, {})


class NotPublished(Exception):
    """A draft stays one; the message says why."""


@dataclass(frozen=True, slots=True)
class Publication:
    """What publishing a draft would do now. `changes` are those of the published scenario, if
    there is one; `meanwhile` is what `who` changed of it since the draft was made. `token` names
    all that was looked at: when it differs, something has changed."""

    changes: tuple[str, ...]
    meanwhile: tuple[str, ...]
    who: str
    problems: tuple[RowProblem, ...]
    token: str


def draft_of(scenario: Scenario) -> tuple[Draft, bool]:
    """The draft of a published scenario, and whether it was made just now, as a copy. Raises
    DocumentError where the scenario cannot be read."""
    with transaction.atomic():
        # Who else asks for it waits, and then finds this one.
        published = Scenario.objects.select_for_update().get(pk=scenario.pk)
        if found := Draft.objects.filter(published=published).first():
            return found, False
        state = _state_of(published)
        base = {"scenario": state.scenario, "steps": state.steps}
        draft = Draft(published=published, base=base, **_values(published, _SCENARIO))
        draft.save()
        _fill(draft, [(step.key, step) for step in published.steps.all()])
    return draft, True


def drafted(document: ScenarioDocument) -> Draft:
    """A new draft of what a document says, of no published scenario; where another scenario or
    draft has the name, with a number behind it."""
    scenario, steps = rows_of(document)
    with transaction.atomic():
        draft = Draft(**_values(scenario, _SCENARIO))
        draft.name = free_name(document.name)
        draft.save()
        _fill(draft, [(new_key(), step) for step in steps])
    return draft


def append_step(scenario: AnyScenario, step: Step) -> None:
    """Store a copy of a step as the last one of a scenario or a draft."""
    last = scenario.steps.aggregate(last=Max("order"))["last"] or 0
    model: Any = scenario.steps.model
    values = _values(step, _STEP) | {"order": last + 1}
    save_steps(new=[model(scenario=scenario, key=new_key(), **values)])


def free_name(name: str, *, drafts: bool = True, taken: Collection[str] = ()) -> str:
    """The name, with a number behind it where a scenario has it already, or a draft too, or it is
    one of the `taken` names."""
    kinds: tuple[Any, ...] = (Scenario, Draft) if drafts else (Scenario,)
    for number in count(1):
        suffix = f" ({number})" if number > 1 else ""
        free = f"{name[: NAME_LENGTH - len(suffix)]}{suffix}"
        if free not in taken and not any(
            model.objects.filter(name=free).exists() for model in kinds
        ):
            break
    return free


def publication_of(draft: Draft) -> Publication:
    """What publishing it would do, and what stands against it."""
    # What the draft's row remembers of it may be old.
    published = Scenario.objects.filter(pk=draft.published_id or 0).first()
    problems = _problems_of(draft)
    base, now, mine = _base_of(draft), _NOTHING, _NOTHING
    try:
        now = _state_of(published) if published else _NOTHING
        mine = _state_of(draft)
    except DocumentError as error:
        problems = problems or problems_of(error, draft.name)
    known = _present_keys(base, now)
    meanwhile: tuple[str, ...] = ()
    if published:
        meanwhile = tuple(changes_between(_with_keys(base, known), now))
    elif base.scenario:
        meanwhile = (DELETED,)
    return Publication(
        changes=tuple(changes_between(now, _with_keys(mine, known))) if published else (),
        meanwhile=meanwhile,
        who=_who(published, draft, base) if meanwhile else "",
        problems=problems,
        token=sha256(f"{_text(now)}\n{_text(mine)}\n{meanwhile}".encode()).hexdigest(),
    )


def compiled_draft(draft: Draft) -> list[Compiled]:
    """What requests would see of it and of the scenario that it replaces, which gives up its name
    to it. Raises DocumentError."""
    steps = list(draft.steps.all())
    document, keys = document_of(draft, steps), [step.key for step in steps]
    own = compile_scenario(document, step_keys=keys) if draft.enabled else Compiled(draft.name)
    gone = draft.published.name if draft.published else draft.name
    return [own] if gone == draft.name else [Compiled(gone), own]


def publish(draft: Draft, *, seen: str, over: bool = False) -> Scenario:
    """Make the published scenario what its draft says, and the draft gone; or a new scenario of
    a draft that is of none. Raises NotPublished, and changes nothing then.

    `seen` is the token of the publication that was looked at; `over` publishes over what others
    have changed meanwhile. Steps that come from published ones keep their keys.
    """
    with transaction.atomic():
        # All who write scenarios wait from here on.
        CatalogVersion.bump(DEFAULT_DB_ALIAS)
        latest = Draft.objects.select_related("published").filter(pk=draft.pk).first()
        if latest is None:
            raise NotPublished("It has been published or discarded in the meantime.")
        found = publication_of(latest)
        if found.token != seen:
            raise NotPublished("It has changed since you looked. Look at it again.")
        if found.problems:
            raise NotPublished("It has errors.")
        if found.meanwhile and not over:
            raise NotPublished(f"{found.who} changed the published scenario since it was made.")
        scenario = _write(latest)
        discard(latest)
    return scenario


@transaction.atomic
def discard(draft: Draft) -> None:
    """Delete a draft and its past, and nothing else."""
    pk = draft.pk
    draft.delete()
    for model, column in ((Draft, "id"), (DraftStep, "scenario_id")):
        model.history.filter(**{column: pk}).delete()


def restore(scenario: AnyScenario, moment: datetime) -> None:
    """Make a scenario or a draft what it was at a moment, under the name that it has now. Steps
    that are still there stay themselves: for sessions, and for what counts their answers. Raises
    DocumentError where this server would not take it any more, and changes nothing then."""
    state = state_at(scenario, moment)
    (document,) = load_documents(state.document(scenario.name), limits=limits())
    row, steps = rows_of(document)
    known = scenario.steps if isinstance(scenario, Scenario) else _past_steps(scenario)
    keys: dict[StepId, str] = dict(known.values_list("id", "key"))
    with transaction.atomic():
        _set(scenario, row, _SCENARIO)
        scenario.updated_at = timezone.now()
        scenario.save()
        found = zip(state.steps, steps, strict=True)
        _fill(scenario, [(keys.get(pk) or new_key(), step) for pk, step in found])


def _past_steps(draft: Draft) -> Any:
    return DraftStep.history.filter(scenario_id=draft.pk)


def _write(draft: Draft) -> Scenario:
    scenario = draft.published or Scenario()
    known = _present_keys(_base_of(draft), _state_of(scenario)) if scenario.pk else {}
    rows = [(known.get(row.key) or new_key(), row) for row in draft.steps.all()]
    _set(scenario, draft, _SCENARIO)
    _say(scenario, PUBLISHED)
    scenario.save()
    _fill(scenario, rows, why=PUBLISHED)
    return scenario


def _fill(scenario: AnyScenario, rows: Iterable[tuple[str, StepColumns]], why: str = "") -> None:
    """Give a scenario these steps by their keys; those that it has and that differ are changed."""
    model: Any = scenario.steps.model
    there = {step.key: step for step in scenario.steps.all()}
    new: list[Any] = []
    changed: list[Any] = []
    for key, row in rows:
        step: Any = there.pop(key, None)
        if step is None:
            new.append(model(scenario=scenario, key=key, **_values(row, _STEP)))
        elif _differ(step, row):
            _set(step, row, _STEP)
            changed.append(step)
    save_steps(new=new, changed=changed, columns=_STEP, gone=list(there.values()), why=why)


def _problems_of(draft: Draft) -> tuple[RowProblem, ...]:
    """What a save would refuse, or the name that somebody else has."""
    others = Scenario.objects.filter(name=draft.name).exclude(pk=draft.published_id or 0)
    if others.exists():
        return (RowProblem(draft.name, None, "name", NAME_TAKEN),)
    try:
        compile_scenario(document_of(draft))
    except DocumentError as error:
        return problems_of(error, draft.name)
    return ()


def _who(published: Scenario | None, draft: Draft, base: State) -> str:
    if published is None:
        return remover_of(str((base.scenario or {}).get("name")))
    return " and ".join(authors_since(published, draft.created_at))


def _state_of(scenario: AnyScenario) -> State:
    steps: dict[StepId, dict[str, Json]] = {
        step.key: step_object(step) for step in scenario.steps.all()
    }
    return State(scenario_object(scenario, []), steps)


def _base_of(draft: Draft) -> State:
    match draft.base:
        case {"scenario": dict(scenario), "steps": dict(steps)}:
            return State(scenario, {k: step for k, step in steps.items() if isinstance(step, dict)})
    return _NOTHING


def _present_keys(base: State, now: State) -> dict[Any, Any]:
    """The keys that steps of then have now. A load of the same document has renewed them all."""
    if _text(base) == _text(now):
        return dict(zip(base.steps, now.steps, strict=True))
    return {key: key for key in base.steps if key in now.steps}


def _with_keys(state: State, keys: Mapping[Any, Any]) -> State:
    return State(state.scenario, {keys.get(key, key): step for key, step in state.steps.items()})


def _text(state: State) -> str:
    return json.dumps([state.scenario, list(state.steps.values())])


def _values(row: models.Model, columns: Iterable[str]) -> dict[str, Any]:
    return {column: getattr(row, column) for column in columns}


def _differ(one: models.Model, other: models.Model) -> bool:
    # As text: 1 is not true.
    return json.dumps(_values(one, _STEP)) != json.dumps(_values(other, _STEP))


def _set(row: models.Model, other: models.Model, columns: Iterable[str]) -> None:
    for column, value in _values(other, columns).items():
        setattr(row, column, value)


def _say(row: Any, why: str) -> None:
    """What the history of the row gives as the reason of the next change."""
    row._change_reason = why or None
