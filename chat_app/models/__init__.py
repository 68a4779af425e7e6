"""What the chat keeps: profiles, conversations with their messages, and comparisons."""

from chat_app.models.comparisons import ABComparison, Preference
from chat_app.models.conversations import (
    ContextState,
    Conversation,
    Feedback,
    Message,
    MessageStatus,
    Sender,
)
from chat_app.models.profiles import ContextStrategy, ModelProfile

__all__ = [
    "ABComparison",
    "ContextState",
    "ContextStrategy",
    "Conversation",
    "Feedback",
    "Message",
    "MessageStatus",
    "ModelProfile",
    "Preference",
    "Sender",
]
