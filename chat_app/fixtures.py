"""Fixtures of conversations for `loaddata`, whole: with messages, traces and comparisons."""

from collections.abc import Iterator
from typing import Any

from django.core import serializers
from django.db.models import Model, QuerySet

from chat_app.models import ABComparison, ContextState, Conversation, Message
from traces_app.models import ModelCall, Status, Trace, TraceEvent


class CannotExport(Exception):
    """Conversations that no fixture can hold now; the message says why."""


def fixture_of(conversations: QuerySet[Conversation]) -> str:
    """Return the fixture of these conversations as JSON. Profiles are named but not referred to, so
    that it loads without them. Raises CannotExport."""
    if Trace.objects.filter(conversation__in=conversations, status=Status.RUNNING).exists():
        raise CannotExport("An answer is under way.")
    if ABComparison.objects.filter(conversation__in=conversations, preference="").exists():
        raise CannotExport("A comparison has no vote yet, and a fixture names its profiles.")
    return serializers.serialize(
        "json", _rows(conversations), indent=2, use_natural_primary_keys=True, ensure_ascii=False
    )


def _rows(conversations: QuerySet[Conversation]) -> Iterator[Any]:
    """Yield the rows of the conversations, each before those that refer to it."""
    yield from conversations.order_by("pk")
    models: tuple[tuple[type[Model], str], ...] = (
        (Message, "conversation"), (ContextState, "conversation"), (Trace, "conversation"),
        (TraceEvent, "trace__conversation"), (ModelCall, "trace__conversation"),
    )  # fmt: skip
    for model, path in models:
        rows = model._default_manager.filter(**{f"{path}__in": conversations})
        yield from rows.order_by(*(model._meta.ordering or ("pk",)))
    for comparison in ABComparison.objects.filter(conversation__in=conversations).order_by("pk"):
        comparison.profile_a = comparison.profile_b = None
        yield comparison
