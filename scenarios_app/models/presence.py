"""Who has a scenario's page open."""

from django.conf import settings
from django.db import models


class Presence(models.Model):
    """Somebody at a page, such as `scenario/7`; `at` is when the page last said so."""

    page = models.CharField(max_length=64)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    at = models.DateTimeField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=["page", "user"], name="presence_of_user"),)

    def __str__(self) -> str:
        return f"{self.user} at {self.page}"
