"""Published scenarios and steps, the conversations that play them, and users on their pages.

A scenario and a step are stored as JSON documents, as they were written. A column of the same name
as a key of the document exists only for queries.
"""

from collections.abc import Iterable
from typing import Any, ClassVar

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections, models
from django.db.models.signals import post_delete, post_save, pre_delete, pre_save
from django.dispatch import receiver
from django.utils import timezone

from scenarios_app.models.changes import (
    CatalogQuerySet,
    CatalogRow,
    CatalogVersion,
    announce_changes,
    new_key,
)
from scenarios_app.models.fields import JsonField, NamesField, Select
from scenarios_app.models.revisions import mark_deleted, move_revisions, one_save


class ScenarioRow(models.Model):
    """Base of published scenarios and drafts. `document` is the scenario's own part of its
    document: all keys but `steps`, which is an empty list in it if other keys follow the steps.
    A column of `columns` holds a key's value; where the two differ, the column is newer."""

    columns: ClassVar[tuple[str, ...]] = ("name",)

    name = models.CharField(max_length=255)
    document = JsonField(default=dict, blank=True)
    # Not `auto_now`, which fixtures would have to set.
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.name

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Delete the row with its steps as one save."""
        with one_save(using=kwargs.get("using") or self._state.db or DEFAULT_DB_ALIAS):
            return super().delete(*args, **kwargs)


class StepRow(models.Model):
    """Base of the steps of published scenarios and of drafts. `document` is the step's document."""

    order = models.PositiveIntegerField(default=0)
    document = JsonField(default=dict, blank=True)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        """Return the step's name, else its order."""
        name = self.document.get("name") if isinstance(self.document, dict) else None
        return str(name or f"step {self.order}")


class ScenarioQuerySet(CatalogQuerySet["Scenario"]):
    def get_by_natural_key(self, name: str) -> "Scenario":
        return self.get(name=name)


class Scenario(CatalogRow, ScenarioRow):
    """A named list of steps. `version` is new after every change of it or of its steps; `key` is
    its identity in revisions."""

    columns = ("name", "enabled", "priority", "select", "tags")

    name = models.CharField(max_length=255, unique=True)
    enabled = models.BooleanField(default=True)
    priority = models.IntegerField(default=0, help_text="The highest is tried first.")
    select = models.CharField("selected by", max_length=32, choices=Select, default=Select.MATCH)
    tags = NamesField(blank=True, default=list)
    key = models.CharField(max_length=16, default=new_key, editable=False, db_index=True)
    version = models.CharField(max_length=16, default=new_key, editable=False)

    objects = ScenarioQuerySet.as_manager()

    class Meta:
        ordering = ("-priority", "name")

    def natural_key(self) -> tuple[str]:
        return (self.name,)


class StepQuerySet(CatalogQuerySet["Step"]):
    scenario_column = "scenario_id"

    def update(self, **kwargs: Any) -> int:
        """Update the rows and give them new versions."""
        return super().update(**{**kwargs, "version": new_key()})

    def bulk_create(self, objs: Iterable["Step"], *args: Any, **kwargs: Any) -> list["Step"]:
        """Create steps, each with a new version."""
        steps = list(objs)
        for step in steps:
            step.version = new_key()
        if kwargs.get("update_conflicts"):
            kwargs["update_fields"] = {*kwargs["update_fields"], "version"}
        return super().bulk_create(steps, *args, **kwargs)

    def renew_keys(self) -> None:
        """Give every step a new key, so that it is unused in every session."""
        with self._change() as scenarios:
            touched = dict(self.order_by().values_list("pk", self.scenario_column))
            with connections[self.db].cursor() as cursor:
                # One prepared statement; `bulk_update` would write SQL for each row.
                cursor.executemany(
                    f'UPDATE "{Step._meta.db_table}" SET "key" = %s WHERE "id" = %s',
                    [(new_key(), pk) for pk in touched],
                )
            scenarios.update(touched.values())

    def get_by_natural_key(self, scenario: str, order: int) -> "Step":
        return self.filter(scenario__name=scenario, order=order)[:1].get()


class Step(CatalogRow, StepRow):
    """One step. `key` is its identity in the state of sessions; an edit keeps it, a replacement
    of the scenario gives a new one. `version` is new after every change of its document."""

    scenario = models.ForeignKey(Scenario, on_delete=models.CASCADE, related_name="steps")
    key = models.CharField(max_length=16, default=new_key, editable=False, unique=True)
    version = models.CharField(max_length=16, default=new_key, editable=False)

    objects = StepQuerySet.as_manager()

    class Meta:
        ordering = ("order", "pk")
        indexes = (models.Index(fields=["scenario", "order"], name="step_in_order"),)

    def save(self, *args: Any, update_fields: Iterable[str] | None = None, **kwargs: Any) -> None:
        """Save the row with its new version, also if `update_fields` does not name that."""
        if update_fields:
            update_fields = {*update_fields, "version"}
        super().save(*args, update_fields=update_fields, **kwargs)

    def natural_key(self) -> tuple[str, int]:
        return (self.scenario.name, self.order)

    natural_key.dependencies = ("scenarios_app.scenario",)  # type: ignore[attr-defined]


@receiver([pre_save, pre_delete], sender=Scenario)
@receiver([pre_save, pre_delete], sender=Step)
def _before_change(*, instance: Scenario | Step, using: str, **_: object) -> None:
    """Increase the catalog's number, and give a step a new version."""
    CatalogVersion.increase(using)
    if isinstance(instance, Step):
        instance.version = new_key()


@receiver(pre_save, sender=Scenario)
@receiver(pre_save, sender=Step)
def _before_load(*, instance: Scenario | Step, raw: bool, using: str, **_: object) -> None:
    """Keep keys of rows that a fixture loads unique; the revisions of a scenario that it replaces
    become those of its new key."""
    if not raw:
        return
    rows: models.QuerySet[Any] = type(instance)._default_manager.using(using)
    if rows.filter(key=instance.key).exclude(pk=instance.pk).exists():
        instance.key = new_key()
    if isinstance(instance, Scenario):
        for key in rows.filter(pk=instance.pk).values_list("key", flat=True):
            move_revisions(key, instance.key, using)


@receiver(pre_delete, sender=Scenario)
def _before_deletion(*, instance: Scenario, using: str, **_: object) -> None:
    """Record the deletion, while the steps are stored."""
    mark_deleted(Scenario.objects.using(using).filter(pk=instance.pk))


@receiver([post_save, post_delete], sender=Scenario)
@receiver([post_save, post_delete], sender=Step)
def _after_change(*, instance: Scenario | Step, using: str, **_: object) -> None:
    """Give the scenario a new version, and send `catalog_changed`."""
    announce_changes([instance.scenario_id if isinstance(instance, Step) else instance.pk], using)


class TrialConversationQuerySet(models.QuerySet["TrialConversation"]):
    def get_by_natural_key(self, scenario: str) -> "TrialConversation":
        return self.get(scenario=scenario)


class TrialConversation(models.Model):
    """The test conversation of a scenario or draft, by its name; `content` is its document."""

    scenario = models.CharField(max_length=255, unique=True)
    content = JsonField(default=dict)
    updated_at = models.DateTimeField(auto_now=True)

    objects = TrialConversationQuerySet.as_manager()

    def __str__(self) -> str:
        return self.scenario

    def natural_key(self) -> tuple[str]:
        return (self.scenario,)


class Presence(models.Model):
    """A user on a page such as `scenario/7`; `at` is when the page last reported it."""

    page = models.CharField(max_length=64)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    at = models.DateTimeField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=["page", "user"], name="presence_of_user"),)

    def __str__(self) -> str:
        return f"{self.user} at {self.page}"
