"""The trash: deleted scenarios, restored from their last revision with their past versions."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, transaction
from django.utils import timezone

from scenarios_app.models import (
    CatalogVersion,
    Draft,
    Revision,
    Scenario,
    Step,
    TrialConversation,
    one_save,
)
from scenarios_app.store import save_steps, set_own_document, split_document
from scenarios_app.store.drafts import free_name
from scenarios_app.store.history import NO_USER, deletions

DEFAULT_DAYS = 30
RESTORED = "restored from the trash"


@dataclass(frozen=True, slots=True)
class TrashEntry:
    """A deleted scenario; `pk` is the primary key of its last revision."""

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
    return [
        TrashEntry(
            pk=revision.pk,
            name=revision.document["name"],
            description=revision.document.get("description", ""),
            steps=len(revision.step_keys),
            deleted_at=revision.at,
            deleted_by=revision.user or NO_USER,
        )
        for revision in deletions().filter(at__gt=_oldest_kept())
    ]


def deleted_scenario(pk: int) -> Scenario:
    """Return a scenario in the trash as an unsaved row. Raises Scenario.DoesNotExist."""
    return _row_of(_kept_revision(pk))


@transaction.atomic
def restore(pk: int) -> Scenario:
    """Store a deleted scenario again with its steps and its history.

    If its name is taken, a number is appended. Steps get new keys, so no session has used them.
    Raises Scenario.DoesNotExist if the scenario is not in the trash.
    """
    with one_save(RESTORED):
        CatalogVersion.increase(DEFAULT_DB_ALIAS)
        revision = _kept_revision(pk)
        scenario = _row_of(revision)
        scenario.name = free_name(scenario.name, drafts=False)
        scenario.save(force_insert=True)
        _, steps = split_document(revision.document)
        save_steps(
            new=[
                Step(scenario=scenario, order=number, document=step)
                for number, step in enumerate(steps, 1)
            ]
        )
    return scenario


@transaction.atomic
def erase_expired() -> int:
    """Erase deleted scenarios past the retention, with the conversations of names that no other
    scenario or draft has; return how many were erased."""
    expired = list(deletions().filter(at__lte=_oldest_kept()))
    keys = [revision.key for revision in expired]
    Revision.objects.filter(kind="scenario", key__in=keys).delete()
    names = {revision.document["name"] for revision in expired}
    names -= {revision.document["name"] for revision in deletions()}
    for rows in (Scenario.objects, Draft.objects):
        names -= set(rows.filter(name__in=names).values_list("name", flat=True))
    TrialConversation.objects.filter(scenario__in=names).delete()
    return len(expired)


def _oldest_kept() -> datetime:
    """Return the time before which deleted scenarios cannot be restored."""
    return timezone.now() - timedelta(days=retention_days())


def _kept_revision(pk: int) -> Revision:
    """Return the last revision of a scenario in the trash; raises Scenario.DoesNotExist."""
    revision = deletions().filter(pk=pk, at__gt=_oldest_kept()).first()
    if revision is None:
        raise Scenario.DoesNotExist
    return revision


def _row_of(revision: Revision) -> Scenario:
    """Return the unsaved row of a deleted scenario."""
    scenario = Scenario(key=revision.key)
    own, _ = split_document(revision.document)
    set_own_document(scenario, own)
    return scenario
