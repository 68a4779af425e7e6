"""Refused messages by requirement 002's table; nothing is stored."""

import uuid
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from chat_app.errors import ChatError
from chat_app.models import Conversation, Message, ModelProfile
from chat_app.service import send_message
from mockllm_site.kit.database_thread import in_database
from tests.chat.chat_helpers import Chat, events_of
from traces_app.models import Trace, TraceEvent


async def get_validation_error(work: Any) -> tuple[str, str, str | None]:
    """Return the code, message and field of the error of `work`, which stores nothing."""
    before = await in_database(count_rows)
    with pytest.raises(ChatError) as raised:
        await work
    assert await in_database(count_rows) == before
    return raised.value.code, raised.value.message, raised.value.field


def count_rows() -> list[int]:
    return [model.objects.count() for model in (Conversation, Message, Trace, TraceEvent)]


@pytest.mark.parametrize("text", ["", " ", "\n\t \r\n", "\u3000"])
async def test_ch_nt1_empty_message_is_refused(chat: Chat, text: str) -> None:
    conversation = await chat.conversation()
    assert await get_validation_error(chat.send(text, conversation_id=conversation.pk)) == (
        "VALIDATION_ERROR",
        "Message cannot be empty",
        "user_message",
    )


async def test_an_empty_first_message_begins_no_conversation(chat: Chat) -> None:
    assert (await get_validation_error(chat.send(" ")))[0] == "VALIDATION_ERROR"


@pytest.mark.parametrize(
    "conversation_id", [uuid.UUID(int=7), str(uuid.UUID(int=8)), "conversation-1", ""]
)
async def test_ch_nt2_unknown_conversation_is_refused(chat: Chat, conversation_id: Any) -> None:
    assert await get_validation_error(chat.send(conversation_id=conversation_id)) == (
        "NOT_FOUND",
        "Conversation not found",
        "conversation_id",
    )


async def test_conversation_of_another_client_is_not_found(chat: Chat) -> None:
    conversation = await chat.conversation()
    message = chat.send(conversation_id=conversation.pk, client_id="somebody else")
    assert (await get_validation_error(message))[:2] == ("NOT_FOUND", "Conversation not found")


async def test_conversation_id_may_be_a_string(chat: Chat) -> None:
    await chat.script_texts("Hi.")
    conversation = await chat.conversation()
    handle = await chat.send(conversation_id=str(conversation.pk))
    assert handle.conversation_id == conversation.pk
    await events_of(handle)


@pytest.mark.parametrize("text", ["a\0b", "half \ud83d", "\udc00"], ids=["NUL", "high", "low"])
async def test_message_with_unstorable_characters_is_refused(chat: Chat, text: str) -> None:
    assert (await get_validation_error(chat.send(text)))[::2] == (
        "VALIDATION_ERROR",
        "user_message",
    )


async def test_unknown_profile_is_refused(chat: Chat) -> None:
    profile = await chat.profile()
    await in_database(ModelProfile.objects.filter(pk=profile.pk).delete)
    expected = ("NOT_FOUND", "Profile not found", "profile.id")
    assert await get_validation_error(chat.send(profile=profile)) == expected
    assert (
        await get_validation_error(chat.send(profile=ModelProfile(name="never saved"))) == expected
    )
    assert (
        await get_validation_error(send_message(None, "Hello", None, client_id="reader"))
        == expected
    )


@pytest.mark.parametrize("blank", ["", "  "])
@pytest.mark.parametrize(
    ("column", "message"),
    [("model_id", "Model is required"), ("provider_id", "Provider is required")],
)
async def test_profile_without_model_or_provider_is_refused(
    chat: Chat, column: str, message: str, blank: str
) -> None:
    profile = await chat.profile(**{column: blank})
    assert await get_validation_error(chat.send(profile=profile)) == (
        "VALIDATION_ERROR",
        message,
        f"profile.{column}",
    )


async def test_checks_run_in_the_order_of_the_table(chat: Chat) -> None:
    invalid_profile = await chat.profile(provider_id="", model_id="")
    conversation_id = (await chat.conversation()).pk
    steps: list[tuple[Callable[[], Any], str]] = [
        (partial(send_message, uuid.uuid4(), " ", None), "Conversation not found"),
        (partial(send_message, conversation_id, " ", None), "Message cannot be empty"),
        (partial(send_message, conversation_id, "Hello", None), "Profile not found"),
        (partial(send_message, conversation_id, "Hello", invalid_profile), "Model is required"),
    ]
    for send, message in steps:
        assert (await get_validation_error(send()))[1] == message


@pytest.mark.parametrize("message_id", ["x" * 201, "a\0b", "\ud800"], ids=["long", "NUL", "half"])
async def test_unstorable_client_message_id_is_refused(chat: Chat, message_id: str) -> None:
    assert (await get_validation_error(chat.send(client_message_id=message_id)))[::2] == (
        "VALIDATION_ERROR",
        "client_message_id",
    )
