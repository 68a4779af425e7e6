"""Profiles: which model a conversation talks to, and how; the names of the variables with API keys,
which are never stored themselves."""

import re
from typing import Any, Final

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models.signals import pre_save
from django.dispatch import receiver
from django.utils import timezone

from traces_app.fields import TextJsonField

_NAME: Final = re.compile(r"[A-Z][A-Z0-9_]{0,99}")
# So long without a gap: a key that happens to have neither small letters nor signs.
_LIKE_A_KEY: Final = re.compile(r"[A-Z0-9]{20,}")
# This server's own secrets are for nobody else, and its settings are no keys.
_OWN: Final = frozenset(
    {"SECRET_KEY", "DATABASE_URL", "REDIS_URL", "CHAT_TOKEN", "DJANGO_SETTINGS_MODULE"}
)
_OWN_PREFIX: Final = "MOCKLLM_"


class NotAKeyName(ValueError):
    """What cannot be the name of a key's variable; the message never repeats what was given."""


def check_key_name(name: str) -> None:
    """Raises NotAKeyName for a text that is neither empty nor the name of a variable that may hold
    a provider's key."""
    if not name:
        return
    if not _NAME.fullmatch(name) or _LIKE_A_KEY.search(name):
        raise NotAKeyName(
            "expected the name of an environment variable, such as OPENAI_API_KEY; "
            "the key itself is never stored"
        )
    if name in _OWN or name.startswith(_OWN_PREFIX):
        raise NotAKeyName(f"{name} is this server's own, and goes to no provider")


DEFAULT_PROFILE = "demo"
# A base_url of this server's own mock, answered in process.
MOCK_URL = "mock:"


class ContextStrategy(models.TextChoices):
    SANDWICH = "sandwich", "Sandwich: the first five, a summary, the last five"
    FULL = "full", "Full: every message, always"


class ProfileQuerySet(models.QuerySet["ModelProfile"]):
    def get_by_natural_key(self, name: str) -> "ModelProfile":
        return self.get(name=name)


class ModelProfile(models.Model):
    """One way to talk to a model. `api_key_env` is the name of the environment variable that holds
    the key; keys themselves are never stored. `mcp_servers` are names in the operator's file."""

    name = models.CharField(max_length=100, unique=True)
    provider_id = models.CharField("provider", max_length=50)
    model_id = models.CharField("model", max_length=200)
    base_url = models.CharField("base URL", max_length=500, blank=True)
    api_key_env = models.CharField("API key's variable", max_length=100, blank=True)
    system_prompt = models.TextField(blank=True)
    temperature = models.FloatField(
        null=True, blank=True, validators=[MinValueValidator(0.0), MaxValueValidator(2.0)]
    )
    max_tokens = models.PositiveIntegerField(
        null=True, blank=True, validators=[MinValueValidator(1)]
    )
    enable_thinking = models.BooleanField(default=False)
    thinking_budget = models.PositiveIntegerField(
        null=True, blank=True, validators=[MinValueValidator(1)]
    )
    context_limit = models.PositiveIntegerField(
        default=128_000, validators=[MinValueValidator(1)], help_text="in tokens"
    )
    context_strategy = models.CharField(
        max_length=16, choices=ContextStrategy, default=ContextStrategy.SANDWICH
    )
    mcp_servers = TextJsonField("MCP servers", default=list, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    objects = ProfileQuerySet.as_manager()

    class Meta:
        verbose_name = "model profile"
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name

    def natural_key(self) -> tuple[Any, ...]:
        return (self.name,)


@receiver(pre_save, sender=ModelProfile)
def _before_save(instance: ModelProfile, *, raw: bool, **_: Any) -> None:
    """Programs and fixtures pass no form; a key that got this far would be stored."""
    check_key_name(instance.api_key_env)
    if raw:
        # A fixture need not say when: nothing else fills these columns in then.
        instance.created_at = instance.created_at or timezone.now()
        instance.updated_at = instance.updated_at or timezone.now()
