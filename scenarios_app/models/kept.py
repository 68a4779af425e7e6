"""What is kept of sessions and steps beside the journal, which forgets its oldest rows."""

from django.db import models


class SessionName(models.Model):
    """What people call a session whose own name says nothing, such as that of an API key."""

    session = models.CharField(max_length=255, unique=True)
    name = models.CharField(max_length=100)

    def __str__(self) -> str:
        return self.name


class PastAnswers(models.Model):
    """How often a step answered in requests that have left the journal, and when it did last."""

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
