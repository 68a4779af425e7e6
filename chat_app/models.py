"""The chat's tables: profiles, conversations with their messages and summaries, and comparisons.
API keys are never stored, only the names of their environment variables."""

import re
import uuid
from typing import Any, Final

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import CASCADE, SET_NULL
from django.db.models.signals import pre_save
from django.dispatch import receiver
from django.utils import timezone

from mockllm_site.kit.fields import EditedRow, JsonField, NamesField

_VARIABLE_NAME: Final = re.compile(r"[A-Z][A-Z0-9_]{0,99}")
# A key without lower-case letters and signs.
_LOOKS_LIKE_KEY: Final = re.compile(r"[A-Z0-9]{20,}")
# This server's secrets and settings, which are no keys of providers.
_SERVER_VARIABLES: Final = frozenset(
    {"SECRET_KEY", "DATABASE_URL", "REDIS_URL", "CHAT_TOKEN", "DJANGO_SETTINGS_MODULE"}
)
_SERVER_PREFIX: Final = "MOCKLLM_"


class NotAKeyName(ValueError):
    """A text that cannot name a key's variable; the message never repeats a possible key."""


def check_key_name(name: str) -> None:
    """Raise NotAKeyName unless the text is empty or may name a variable with a provider's key."""
    if not name:
        return
    if not _VARIABLE_NAME.fullmatch(name) or _LOOKS_LIKE_KEY.search(name):
        raise NotAKeyName(
            "expected the name of an environment variable, such as OPENAI_API_KEY; "
            "the key itself is never stored"
        )
    if name in _SERVER_VARIABLES or name.startswith(_SERVER_PREFIX):
        raise NotAKeyName(f"{name} belongs to this server and is sent to no provider")


DEFAULT_PROFILE = "demo"
# A base_url of this server's own mock, answered in process.
MOCK_URL = "mock:"

_FROM_ONE: Final = [MinValueValidator(1)]


class ContextStrategy(models.TextChoices):
    SANDWICH = "sandwich", "Sandwich: the first five, a summary, the last five"
    FULL = "full", "Full: every message, always"


class ProfileQuerySet(models.QuerySet["ModelProfile"]):
    """Lets fixtures refer to profiles by name, with Django's natural keys."""

    def get_by_natural_key(self, name: str) -> "ModelProfile":
        return self.get(name=name)


class ModelProfile(models.Model):
    """A model with its provider and settings. `api_key_env` names the environment variable with the
    key; keys themselves are never stored. `mcp_servers` are names in the operator's file."""

    name = models.CharField(max_length=100, unique=True)
    provider_id = models.CharField("provider", max_length=50)
    model_id = models.CharField("model", max_length=200)
    base_url = models.CharField("base URL", max_length=500, blank=True)
    api_key_env = models.CharField("API key's variable", max_length=100, blank=True)
    system_prompt = models.TextField(blank=True)
    temperature = models.FloatField(
        null=True, blank=True, validators=[MinValueValidator(0.0), MaxValueValidator(2.0)]
    )
    max_tokens = models.PositiveIntegerField(null=True, blank=True, validators=_FROM_ONE)
    enable_thinking = models.BooleanField(default=False)
    thinking_budget = models.PositiveIntegerField(null=True, blank=True, validators=_FROM_ONE)
    context_limit = models.PositiveIntegerField(
        default=128_000, validators=_FROM_ONE, help_text="in tokens"
    )
    context_strategy = models.CharField(
        max_length=16, choices=ContextStrategy, default=ContextStrategy.SANDWICH
    )
    mcp_servers = JsonField("MCP servers", default=list, blank=True)
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
def _check_before_save(instance: ModelProfile, *, raw: bool, **_: Any) -> None:
    """Raise NotAKeyName for a wrong `api_key_env`; set the dates that a fixture (`raw`) omits."""
    check_key_name(instance.api_key_env)
    if raw:
        instance.created_at = instance.created_at or timezone.now()
        instance.updated_at = instance.updated_at or timezone.now()


class Sender(models.TextChoices):
    USER = "user"
    ASSISTANT = "assistant"


class MessageStatus(models.TextChoices):
    """The status of a message; only `complete` answers are part of later prompts."""

    COMPLETE = "complete"
    CANCELLED = "cancelled"
    FAILED = "failed"


class Feedback(models.TextChoices):
    LIKE = "like"
    DISLIKE = "dislike"


class Conversation(EditedRow):
    """A conversation of one client, hidden from all others. An archived one is not listed until its
    client continues it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    client_id = models.CharField(max_length=200)
    title = models.CharField(max_length=200, blank=True)
    tags = NamesField(blank=True, default=list, help_text="With commas between them.")
    archived = models.BooleanField(
        default=False, help_text="Hidden from the user's list until they write again."
    )
    created_at = models.DateTimeField(default=timezone.now)
    last_message_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("-last_message_at", "-created_at")
        indexes = (models.Index(fields=["client_id", "-last_message_at"], name="chat_of_client"),)

    def __str__(self) -> str:
        return self.title or str(self.id)


class Message(EditedRow):
    """One message. An answer's `rounds` are its model calls in order, for the next prompt:
    `[{"parts": [{"thinking", "signature", "redacted"} | {"text"} | {"tool_call": {"id", "name",
    "arguments"}}], "results": [{"tool_call_id", "name", "content", "is_error"}]}]`; `content` and
    `thinking` are the shown text. `tool_calls` are for readers: `[{"id", "name", "arguments",
    "result", "is_error"}]`. `branch` is `a` or `b` in a comparison.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    conversation = models.ForeignKey(Conversation, CASCADE, related_name="messages")
    # The position in the conversation, from 1; both answers of a comparison have one each.
    number = models.PositiveIntegerField()
    sender = models.CharField(max_length=16, choices=Sender)
    content = models.TextField(blank=True)
    thinking = models.TextField(blank=True)
    rounds = JsonField(default=list, blank=True)
    tool_calls = JsonField(default=list, blank=True)
    status = models.CharField(max_length=16, choices=MessageStatus, default=MessageStatus.COMPLETE)
    provider_id = models.CharField("provider", max_length=50, blank=True)
    model_id = models.CharField("model", max_length=200, blank=True)
    branch = models.CharField(max_length=1, blank=True)
    # A copy of the conversation's, for the unique constraint on `client_message_id`.
    client_id = models.CharField(max_length=200)
    client_message_id = models.CharField(max_length=200, null=True, blank=True)  # noqa: DJ001
    feedback = models.CharField(max_length=8, choices=Feedback, blank=True)
    feedback_comment = models.TextField(blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("conversation", "number")
        constraints = (
            models.UniqueConstraint(
                fields=["conversation", "number"], name="message_number_in_conversation"
            ),
            models.UniqueConstraint(
                fields=["client_id", "client_message_id"], name="client_message_id_of_client"
            ),
        )

    def __str__(self) -> str:
        return f"{self.sender} {self.number}: {self.content[:40]}"


class ContextStateQuerySet(models.QuerySet["ContextState"]):
    """Lets fixtures refer to summaries by their conversations."""

    def get_by_natural_key(self, conversation: str) -> "ContextState":
        return self.get(conversation=conversation)


class ContextState(models.Model):
    """A summary that replaces the messages numbered `first` to `last` in prompts.

    `message_count` is the number of messages in the prompt up to the last of them; the summary is
    deleted if that changes.
    """

    conversation = models.OneToOneField(Conversation, CASCADE, related_name="context_state")
    strategy = models.CharField(max_length=16)
    summary = models.TextField()
    first = models.PositiveIntegerField()
    last = models.PositiveIntegerField()
    message_count = models.PositiveIntegerField()
    created_at = models.DateTimeField(default=timezone.now)

    objects = ContextStateQuerySet.as_manager()

    class Meta:
        verbose_name = "context state"

    def __str__(self) -> str:
        return f"messages {self.first} to {self.last} of {self.conversation}"

    def natural_key(self) -> tuple[str]:
        return (str(self.conversation_id),)


class Preference(models.TextChoices):
    A = "a"
    B = "b"
    TIE = "tie"


class ABComparison(EditedRow):
    """Two answers to one message, under the blind labels `a` and `b`, drawn from `seed`.

    Names are stored beside the profiles, which may be deleted; the answers are the traces'
    messages. The vote of an `excluded` comparison does not count in the ranking.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    conversation = models.ForeignKey(Conversation, CASCADE, related_name="comparisons")
    user_message = models.OneToOneField(Message, CASCADE, related_name="comparison")
    seed = models.BigIntegerField()
    profile_a = models.ForeignKey(ModelProfile, SET_NULL, null=True, related_name="+")
    profile_b = models.ForeignKey(ModelProfile, SET_NULL, null=True, related_name="+")
    profile_a_name = models.CharField(max_length=100)
    profile_b_name = models.CharField(max_length=100)
    trace_a = models.OneToOneField(
        "traces_app.Trace", SET_NULL, null=True, related_name="comparison_as_a"
    )
    trace_b = models.OneToOneField(
        "traces_app.Trace", SET_NULL, null=True, related_name="comparison_as_b"
    )
    preference = models.CharField(max_length=3, choices=Preference, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    preference_at = models.DateTimeField(null=True, blank=True)
    comment = models.TextField(blank=True, help_text="Internal note, not visible through the API.")
    excluded = models.BooleanField(
        "excluded from the ranking", default=False, help_text="Its vote counts in no score."
    )

    class Meta:
        verbose_name = "A/B comparison"
        ordering = ("-created_at",)

    def __str__(self) -> str:
        """Name the profiles only after the vote, because the admin shows this in titles."""
        if not self.preference:
            return f"A and B: {self.conversation}"
        return f"{self.profile_a_name} and {self.profile_b_name}"
