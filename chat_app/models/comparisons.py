"""Comparisons: one user message, two answers, one vote."""

import uuid

from django.db import models
from django.utils import timezone

from chat_app.models.conversations import Conversation, Message
from chat_app.models.profiles import ModelProfile


class Preference(models.TextChoices):
    A = "a"
    B = "b"
    TIE = "tie"


class ABComparison(models.Model):
    """Two answers to one message. `a` and `b` are blind labels: which profile got which was drawn
    from `seed`. Names are kept beside the profiles, since a profile may be deleted; the answers are
    the traces' messages. The vote of an `excluded` one counts in no ranking."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    conversation = models.ForeignKey(
        Conversation, on_delete=models.CASCADE, related_name="comparisons"
    )
    user_message = models.OneToOneField(
        Message, on_delete=models.CASCADE, related_name="comparison"
    )
    seed = models.BigIntegerField()
    profile_a = models.ForeignKey(
        ModelProfile, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    profile_b = models.ForeignKey(
        ModelProfile, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    profile_a_name = models.CharField(max_length=100)
    profile_b_name = models.CharField(max_length=100)
    trace_a = models.OneToOneField(
        "traces_app.Trace", on_delete=models.SET_NULL, null=True, related_name="comparison_as_a"
    )
    trace_b = models.OneToOneField(
        "traces_app.Trace", on_delete=models.SET_NULL, null=True, related_name="comparison_as_b"
    )
    preference = models.CharField(max_length=3, choices=Preference, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    preference_at = models.DateTimeField(null=True, blank=True)
    comment = models.TextField(blank=True, help_text="For staff; no API tells it.")
    excluded = models.BooleanField(
        "excluded from the ranking", default=False, help_text="Its vote counts in no score."
    )

    class Meta:
        verbose_name = "A/B comparison"
        ordering = ("-created_at",)

    def __str__(self) -> str:
        """Who was who only after the vote: the admin puts this into titles."""
        if not self.preference:
            return str(self.id)
        return f"{self.profile_a_name} and {self.profile_b_name}"
