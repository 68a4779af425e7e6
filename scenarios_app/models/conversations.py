"""The conversation with which a scenario is played."""

from django.db import models

from scenarios_app.models.fields import JsonField


class TrialConversation(models.Model):
    """One for each name of a scenario, published or a draft; `content` is its document."""

    scenario = models.CharField(max_length=255, unique=True)
    content = JsonField(default=dict)
    updated_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return self.scenario
