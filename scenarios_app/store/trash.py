"""The trash: deleted scenarios, restored from their history with their past versions."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from scenarios_app.models import CatalogVersion, Draft, Scenario, Step, TrialConversation, new_key
from scenarios_app.store import save_steps
from scenarios_app.store.drafts import free_name
from scenarios_app.store.history import SAVE_GAP, author_of

DEFAULT_DAYS = 30
RESTORED = "restored from the trash"


@dataclass(frozen=True, slots=True)
class TrashEntry:
    """A deleted scenario; `pk` is its primary key before deletion and after a restore."""

    pk: int
    name: str
    description: str
    steps: int
    deleted_at: datetime
    deleted_by: str


def retention_days() -> int:
    """Return for how many days deleted scenarios are kept."""
    days: int | None = getattr(settings, "RETENTION_DAYS", None)
    return DEFAULT_DAYS if days is None else days


def trash_entries() -> list[TrashEntry]:
    """Return the deleted scenarios that can be restored, the latest first."""
    records = _deletions().filter(history_date__gt=_oldest_kept()).select_related("history_user")
    return [
        TrashEntry(
            pk=record.id,
            name=record.name,
            description=record.description,
            steps=len(_steps(record)),
            deleted_at=record.history_date,
            deleted_by=author_of(record),
        )
        for record in records.order_by("-history_date")
    ]


def deleted_scenario(pk: int) -> Scenario:
    """Return a scenario in the trash as an unsaved row. Raises Scenario.DoesNotExist."""
    scenario: Scenario = _kept_record(pk).instance
    return scenario


@transaction.atomic
def restore(pk: int) -> Scenario:
    """Store a deleted scenario again with its steps and its history.

    If its name is taken, a number is appended. Steps get new keys, so no session has used them.
    Raises Scenario.DoesNotExist if the scenario is not in the trash.
    """
    CatalogVersion.increase(DEFAULT_DB_ALIAS)
    record = _kept_record(pk)
    scenario: Scenario = record.instance
    scenario.name = free_name(scenario.name, drafts=False)
    scenario.version = new_key()
    vars(scenario)["_change_reason"] = RESTORED
    scenario.save(force_insert=True)
    steps: list[Step] = [step_record.instance for step_record in _steps(record)]
    for step in steps:
        step.scenario = scenario
        step.key = new_key()
    save_steps(new=steps, reason=RESTORED)
    return scenario


@transaction.atomic
def erase_expired() -> int:
    """Erase deleted scenarios past the retention, with the conversations of names that no other
    scenario or draft has; return how many were erased."""
    expired = _deletions().filter(history_date__lte=_oldest_kept())
    erased = dict(expired.values_list("id", "name"))
    Step.history.filter(scenario_id__in=erased).delete()
    Scenario.history.filter(id__in=erased).delete()
    names = set(erased.values())
    for rows in (Scenario.objects, Draft.objects, _deletions()):
        names -= set(rows.filter(name__in=names).values_list("name", flat=True))
    TrialConversation.objects.filter(scenario__in=names).delete()
    return len(erased)


def _oldest_kept() -> datetime:
    """Return the time before which deleted scenarios cannot be restored."""
    return timezone.now() - timedelta(days=retention_days())


def _deletions() -> "QuerySet[Any]":
    """Return the last history record of each deleted scenario, however old."""
    stored = Scenario.objects.filter(pk=OuterRef("id"))
    later = Scenario.history.filter(id=OuterRef("id"), history_id__gt=OuterRef("history_id"))
    records: QuerySet[Any] = Scenario.history.filter(history_type="-")
    return records.exclude(Exists(stored)).exclude(Exists(later))


def _kept_record(pk: int) -> Any:
    """Return the deletion record of a scenario in the trash; raises Scenario.DoesNotExist."""
    record = _deletions().filter(id=pk, history_date__gt=_oldest_kept()).first()
    if record is None:
        raise Scenario.DoesNotExist
    return record


def _steps(record: Any) -> Sequence[Any]:
    """Return the history records of the steps deleted together with a scenario, in step order.

    Their deletions follow one another up to the scenario's own, each within SAVE_GAP.
    """
    deletions = Step.history.filter(scenario_id=record.id, history_type="-")
    steps: list[Any] = []
    last = record.history_date
    for step in deletions.order_by("-history_date", "-history_id"):
        if last - step.history_date > SAVE_GAP:
            break
        last = step.history_date
        steps.append(step)
    return sorted(steps, key=lambda step: (step.order, step.id))
