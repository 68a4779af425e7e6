"""Drafts: copies of published scenarios to edit, and how they are published."""

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from itertools import count
from typing import Any

from django.db import DEFAULT_DB_ALIAS
from django.db.models import Max
from django.utils import timezone

from scenarios_app.engine.document import (
    DocumentError,
    ScenarioDocument,
    compile_scenario,
    load_scenario,
)
from scenarios_app.engine.scenario import Scenario as Compiled
from scenarios_app.models import (
    AnyScenario,
    CatalogVersion,
    Draft,
    Scenario,
    Step,
    StepRow,
    new_key,
    one_save,
)
from scenarios_app.store import (
    RowProblem,
    document_of,
    limits,
    own_document,
    problems_of,
    rows_of,
    save_steps,
    set_own_document,
)
from scenarios_app.store.history import (
    PUBLISHED,
    State,
    changes_between,
    current_keys,
    current_state,
    editors_since,
    last_deleter_of,
    state_at,
)

DELETED = "the published scenario was deleted"
NAME_TAKEN = "another scenario has this name"
# The maximum length of a name in a scenario document.
NAME_LENGTH = 200

_EMPTY_STATE = State(None, {})


class PublishError(Exception):
    """The draft was not published; the message says why."""


@dataclass(frozen=True, slots=True)
class Publication:
    """The effects that publishing a draft would have now.

    `changes` are those of the published scenario, if there is one. `meanwhile` lists what `who`
    changed in it since the draft was created. `token` is a hash of all this: if it differs later,
    something has changed.
    """

    changes: tuple[str, ...]
    meanwhile: tuple[str, ...]
    who: str
    problems: tuple[RowProblem, ...]
    token: str


def get_or_create_draft(scenario: Scenario) -> tuple[Draft, bool]:
    """Return the draft of a published scenario, and whether it was created now."""
    with one_save():
        # A concurrent call waits here, and then finds this draft.
        published = Scenario.objects.select_for_update().get(pk=scenario.pk)
        if existing := Draft.objects.filter(published=published).first():
            return existing, False
        state = current_state(published)
        base = {"scenario": state.scenario, "steps": state.steps}
        draft = Draft(published=published, base=base)
        set_own_document(draft, own_document(published))
        draft.save()
        _save_rows(draft, [(step.key, step) for step in published.steps.all()])
    return draft, True


def create_draft(document: ScenarioDocument) -> Draft:
    """Create a draft without a published scenario; a number is appended if its name is taken."""
    scenario, steps = rows_of(document)
    with one_save():
        draft = Draft()
        set_own_document(draft, {**scenario.document, "name": free_name(document.name)})
        draft.save()
        _save_rows(draft, [(new_key(), step) for step in steps])
    return draft


def append_step(scenario: AnyScenario, step: Step) -> None:
    """Store a copy of a step as the last step of a scenario or draft."""
    last = scenario.steps.aggregate(last=Max("order"))["last"] or 0
    model: Any = scenario.steps.model
    copy = model(scenario=scenario, key=new_key(), order=last + 1, document=step.document)
    save_steps(new=[copy])


def free_name(name: str, *, drafts: bool = True, names: Collection[str] = ()) -> str:
    """Return the name, with a number if a scenario, one of `names` or, unless `drafts` is false, a
    draft has it already."""
    models: tuple[Any, ...] = (Scenario, Draft) if drafts else (Scenario,)
    suffixes = (f" ({number})" if number > 1 else "" for number in count(1))
    candidates = (f"{name[: NAME_LENGTH - len(suffix)]}{suffix}" for suffix in suffixes)
    return next(
        free
        for free in candidates
        if free not in names and not any(m.objects.filter(name=free).exists() for m in models)
    )


def plan_publication(draft: Draft) -> Publication:
    """Return what publishing the draft would do, and what prevents it."""
    # Read again: the draft's cached row may be old.
    published = Scenario.objects.filter(pk=draft.published_id or 0).first()
    problems = _problems_of(draft)
    base, drafted_state = _base_of(draft), current_state(draft)
    published_state = current_state(published) if published else _EMPTY_STATE
    keys = current_keys(base, published_state)
    changes: tuple[str, ...] = ()
    meanwhile: tuple[str, ...] = ()
    who = ""
    if published:
        changes = tuple(changes_between(published_state, drafted_state.with_keys(keys)))
        meanwhile = tuple(changes_between(base, published_state))
        who = " and ".join(editors_since(published, draft.created_at)) if meanwhile else ""
    elif base.scenario:
        meanwhile, who = (DELETED,), last_deleter_of(str(base.scenario.get("name")))
    seen = f"{_state_json(published_state)}\n{_state_json(drafted_state)}\n{meanwhile}"
    token = sha256(seen.encode()).hexdigest()
    return Publication(changes, meanwhile, who, problems, token)


def compiled_draft(draft: Draft) -> list[Compiled]:
    """Return the compiled draft, without steps if it is disabled. If it renames its published
    scenario, an empty scenario of the old name comes first. Raises DocumentError."""
    steps = list(draft.steps.all())
    document, keys = document_of(draft, steps), [step.key for step in steps]
    enabled = document.enabled
    compiled = compile_scenario(document, step_keys=keys) if enabled else Compiled(draft.name)
    replaced = draft.published.name if draft.published else draft.name
    return [compiled] if replaced == draft.name else [Compiled(replaced), compiled]


def publish(draft: Draft, *, seen: str, over: bool = False) -> Scenario:
    """Replace the published scenario by its draft, or create one, and delete the draft.

    `seen` is the token of the publication that the user saw; `over` overwrites what others changed
    meanwhile. Steps that come from published ones keep their keys. Raises PublishError, and changes
    nothing, if the token is outdated, the draft has errors or others changed the scenario.
    """
    with one_save(PUBLISHED):
        # Other writers of scenarios wait from here on.
        CatalogVersion.increase(DEFAULT_DB_ALIAS)
        latest = Draft.objects.select_related("published").filter(pk=draft.pk).first()
        if latest is None:
            raise PublishError("It has been published or discarded in the meantime.")
        publication = plan_publication(latest)
        if publication.token != seen:
            raise PublishError("It has changed since you looked. Look at it again.")
        if publication.problems:
            raise PublishError("It has errors.")
        if publication.meanwhile and not over:
            who = publication.who
            raise PublishError(f"{who} changed the published scenario since it was made.")
        scenario = _write_scenario(latest)
        latest.delete()
    return scenario


def restore(scenario: AnyScenario, time: datetime) -> None:
    """Restore the version of a scenario or draft at a time, under its current name.

    Steps that still exist keep their keys, so sessions and counts of answers know them. Raises
    DocumentError, and changes nothing, if this server would reject that version.
    """
    state = state_at(scenario, time)
    row, steps = rows_of(load_scenario(state.document(scenario.name), limits=limits()))
    keys = current_keys(state, current_state(scenario))
    if isinstance(scenario, Draft):
        # Steps that were deleted may still be those of the published scenario.
        keys = {key: key for key in state.steps} | keys
    with one_save():
        set_own_document(scenario, row.document)
        scenario.updated_at = timezone.now()
        scenario.save()
        rows = zip(state.steps, steps, strict=True)
        _save_rows(scenario, [(str(keys.get(key) or new_key()), step) for key, step in rows])


def _write_scenario(draft: Draft) -> Scenario:
    """Store a draft as its published scenario, or as a new one, and keep the keys of old steps."""
    scenario = draft.published or Scenario()
    keys = current_keys(_base_of(draft), current_state(scenario)) if scenario.pk else {}
    rows = [(str(keys.get(row.key) or new_key()), row) for row in draft.steps.all()]
    set_own_document(scenario, own_document(draft))
    scenario.save()
    _save_rows(scenario, rows)
    return scenario


def _save_rows(scenario: AnyScenario, rows: Iterable[tuple[str, StepRow]]) -> None:
    """Store these steps by key: add new ones, change those that differ, delete the others."""
    model: Any = scenario.steps.model
    there = {step.key: step for step in scenario.steps.all()}
    new, changed = list[Any](), list[Any]()
    for key, row in rows:
        step: Any = there.pop(key, None)
        if step is None:
            new.append(model(scenario=scenario, key=key, order=row.order, document=row.document))
        # Compared as text: 1 is not true.
        elif _step_json(step) != _step_json(row):
            step.order, step.document = row.order, row.document
            changed.append(step)
    gone = list(there.values())
    save_steps(new=new, changed=changed, gone=gone)


def _step_json(row: StepRow) -> str:
    return json.dumps([row.order, row.document])


def _problems_of(draft: Draft) -> tuple[RowProblem, ...]:
    """Return the problems for which the draft cannot be saved as a scenario, also a taken name."""
    if Scenario.objects.filter(name=draft.name).exclude(pk=draft.published_id or 0).exists():
        return (RowProblem(draft.name, None, "name", NAME_TAKEN),)
    try:
        compile_scenario(document_of(draft))
    except DocumentError as error:
        return problems_of(error, draft.name)
    return ()


def _base_of(draft: Draft) -> State:
    """Return the published state that the draft was made from, an empty one without it."""
    match draft.base:
        case {"scenario": dict(scenario), "steps": dict(steps)}:
            return State(scenario, {k: step for k, step in steps.items() if isinstance(step, dict)})
    return _EMPTY_STATE


def _state_json(state: State) -> str:
    return json.dumps([state.scenario, list(state.steps.values())])
