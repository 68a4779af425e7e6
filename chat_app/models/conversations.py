"""Conversations: messages in order, what was done in each, and how a long one is shortened."""

import uuid

from django.db import models
from django.utils import timezone

from mockllm_site.kit.fields import NamesField
from traces_app.fields import TextJsonField


class Sender(models.TextChoices):
    USER = "user"
    ASSISTANT = "assistant"


class MessageStatus(models.TextChoices):
    """Only `complete` answers are part of later prompts."""

    COMPLETE = "complete"
    CANCELLED = "cancelled"
    FAILED = "failed"


class Feedback(models.TextChoices):
    LIKE = "like"
    DISLIKE = "dislike"


class Conversation(models.Model):
    """`client_id` owns it: nobody else sees that it is there. An archived one is in no list of its
    client until the client goes on with it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    client_id = models.CharField(max_length=200)
    title = models.CharField(max_length=200, blank=True)
    tags = NamesField(blank=True, default=list, help_text="With commas between them.")
    archived = models.BooleanField(
        default=False, help_text="Not in its client's list, until the client goes on with it."
    )
    created_at = models.DateTimeField(default=timezone.now)
    last_message_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("-last_message_at", "-created_at")
        indexes = (models.Index(fields=["client_id", "-last_message_at"], name="chat_of_client"),)

    def __str__(self) -> str:
        return self.title or str(self.id)


class Message(models.Model):
    """One message. An answer's `rounds` are its model calls in order, as the next prompt needs
    them: `[{"parts": [{"thinking", "signature", "redacted"} | {"text"} | {"tool_call": {"id",
    "name", "arguments"}}], "results": [{"tool_call_id", "name", "content", "is_error"}]}]`;
    `content` and `thinking` are what was shown. `tool_calls` are what a reader wants to see:
    `[{"id", "name", "arguments", "result", "is_error"}]`. `branch` is `a` or `b` in a comparison.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    conversation = models.ForeignKey(
        Conversation, on_delete=models.CASCADE, related_name="messages"
    )
    # Its place in the conversation, from 1. Both answers of a comparison have places of their own.
    number = models.PositiveIntegerField()
    sender = models.CharField(max_length=16, choices=Sender)
    content = models.TextField(blank=True)
    thinking = models.TextField(blank=True)
    rounds = TextJsonField(default=list, blank=True)
    tool_calls = TextJsonField(default=list, blank=True)
    status = models.CharField(max_length=16, choices=MessageStatus, default=MessageStatus.COMPLETE)
    provider_id = models.CharField("provider", max_length=50, blank=True)
    model_id = models.CharField("model", max_length=200, blank=True)
    branch = models.CharField(max_length=1, blank=True)
    # Of whom sent it, so that it can be unique among what that client sent.
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


class ContextState(models.Model):
    """A summary that stands for the messages numbered `first` to `last`; `message_count` is how
    many the conversation's prompt had up to the last of them. It is gone when that is no longer
    so."""

    conversation = models.OneToOneField(
        Conversation, on_delete=models.CASCADE, related_name="context_state"
    )
    strategy = models.CharField(max_length=16)
    summary = models.TextField()
    first = models.PositiveIntegerField()
    last = models.PositiveIntegerField()
    message_count = models.PositiveIntegerField()
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name = "context state"

    def __str__(self) -> str:
        return f"messages {self.first} to {self.last} of {self.conversation}"
