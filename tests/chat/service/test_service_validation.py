"""Refused messages: requirement 002's table, row by row; nothing is stored."""

import uuid
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from chat_app.errors import ChatError
from chat_app.models import Conversation, Message, ModelProfile
from chat_app.service import send_message
from mockllm_site.kit.database_thread import in_database
from tests.chat.chatting import Chat, events_of
from traces_app.models import Trace, TraceEvent


async def refused(work: Any) -> tuple[str, str, str | None]:
    """Code, message and place of the error; nothing may be stored."""
    before = await in_database(counts)
    with pytest.raises(ChatError) as caught:
        await work
    assert await in_database(counts) == before
    return caught.value.code, caught.value.message, caught.value.field


def counts() -> list[int]:
    return [model.objects.count() for model in (Conversation, Message, Trace, TraceEvent)]


@pytest.mark.parametrize("text", ["", " ", "\n\t \r\n", "\u3000"])
async def test_ch_nt1_an_empty_message(chat: Chat, text: str) -> None:
    conversation = await chat.conversation()
    assert await refused(chat.send(text, conversation_id=conversation.pk)) == (
        "VALIDATION_ERROR",
        "Message cannot be empty",
        "user_message",
    )


async def test_an_empty_first_message_begins_no_conversation(chat: Chat) -> None:
    assert (await refused(chat.send(" ")))[0] == "VALIDATION_ERROR"


@pytest.mark.parametrize("given", [uuid.UUID(int=7), str(uuid.UUID(int=8)), "conversation-1", ""])
async def test_ch_nt2_an_unknown_conversation(chat: Chat, given: Any) -> None:
    assert await refused(chat.send(conversation_id=given)) == (
        "NOT_FOUND",
        "Conversation not found",
        "conversation_id",
    )


async def test_a_conversation_of_somebody_else_is_not_there(chat: Chat) -> None:
    conversation = await chat.conversation()
    sending = chat.send(conversation_id=conversation.pk, client_id="somebody else")
    assert (await refused(sending))[:2] == ("NOT_FOUND", "Conversation not found")


async def test_a_conversation_may_be_named_as_text(chat: Chat) -> None:
    await chat.says("Hi.")
    conversation = await chat.conversation()
    handle = await chat.send(conversation_id=str(conversation.pk))
    assert handle.conversation_id == conversation.pk
    await events_of(handle)


@pytest.mark.parametrize("text", ["a\0b", "half \ud83d", "\udc00"], ids=["NUL", "high", "low"])
async def test_a_message_that_no_database_can_hold(chat: Chat, text: str) -> None:
    assert (await refused(chat.send(text)))[::2] == ("VALIDATION_ERROR", "user_message")


async def test_an_unknown_profile(chat: Chat) -> None:
    profile = await chat.profile()
    await in_database(ModelProfile.objects.filter(pk=profile.pk).delete)
    expected = ("NOT_FOUND", "Profile not found", "profile.id")
    assert await refused(chat.send(profile=profile)) == expected
    assert await refused(chat.send(profile=ModelProfile(name="never saved"))) == expected
    assert await refused(send_message(None, "Hello", None, client_id="reader")) == expected


@pytest.mark.parametrize("blank", ["", "  "])
@pytest.mark.parametrize(
    ("column", "message"),
    [("model_id", "Model is required"), ("provider_id", "Provider is required")],
)
async def test_a_profile_without(chat: Chat, column: str, message: str, blank: str) -> None:
    profile = await chat.profile(**{column: blank})
    assert await refused(chat.send(profile=profile)) == (
        "VALIDATION_ERROR",
        message,
        f"profile.{column}",
    )


async def test_the_table_is_checked_from_the_top(chat: Chat) -> None:
    bad = await chat.profile(provider_id="", model_id="")
    there = (await chat.conversation()).pk
    steps: list[tuple[Callable[[], Any], str]] = [
        (partial(send_message, uuid.uuid4(), " ", None), "Conversation not found"),
        (partial(send_message, there, " ", None), "Message cannot be empty"),
        (partial(send_message, there, "Hello", None), "Profile not found"),
        (partial(send_message, there, "Hello", bad), "Model is required"),
    ]
    for send, message in steps:
        assert (await refused(send()))[1] == message


@pytest.mark.parametrize("given", ["x" * 201, "a\0b", "\ud800"], ids=["long", "NUL", "half"])
async def test_a_client_message_id_that_no_database_can_hold(chat: Chat, given: str) -> None:
    assert (await refused(chat.send(client_message_id=given)))[::2] == (
        "VALIDATION_ERROR",
        "client_message_id",
    )
