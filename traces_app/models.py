"""A run of the chat, its numbered events and its model calls."""

import uuid

from django.db import models
from django.db.models import CASCADE, SET_NULL
from django.utils import timezone

from mockllm_site.kit.fields import EditedRow, JsonField, NamesField


class Status(models.TextChoices):
    """The status of a run; it changes once, from `running` to one of the others."""

    RUNNING = "running"
    COMPLETED = "completed"
    CANCELLED = "cancelled"
    FAILED = "failed"


class Trace(EditedRow):
    """One run. It belongs to the process `owner`, which renews `lease_until`; if the lease is no
    longer renewed, the process has died. `code` and `error` say why a run failed; `note` and
    `tags` are written by staff."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    conversation = models.ForeignKey("chat_app.Conversation", CASCADE, related_name="traces")
    user_message = models.ForeignKey("chat_app.Message", SET_NULL, null=True, related_name="traces")
    # The answer; null until it is stored.
    message = models.OneToOneField("chat_app.Message", SET_NULL, null=True, related_name="trace")
    branch = models.CharField(max_length=1, blank=True)
    profile_name = models.CharField("profile", max_length=100, blank=True)
    provider_id = models.CharField("provider", max_length=50, blank=True)
    model_id = models.CharField("model", max_length=200, blank=True)

    status = models.CharField(max_length=16, choices=Status, default=Status.RUNNING)
    code = models.CharField(max_length=32, blank=True)
    error = models.TextField(blank=True)
    started_at = models.DateTimeField(default=timezone.now)
    first_token_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    owner = models.CharField(max_length=64, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    cancel_requested = models.BooleanField(default=False)

    model_calls = models.PositiveIntegerField(default=0)
    tool_calls = models.PositiveIntegerField(default=0)
    input_tokens = models.PositiveBigIntegerField(default=0)
    output_tokens = models.PositiveBigIntegerField(default=0)
    # True if a model call was cut off before its provider reported its tokens.
    tokens_estimated = models.BooleanField(default=False)

    note = models.TextField(blank=True, help_text="Internal note, not visible through the API.")
    tags = NamesField(blank=True, default=list, help_text="With commas between them.")

    class Meta:
        ordering = ("-started_at",)
        indexes = (
            models.Index(fields=["status", "lease_until"], name="trace_lease"),
            models.Index(fields=["conversation", "status"], name="trace_of_conversation"),
        )

    def __str__(self) -> str:
        """Return the id and the status."""
        return f"{self.id} ({self.status})"


class EventQuerySet(models.QuerySet["TraceEvent"]):
    """Lets fixtures refer to events by their places: their keys are other events elsewhere."""

    def get_by_natural_key(self, trace: str, seq: int) -> "TraceEvent":
        return self.get(trace=trace, seq=seq)


class TraceEvent(EditedRow):
    """One event of a run, as its stream sends it; `seq` counts from 1. `payload` is requirement
    004's event without its `type`."""

    trace = models.ForeignKey(Trace, CASCADE, related_name="events")
    seq = models.PositiveIntegerField()
    type = models.CharField(max_length=16)
    payload = JsonField(default=dict)
    at = models.DateTimeField(default=timezone.now)

    objects = EventQuerySet.as_manager()

    class Meta:
        ordering = ("trace", "seq")
        constraints = (models.UniqueConstraint(fields=["trace", "seq"], name="seq_in_trace"),)

    def __str__(self) -> str:
        return f"{self.seq} {self.type}"

    def natural_key(self) -> tuple[str, int]:
        return (str(self.trace_id), self.seq)


class ModelCallQuerySet(models.QuerySet["ModelCall"]):
    """Lets fixtures refer to model calls by their places."""

    def get_by_natural_key(self, trace: str, number: int) -> "ModelCall":
        return self.get(trace=trace, number=number)


class ModelCall(EditedRow):
    """One request of a run to a model and its response.

    `parts` are the response, as in a message's rounds; `tools` are the names of the offered tools;
    `purpose` is `answer` or `summary`; `request` is `{"turns", "estimated_tokens"}`.
    """

    trace = models.ForeignKey(Trace, CASCADE, related_name="calls")
    number = models.PositiveIntegerField()
    purpose = models.CharField(max_length=16, default="answer")
    provider_id = models.CharField("provider", max_length=50, blank=True)
    model_id = models.CharField("model", max_length=200, blank=True)
    request = JsonField(default=dict)
    tools = JsonField(default=list)
    parts = JsonField(default=list)
    # The mock's scenario and step, if the mock answered.
    answered_by = models.CharField(max_length=520, blank=True, default="")
    finish_reason = models.CharField(max_length=32, blank=True)
    input_tokens = models.PositiveBigIntegerField(default=0)
    output_tokens = models.PositiveBigIntegerField(default=0)
    tokens_estimated = models.BooleanField(default=False)
    code = models.CharField(max_length=32, blank=True)
    started_at = models.DateTimeField(default=timezone.now)
    first_token_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    objects = ModelCallQuerySet.as_manager()

    class Meta:
        verbose_name = "model call"
        ordering = ("trace", "number")
        constraints = (models.UniqueConstraint(fields=["trace", "number"], name="call_in_trace"),)

    def __str__(self) -> str:
        return f"{self.purpose} {self.number}"

    def natural_key(self) -> tuple[str, int]:
        return (str(self.trace_id), self.number)
