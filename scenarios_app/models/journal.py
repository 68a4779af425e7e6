"""Served requests, and counts of sessions and steps that outlive deleted rows."""

from django.db import models
from django.db.models import Q

from scenarios_app.models.bodies import read_body
from scenarios_app.models.fields import JsonField, Outcome

# Requests without a matching scenario (also if the catch-all answered) or endpoint (`way` is
# "url"), for lists, counts, filters and the verdict (`ServedRequest.is_unmatched`).
UNMATCHED_ROWS = Q(fallback=True) | (Q(matched=False) & ~Q(way=""))


class ServedRequest(models.Model):
    """A clean JournalEntry, which describes the columns. Rows are in the order in which answers
    ended. `uid` is the `x-mockllm-request` of the answer. `…_text` holds short bodies, `parts`
    refers to the blocks of long ones; `…_body` returns either."""

    uid = models.UUIDField(unique=True, editable=False)
    at = models.DateTimeField()
    session = models.CharField(max_length=255)
    provider = models.CharField(max_length=32, blank=True)
    method = models.CharField(max_length=16)
    path = models.TextField()
    query = JsonField(default=dict)
    model = models.TextField(blank=True)
    streamed = models.BooleanField(default=False)

    scenario = models.CharField(max_length=255, blank=True)
    step = models.CharField(max_length=255, blank=True)
    step_key = models.CharField(max_length=64, blank=True)
    way = models.CharField(max_length=16, blank=True)
    matched = models.BooleanField()
    fallback = models.BooleanField(default=False)
    attempt = models.PositiveIntegerField(null=True)
    outcome = models.CharField(max_length=16, choices=Outcome)
    fault = models.CharField(max_length=32, blank=True)
    status = models.PositiveSmallIntegerField()
    violations = JsonField(default=list)
    near_misses = JsonField(default=list)

    request_preview = models.TextField(db_column="asked", blank=True, default="")
    response_preview = models.TextField(db_column="answered", blank=True, default="")

    duration_ms = models.FloatField()
    timings = JsonField(default=dict)
    siblings = models.PositiveIntegerField(default=0, db_default=0)
    request_headers = JsonField(default=dict)
    request_text = models.TextField(blank=True)
    request_bytes = models.PositiveBigIntegerField(default=0)
    request_cut = models.BooleanField(default=False)
    response_headers = JsonField(default=dict)
    response_text = models.TextField(blank=True)
    response_bytes = models.PositiveBigIntegerField(default=0)
    response_cut = models.BooleanField(default=False)
    parts = JsonField(null=True)

    class Meta:
        verbose_name = "journal entry"
        verbose_name_plural = "journal"
        ordering = ("-pk",)
        permissions = (("set_up_recording", "Can set up recording"),)
        indexes = (
            models.Index(fields=["session", "id"], name="served_in_session"),
            models.Index(fields=["scenario", "id"], name="served_by_scenario"),
            models.Index(fields=["provider", "id"], name="served_by_provider"),
            models.Index(fields=["matched", "id"], name="served_matched"),
            # A partial index: rows without long bodies are not in it.
            models.Index(fields=["id"], name="served_with_parts", condition=Q(parts__isnull=False)),
        )

    def __str__(self) -> str:
        return f"{self.method} {self.path} → {self.status}"

    @property
    def request_body(self) -> str:
        """Return the request's body as text, up to its cut."""
        return read_body(self.request_text, self.parts, "request")

    @property
    def response_body(self) -> str:
        """Return the response's body as text, up to its cut."""
        return read_body(self.response_text, self.parts, "response")

    @property
    def is_over_socket(self) -> bool:
        """Return whether the request came over a WebSocket, or was its handshake."""
        return str(self.request_headers.get("upgrade", "")).lower() == "websocket"

    @property
    def is_unmatched(self) -> bool:
        """Return whether the row is one of `UNMATCHED_ROWS`."""
        return self.fallback or (bool(self.way) and not self.matched)


class SessionName(models.Model):
    """The display name that a user gave a session, such as one that is named by an API key."""

    session = models.CharField(max_length=255, unique=True)
    name = models.CharField(max_length=100)

    def __str__(self) -> str:
        return self.name


class PastAnswers(models.Model):
    """The number of a step's answers in requests that left the journal, and when the last was."""

    scenario = models.CharField(max_length=255)
    step_key = models.CharField(max_length=64)
    count = models.PositiveBigIntegerField(default=0)
    last = models.DateTimeField()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["scenario", "step_key"], name="past_answers_of_step"),
        )

    def __str__(self) -> str:
        return f"{self.scenario}: {self.count}"


class FaultResult(models.Model):
    """The outcome of one kind of fault at a step in the latest sweep. `step` is its name or number
    in the content `version` of the scenario."""

    scenario = models.CharField(max_length=255)
    version = models.CharField(max_length=16)
    step = models.CharField(max_length=255)
    kind = models.CharField(max_length=64)
    outcome = models.CharField(max_length=32)
    at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["scenario", "step", "kind"], name="result_of_fault"),
        )

    def __str__(self) -> str:
        return f"{self.scenario}/{self.step}, {self.kind}: {self.outcome}"
