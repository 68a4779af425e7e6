"""Helpers for conversations that are too long for their model."""

from functools import partial
from typing import Any

import pytest

from chat_app.conversations import append_message
from chat_app.models import ContextState, Conversation, Sender
from chat_app.values.model_call import (
    ModelRequest,
)
from mockllm_site.kit.database_thread import in_database
from tests.chat.chat_helpers import Chat, script_client

LONG_TEXT = "Tell me more about this, please. " * 4
# Twelve such messages have about 400 tokens, above 70 % of this; ten are below 60 %.
SMALL_LIMIT = {"context_limit": 550}


def append_messages(conversation: Conversation, count: int) -> None:
    """Append alternating messages of user and model, each with its number."""
    for number in range(1, count + 1):
        sender = Sender.USER if number % 2 else Sender.ASSISTANT
        append_message(conversation, sender, content=f"{number}: {LONG_TEXT}")


async def create_long_conversation(chat: Chat, count: int) -> Conversation:
    conversation = await chat.conversation()
    await in_database(partial(append_messages, conversation, count))
    return conversation


async def state_of(conversation: Conversation) -> ContextState | None:
    return await in_database(ContextState.objects.filter(conversation=conversation).first)


def record_requests(monkeypatch: pytest.MonkeyPatch, *events: Any) -> list[ModelRequest]:
    """Return the list of requests that the scripted client gets."""
    requests: list[ModelRequest] = []

    async def on_request(request: ModelRequest) -> None:
        requests.append(request)

    script_client(monkeypatch, *(events or ("Fine.",)), on_request=on_request)
    return requests
