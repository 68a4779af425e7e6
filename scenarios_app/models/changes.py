"""The catalog's version, the database's name, and the server processes that use it."""

import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from secrets import token_hex
from typing import Any, TypeVar
from uuid import uuid4

from django.apps import apps
from django.db import models, transaction
from django.dispatch import Signal
from django.utils import timezone

from scenarios_app.models.revisions import mark_changed, one_save

Row = TypeVar("Row", bound=models.Model)

# Sent with `using` inside the transaction of every change of a scenario or a step.
catalog_changed = Signal()


def new_key() -> str:
    """Return a new random key: a step's identity or a scenario's version."""
    return token_hex(8)


class CatalogVersion(models.Model):
    """One row whose number every change of the catalog increases; other processes poll it."""

    number = models.BigIntegerField()

    def __str__(self) -> str:
        return str(self.number)

    @staticmethod
    def write(using: str) -> None:
        """Write the row with its number unchanged; raises DatabaseError if that is not possible."""
        rows = CatalogVersion.objects.using(using).filter(pk=1)
        with transaction.atomic(using=using):
            CatalogVersion.increase(using)
            rows.update(number=models.F("number") - 1)

    @staticmethod
    def increase(using: str) -> None:
        """Increase the number. Writers do this first: the row's lock lets one write at a time."""
        rows = CatalogVersion.objects.using(using)
        if not rows.filter(pk=1).update(number=models.F("number") + 1):
            # Starting with the time, no number is repeated if the row was lost.
            first = CatalogVersion(pk=1, number=time.time_ns() // 1_000)
            rows.bulk_create([first], ignore_conflicts=True)


def announce_changes(scenarios: Collection[int | None], using: str) -> None:
    """Give changed scenarios a new version and a revision, and notify this process's catalog."""
    scenario = apps.get_model("scenarios_app", "Scenario")
    rows: models.QuerySet[Any] = models.QuerySet(scenario, using=using)
    keys = [pk for pk in scenarios if pk is not None]
    for start in range(0, len(keys), 500):
        part = rows.filter(pk__in=keys[start : start + 500])
        part.update(version=new_key(), updated_at=timezone.now())
    mark_changed(scenario, keys, using)
    catalog_changed.send(CatalogVersion, using=using)


class DiscardQuerySet(models.QuerySet[Row]):
    """Rows of scenarios or drafts."""

    def discard(self) -> None:
        """Delete rows without the signals that `delete` sends for each one."""
        self._for_write = True
        self.order_by()._raw_delete(self.db)

    def delete(self) -> tuple[int, dict[str, int]]:
        """Delete the rows and what depends on them as one save."""
        self._for_write = True
        with one_save(using=self.db):
            return super().delete()

    # Not a method of managers, which would delete all rows.
    delete.queryset_only = True  # type: ignore[attr-defined]


class CatalogQuerySet(DiscardQuerySet[Row]):
    """Rows of scenarios. `save` and `delete` send signals; these bulk methods announce too."""

    # The column with the scenario of a row.
    scenario_column = "pk"

    @contextmanager
    def _change(self) -> Iterator[set[Any]]:
        """Begin a change of the catalog; the scenarios that are added to the set are announced."""
        self._for_write = True
        scenarios: set[Any] = set()
        with transaction.atomic(using=self.db):
            CatalogVersion.increase(self.db)
            yield scenarios
            announce_changes(scenarios, self.db)

    def update(self, **kwargs: Any) -> int:
        """Update rows as one change of the catalog; announce scenarios that steps leave or join."""
        with self._change() as scenarios:
            touched = dict(self.order_by().values_list("pk", self.scenario_column))
            rows = super().update(**kwargs)
            scenarios.update(touched.values())
            if kwargs.keys() & {"scenario", "scenario_id"}:
                after = self.model._default_manager.using(self.db).filter(pk__in=touched)
                scenarios.update(after.order_by().values_list(self.scenario_column, flat=True))
        return rows

    def bulk_create(self, objs: Iterable[Row], *args: Any, **kwargs: Any) -> list[Row]:
        """Create rows as one change of the catalog."""
        with self._change() as scenarios:
            created = super().bulk_create(objs, *args, **kwargs)
            scenarios.update(getattr(row, self.scenario_column) for row in created)
        return created

    def bulk_update(
        self, objs: Iterable[Row], fields: Iterable[str], batch_size: int | None = None
    ) -> int:
        """Update rows, in several statements, as one change of the catalog."""
        # Django calls `update` for each batch; all batches are one change.
        self._for_write = True
        with transaction.atomic(using=self.db):
            CatalogVersion.increase(self.db)
            return super().bulk_update(objs, fields, batch_size)

    def discard(self) -> None:
        with self._change() as scenarios:
            scenarios.update(self.order_by().values_list(self.scenario_column, flat=True))
            super().discard()


class CatalogRow(models.Model):
    """Base of rows whose saves and deletions announce, in one transaction, a changed catalog."""

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Save in a transaction together with what a signal changes."""
        with transaction.atomic(using=kwargs.get("using")):
            super().save(*args, **kwargs)


class Installation(models.Model):
    """One row that identifies this database. It is locked to change the list of processes.
    `unclean_end_at` is when a server process was last found to have ended without a shutdown: it
    may have answered requests just before whose journal rows were not written."""

    key = models.CharField(max_length=32)
    unclean_end_at = models.DateTimeField(null=True, editable=False)

    def __str__(self) -> str:
        return self.key

    @classmethod
    def name(cls) -> str:
        """Return the database's random name, created at the first call."""
        return cls.objects.get_or_create(pk=1, defaults={"key": uuid4().hex})[0].key


class ServerProcess(models.Model):
    """A serving process; it is alive while its `beat` changes. On the same `machine`, `pid` and
    `birth` (start time) tell whether it lives. `shares` names the state that it shares with others;
    empty without any."""

    owner = models.CharField(max_length=32, primary_key=True)
    machine = models.CharField(max_length=120, blank=True)
    pid = models.BigIntegerField()
    birth = models.BigIntegerField(default=0)
    shares = models.CharField(max_length=80, blank=True)
    beat = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"process {self.pid}"
