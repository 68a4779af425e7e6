"""Reading conversations: only ever those of the client that asks, others do not exist for it."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from chat_app.errors import NOT_FOUND, ChatError
from chat_app.models import Conversation, Message
from traces_app.models import Trace


def conversation_of(client_id: str, conversation_id: Any) -> Conversation:
    """A client's conversation, by its id as it came in; raises NOT_FOUND for whatever is none."""
    key = as_uuid(conversation_id)
    found = key and Conversation.objects.filter(pk=key, client_id=client_id).first()
    if not found:
        raise ChatError(NOT_FOUND, "Conversation not found", field="conversation_id")
    return found


def conversations_of(client_id: str, limit: int | None = None) -> QuerySet[Conversation]:
    """A client's conversations, the one with the newest message first; not the archived ones."""
    return Conversation.objects.filter(client_id=client_id, archived=False)[:limit]


def message_of(client_id: str, message_id: Any) -> Message:
    """A message of one of a client's conversations; raises NOT_FOUND for whatever is none."""
    key = as_uuid(message_id)
    rows = Message.objects.select_related("conversation")
    found = key and rows.filter(pk=key, conversation__client_id=client_id).first()
    if not found:
        raise ChatError(NOT_FOUND, "Message not found", field="message_id")
    return found


def messages_of(conversation: Conversation) -> QuerySet[Message]:
    """All messages of a conversation in order, also those that no prompt holds."""
    return Message.objects.filter(conversation=conversation).order_by("number")


def trace_ids_of(conversation: Conversation) -> dict[UUID, UUID]:
    """By message: the run that wrote an answer, the latest that answered a user's message."""
    found: dict[UUID, UUID] = {}
    traces = Trace.objects.filter(conversation=conversation).order_by("started_at", "-branch")
    for key, asked, answer in traces.values_list("pk", "user_message", "message"):
        found |= {message: key for message in (asked, answer) if message is not None}
    return found


def as_uuid(given: Any) -> UUID | None:
    """The id that a client means; None for what is no id at all."""
    if isinstance(given, UUID):
        return given
    try:
        return UUID(given) if isinstance(given, str) else None
    except ValueError:
        return None
