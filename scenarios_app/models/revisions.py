"""Revisions: what a scenario or draft was after each save, and who saved it."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Final, TypeAlias

from django.db import DEFAULT_DB_ALIAS, models, transaction
from django.db.models import Exists, OuterRef
from django.http import HttpRequest
from django.utils import timezone

from mockllm_site.kit.fields import JsonField
from scenarios_app.models.documents import whole_document

Rows: TypeAlias = type[models.Model]

# The request whose user is the author of changes; None for those of programs.
author_request: ContextVar[HttpRequest | None] = ContextVar("author_request", default=None)
# Fixtures keep times in milliseconds.
_TICK: Final = timedelta(milliseconds=1)
_BATCH_ROWS: Final = 500


class RevisionQuerySet(models.QuerySet["Revision"]):
    def of(self, row: Any) -> "RevisionQuerySet":
        """Return the revisions of a scenario or draft, stored or not, the oldest first."""
        return self.filter(kind=row._meta.model_name, key=row.key).order_by("at", "pk")

    def latest_of_each(self) -> "RevisionQuerySet":
        """Return these revisions as far as their scenario or draft has no later one."""
        return self.filter(~Exists(self._others(at__gt=OuterRef("at"))))

    def first_of_each(self) -> "RevisionQuerySet":
        """Return these revisions as far as their scenario or draft has no earlier one."""
        return self.filter(~Exists(self._others(at__lt=OuterRef("at"))))

    def _others(self, **times: Any) -> Any:
        rows = Revision.objects.using(self.db)
        return rows.filter(kind=OuterRef("kind"), key=OuterRef("key"), **times)

    def get_by_natural_key(self, kind: str, key: str, at: datetime) -> "Revision":
        return self.filter(kind=kind, key=key, at=at)[:1].get()


class Revision(models.Model):
    """The document of a scenario or draft after a save, or when it was deleted.

    `kind` is the name of the model and `key` that of the row, also after it was renamed or restored
    from the trash. `at` is in whole milliseconds. `user` is the name of the author, empty for a
    program. `step_keys` are the keys of the document's steps, in their order.
    """

    kind = models.CharField(max_length=16)
    key = models.CharField(max_length=16)
    at = models.DateTimeField()
    user = models.CharField(max_length=255, blank=True, default="")
    reason = models.CharField(max_length=255, blank=True, default="")
    deleted = models.BooleanField(default=False)
    document = JsonField(default=dict)
    step_keys = JsonField(default=list, blank=True)

    objects = RevisionQuerySet.as_manager()

    class Meta:
        default_permissions = ()
        indexes = (models.Index(fields=["kind", "key", "at"], name="revision_in_order"),)

    def __str__(self) -> str:
        return f"{self.kind} {self.key} at {self.at}"

    def natural_key(self) -> tuple[str, str, datetime]:
        return (self.kind, self.key, self.at)

    def follow(self, previous: "Revision | None") -> bool:
        """Set the time after that of the previous revision; return False if nothing changed."""
        if previous is None:
            return True
        self.at = max(self.at, previous.at + _TICK)
        return (
            self.deleted != previous.deleted
            # Compared as text: 1 is not true.
            or json.dumps(self.document) != json.dumps(previous.document)
        )


@dataclass(slots=True)
class _Save:
    """The rows that one save changed, by database and model, and the revisions of rows that it
    deletes, by database."""

    reason: str
    changed: dict[tuple[str, Rows], set[int]] = field(default_factory=lambda: defaultdict(set))
    deleted: dict[str, list[Revision]] = field(default_factory=lambda: defaultdict(list))

    def record(self) -> None:
        """Store a revision of each scenario and draft that differs from its latest one."""
        for using, revisions in self.deleted.items():
            for start in range(0, len(revisions), _BATCH_ROWS):
                _store(revisions[start : start + _BATCH_ROWS], using)
        for (using, model), keys in self.changed.items():
            rows: Any = model._default_manager.using(using)
            remaining = iter(sorted(keys))
            while part := list(islice(remaining, _BATCH_ROWS)):
                changed = rows.filter(pk__in=part).prefetch_related("steps")
                _store([_revision_of(row, self.reason) for row in changed], using)


_open_save: ContextVar[_Save | None] = ContextVar("open_save", default=None)


@contextmanager
def one_save(reason: str = "", using: str = DEFAULT_DB_ALIAS) -> Iterator[_Save]:
    """Record the changes of scenarios and drafts within as one revision of each, in a transaction
    with them. Within another save they belong to that one, which takes the reason if it has none.
    """
    outer = _open_save.get()
    if outer is not None:
        outer.reason = outer.reason or reason
        yield outer
        return
    save = _Save(reason)
    token = _open_save.set(save)
    try:
        with transaction.atomic(using=using):
            yield save
            save.record()
    finally:
        _open_save.reset(token)


def mark_changed(model: Rows, keys: Iterable[int | None], using: str) -> None:
    """Record a revision of rows of Scenario or Draft by primary key, in the open save or now."""
    with one_save(using=using) as save:
        save.changed[using, model].update(key for key in keys if key is not None)


def mark_deleted(rows: models.QuerySet[Any]) -> None:
    """Record the last revision of these rows, which are about to be deleted."""
    with one_save(using=rows.db) as save:
        deleted = rows.prefetch_related("steps")
        save.deleted[rows.db] += [_revision_of(row, save.reason, deleted=True) for row in deleted]


def move_revisions(before: str, key: str, using: str) -> None:
    """Give the revisions of a scenario its new key."""
    rows = Revision.objects.using(using).filter(kind="scenario", key=before)
    rows.exclude(key=key).update(key=key)


def _revision_of(row: Any, reason: str, *, deleted: bool = False) -> Revision:
    user: Any = getattr(author_request.get(), "user", None)
    steps = list(row.steps.all())
    now = timezone.now()
    return Revision(
        kind=row._meta.model_name,
        key=row.key,
        # Rounded up: a page that was opened before is older than this.
        at=now + timedelta(microseconds=-now.microsecond % 1_000),
        user=user.get_username() if user is not None and user.is_authenticated else "",
        reason=reason,
        deleted=deleted,
        document=whole_document(row, steps),
        step_keys=[step.key for step in steps],
    )


def _store(revisions: Sequence[Revision], using: str) -> None:
    """Store those revisions that differ from the latest one of their row. If only keys of steps
    differ, as after loading the same document again, the latest one gets the new keys."""
    stored = Revision.objects.using(using)
    rows = stored.filter(kind__in={r.kind for r in revisions}, key__in=[r.key for r in revisions])
    latest = {(r.kind, r.key): r for r in rows.latest_of_each()}
    new, renewed = list[Revision](), list[Revision]()
    for revision in revisions:
        previous = latest.get((revision.kind, revision.key))
        if revision.follow(previous):
            new.append(revision)
        elif previous is not None and previous.step_keys != revision.step_keys:
            previous.step_keys = revision.step_keys
            renewed.append(previous)
    stored.bulk_create(new)
    stored.bulk_update(renewed, ["step_keys"], batch_size=50)
