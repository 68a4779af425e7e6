"""Sending twice: the same message is one message, another one waits for its turn."""

import asyncio
from functools import partial
from typing import Any

import pytest
from django.utils import timezone

from chat_app.errors import ChatError
from chat_app.models import Conversation, Message
from chat_app.service import StreamHandle, cancel
from mockllm_site.kit.database_thread import in_database
from tests.chat.chatting import Chat, events_of, log_of, messages_of, scenario, trace_of
from tests.chat.scripts import ENDLESS
from tests.traces.rows import dead_owner
from traces_app.leases import LEASE
from traces_app.models import Status, Trace


async def conflict(work: Any) -> str | None:
    """The place of a conflict."""
    with pytest.raises(ChatError) as caught:
        await work
    assert caught.value.code == "CONFLICT"
    return caught.value.field


async def counted() -> tuple[int, int, int]:
    return await in_database(
        lambda: (Conversation.objects.count(), Message.objects.count(), Trace.objects.count())
    )


def ids(handle: StreamHandle) -> tuple[Any, ...]:
    return handle.id, handle.user_message_id, handle.conversation_id


async def test_the_same_message_is_the_same_run(chat: Chat) -> None:
    await chat.says("Hi.")
    first = await chat.send("Hello", client_message_id="m-1")
    log = await log_of(first.id)
    second = await chat.send("Hello", client_message_id="m-1")
    assert (first.replayed, second.replayed) == (False, True)
    assert ids(second) == ids(first)
    assert await log_of(second.id) == log
    assert await counted() == (1, 2, 1)


async def test_the_same_message_joins_a_run_that_goes_on(chat: Chat) -> None:
    await chat.script(scenario(ENDLESS))
    first = await chat.send("Hello", client_message_id="m-1")
    second = await chat.send("Hello", client_message_id="m-1")
    assert ids(second) == ids(first)
    both = asyncio.gather(events_of(first), events_of(second))
    await cancel(first)
    told, again = await both
    assert told == again


async def test_the_same_message_is_found_whatever_conversation_comes_with_it(chat: Chat) -> None:
    await chat.says("Hi.")
    other = await chat.conversation()
    first = await chat.send("Hello", client_message_id="m-1")
    for conversation in (other.pk, first.conversation_id, "none", None):
        second = await chat.send(
            "Hello", client_message_id="m-1", conversation_id=conversation, client_id="reader"
        )
        assert ids(second) == ids(first)
    await events_of(first)


async def test_another_text_under_the_same_id_is_a_conflict(chat: Chat) -> None:
    await chat.says("Hi.")
    first = await chat.send("Hello", client_message_id="m-1")
    assert await conflict(chat.send("Goodbye", client_message_id="m-1")) == "client_message_id"
    await events_of(first)
    assert await counted() == (1, 2, 1)


async def test_an_id_is_its_clients_own(chat: Chat) -> None:
    await chat.says("Hi.", "Hi.")
    first = await chat.send("Hello", client_message_id="m-1")
    other = Chat("another reader")
    second = await other.send("Hello", client_message_id="m-1")
    assert second.id != first.id
    await asyncio.gather(events_of(first), events_of(second))


async def test_messages_without_an_id_are_never_the_same(chat: Chat) -> None:
    await chat.says("Hi.", "Hi.")
    first = await chat.send("Hello")
    second = await chat.send("Hello")
    assert second.id != first.id
    await asyncio.gather(events_of(first), events_of(second))


@pytest.mark.parametrize("begun", [True, False], ids=["to a conversation", "to none"])
async def test_fifty_identical_messages_at_once_are_one(chat: Chat, begun: bool) -> None:
    await chat.says("Hi.")
    profile = await chat.profile()
    options: dict[str, Any] = {"client_message_id": "m-1", "profile": profile}
    if begun:
        options["conversation_id"] = (await chat.conversation()).pk
    handles = await asyncio.gather(*(chat.send("Hello", **options) for _ in range(50)))
    assert len({ids(handle) for handle in handles}) == 1
    assert sum(not handle.replayed for handle in handles) == 1
    logs = await asyncio.gather(*(log_of(handle.id) for handle in handles))
    assert all(log == logs[0] for log in logs)
    assert await counted() == (1, 2, 1)


async def test_a_conversation_that_is_being_answered_takes_no_message(chat: Chat) -> None:
    await chat.script(scenario(ENDLESS))
    first = await chat.send("Hello")
    again = partial(chat.send, "And?", conversation_id=first.conversation_id)
    assert await conflict(again()) == "conversation_id"
    assert await counted() == (1, 1, 1)
    await cancel(first)
    await chat.says("Now.")
    second = await again()
    await events_of(second)
    assert (await trace_of(second)).status == Status.COMPLETED


async def test_of_many_messages_at_once_one_is_taken(chat: Chat) -> None:
    await chat.script(scenario(*[ENDLESS] * 20))
    profile = await chat.profile()
    conversation = (await chat.conversation()).pk
    sent = await asyncio.gather(
        *(
            chat.send(f"Message {number}", profile=profile, conversation_id=conversation)
            for number in range(20)
        ),
        return_exceptions=True,
    )
    handles = [handle for handle in sent if isinstance(handle, StreamHandle)]
    codes = [error.code for error in sent if isinstance(error, ChatError)]
    assert (len(handles), codes) == (1, ["CONFLICT"] * 19)
    assert await counted() == (1, 1, 1)
    await cancel(handles[0])


async def test_a_run_whose_process_died_holds_up_nobody(chat: Chat) -> None:
    await chat.says("Hi.")
    conversation = await chat.conversation()
    dead = await in_database(
        partial(
            Trace.objects.create,
            conversation=conversation,
            owner=dead_owner(),
            lease_until=timezone.now() + LEASE,
        )
    )
    handle = await chat.send("Hello", conversation_id=conversation.pk)
    await events_of(handle)
    ended = await in_database(partial(Trace.objects.get, pk=dead.pk))
    assert (ended.status, ended.error) == (Status.FAILED, "interrupted")
    assert [message.number for message in await messages_of(handle)] == [1, 2]
