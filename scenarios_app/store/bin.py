"""Deleted scenarios: their history keeps them for a while, and brings them back with their past."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from scenarios_app.models import Scenario, Step, TrialConversation, new_key
from scenarios_app.store import save_steps
from scenarios_app.store.drafts import free_name
from scenarios_app.store.history import APART, author_of

DAYS = 30
BROUGHT_BACK = "brought back from the bin"


@dataclass(frozen=True, slots=True)
class Binned:
    """A deleted scenario; `pk` is the number that it had and gets again."""

    pk: int
    name: str
    description: str
    steps: int
    at: datetime
    who: str


def days() -> int:
    """How long deleted scenarios are kept."""
    given: int | None = getattr(settings, "RETENTION_DAYS", None)
    return DAYS if given is None else given


def binned() -> list[Binned]:
    """What is in the bin, the latest first."""
    found = _deleted().filter(history_date__gt=_oldest()).select_related("history_user")
    return [
        Binned(
            pk=record.id,
            name=record.name,
            description=record.description,
            steps=len(_steps(record)),
            at=record.history_date,
            who=author_of(record),
        )
        for record in found.order_by("-history_date")
    ]


def deleted_row(pk: int) -> Scenario:
    """What a scenario in the bin was, not saved. Raises Scenario.DoesNotExist."""
    scenario: Scenario = _record(pk).instance
    return scenario


@transaction.atomic
def bring_back(pk: int) -> Scenario:
    """Store a scenario of the bin again, with its steps and its past; where its name is taken, with
    a number behind it. Sessions know nothing of it. Raises Scenario.DoesNotExist."""
    record = _record(pk)
    scenario: Scenario = record.instance
    scenario.name = free_name(scenario.name, drafts=False)
    scenario.version = new_key()
    vars(scenario)["_change_reason"] = BROUGHT_BACK
    scenario.save(force_insert=True)
    steps: list[Step] = [one.instance for one in _steps(record)]
    for step in steps:
        step.scenario = scenario
        step.key = new_key()
    save_steps(new=steps, why=BROUGHT_BACK)
    return scenario


@transaction.atomic
def empty(before: datetime | None = None) -> int:
    """Forget what was deleted before a moment, or else longer ago than the bin keeps anything; how
    many scenarios that were."""
    old = _deleted().filter(history_date__lte=before or _oldest())
    gone = dict(old.values_list("id", "name"))
    names = set(gone.values())
    kept = set(Scenario.objects.filter(name__in=names).values_list("name", flat=True))
    Step.history.filter(scenario_id__in=gone).delete()
    Scenario.history.filter(id__in=gone).delete()
    TrialConversation.objects.filter(scenario__in=names - kept).delete()
    return len(gone)


def _oldest() -> datetime:
    return timezone.now() - timedelta(days=days())


def _deleted() -> "QuerySet[Any]":
    """The last record of each scenario that is not there any more."""
    there = Scenario.objects.filter(pk=OuterRef("id"))
    later = Scenario.history.filter(id=OuterRef("id"), history_id__gt=OuterRef("history_id"))
    records: QuerySet[Any] = Scenario.history.filter(history_type="-")
    return records.exclude(Exists(there)).exclude(Exists(later))


def _record(pk: int) -> Any:
    found = _deleted().filter(id=pk, history_date__gt=_oldest()).first()
    if found is None:
        raise Scenario.DoesNotExist
    return found


def _steps(record: Any) -> Sequence[Any]:
    """The last records of the steps that went with a scenario, in their order: their deletions
    follow one another up to its own."""
    gone = Step.history.filter(scenario_id=record.id, history_type="-")
    found: list[Any] = []
    last = record.history_date
    for step in gone.order_by("-history_date", "-history_id"):
        if last - step.history_date > APART:
            break
        last = step.history_date
        found.append(step)
    return sorted(found, key=lambda step: (step.order, step.id))
