"""Drafts of scenarios, in separate tables, so that no query for scenarios returns one."""

from typing import TypeAlias

from django.db import models
from django.db.models.signals import post_delete, post_save
from django.dispatch import receiver

from scenarios_app.models.changes import DiscardQuerySet, new_key
from scenarios_app.models.fields import JsonField
from scenarios_app.models.revisions import Revision, mark_changed
from scenarios_app.models.scenarios import Scenario, ScenarioRow, Step, StepRow


class DraftQuerySet(DiscardQuerySet["Draft"]):
    def get_by_natural_key(self, key: str) -> "Draft":
        return self.get(key=key)


class Draft(ScenarioRow):
    """An unpublished scenario, which is not served. Without `published` it becomes a new scenario.
    `base` is the published scenario when the draft was copied from it: its own part of the document
    under `scenario`, and its steps under `steps` by key."""

    key = models.CharField(max_length=16, default=new_key, editable=False, unique=True)
    published = models.OneToOneField(
        Scenario, on_delete=models.SET_NULL, null=True, editable=False, related_name="draft"
    )
    base = JsonField(default=dict, blank=True, editable=False)

    objects = DraftQuerySet.as_manager()

    class Meta:
        ordering = ("name", "pk")
        permissions = (("publish_draft", "Can publish draft"),)

    def natural_key(self) -> tuple[str]:
        return (self.key,)


class DraftStepQuerySet(DiscardQuerySet["DraftStep"]):
    def get_by_natural_key(self, draft: str, order: int) -> "DraftStep":
        return self.filter(scenario__key=draft, order=order)[:1].get()


class DraftStep(StepRow):
    """One step of a draft. `key` is that of the published step that it copies, or a new one."""

    scenario = models.ForeignKey(Draft, on_delete=models.CASCADE, related_name="steps")
    key = models.CharField(max_length=16, default=new_key, editable=False)

    objects = DraftStepQuerySet.as_manager()

    class Meta:
        verbose_name = "step of a draft"
        verbose_name_plural = "steps of drafts"
        ordering = ("order", "pk")
        indexes = (models.Index(fields=["scenario", "order"], name="draft_step_in_order"),)
        constraints = (
            models.UniqueConstraint(fields=["scenario", "key"], name="draft_step_of_one_step"),
        )
        # The permission to change a draft includes its steps.
        default_permissions = ()

    def natural_key(self) -> tuple[str, int]:
        return (self.scenario.key, self.order)

    natural_key.dependencies = ("scenarios_app.draft",)  # type: ignore[attr-defined]


@receiver([post_save], sender=Draft)
@receiver([post_save, post_delete], sender=DraftStep)
def _after_change(*, instance: Draft | DraftStep, using: str, **_: object) -> None:
    """Record a revision of the draft."""
    mark_changed(
        Draft, [instance.scenario_id if isinstance(instance, DraftStep) else instance.pk], using
    )


@receiver(post_delete, sender=Draft)
def _after_deletion(*, instance: Draft, using: str, **_: object) -> None:
    """Delete the revisions of a deleted draft."""
    Revision.objects.using(using).of(instance).delete()


AnyScenario: TypeAlias = Scenario | Draft
AnyStep: TypeAlias = Step | DraftStep
