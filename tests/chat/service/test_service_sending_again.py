"""Sending twice: the same message is sent once, another one during a run is refused."""

import asyncio
from functools import partial
from typing import Any

import pytest
from django.utils import timezone

from chat_app.errors import ChatError
from chat_app.models import Conversation, Message
from chat_app.service import StreamHandle, cancel
from mockllm_site.kit.database_thread import in_database
from tests.chat.chat_helpers import Chat, events_of, log_of, messages_of, scenario, trace_of
from tests.chat.scripts import ENDLESS
from tests.traces.rows import dead_owner
from traces_app.leases import LEASE
from traces_app.models import Status, Trace


async def conflict_field(work: Any) -> str | None:
    """Await the work, assert a CONFLICT, and return its field."""
    with pytest.raises(ChatError) as raised:
        await work
    assert raised.value.code == "CONFLICT"
    return raised.value.field


async def count_rows() -> tuple[int, int, int]:
    return await in_database(
        lambda: (Conversation.objects.count(), Message.objects.count(), Trace.objects.count())
    )


def ids(handle: StreamHandle) -> tuple[Any, ...]:
    return handle.id, handle.user_message_id, handle.conversation_id


async def test_the_same_message_is_the_same_run(chat: Chat) -> None:
    await chat.script_texts("Hi.")
    first = await chat.send("Hello", client_message_id="m-1")
    log = await log_of(first.id)
    second = await chat.send("Hello", client_message_id="m-1")
    assert (first.replayed, second.replayed) == (False, True)
    assert ids(second) == ids(first)
    assert await log_of(second.id) == log
    assert await count_rows() == (1, 2, 1)


async def test_repeated_message_joins_the_running_run(chat: Chat) -> None:
    await chat.script(scenario(ENDLESS))
    first = await chat.send("Hello", client_message_id="m-1")
    second = await chat.send("Hello", client_message_id="m-1")
    assert ids(second) == ids(first)
    both_events = asyncio.gather(events_of(first), events_of(second))
    await cancel(first)
    first_events, second_events = await both_events
    assert first_events == second_events


async def test_repeated_message_ignores_the_conversation_id(chat: Chat) -> None:
    await chat.script_texts("Hi.")
    other = await chat.conversation()
    first = await chat.send("Hello", client_message_id="m-1")
    for conversation in (other.pk, first.conversation_id, "none", None):
        second = await chat.send(
            "Hello", client_message_id="m-1", conversation_id=conversation, client_id="reader"
        )
        assert ids(second) == ids(first)
    await events_of(first)


async def test_another_text_under_the_same_id_is_a_conflict(chat: Chat) -> None:
    await chat.script_texts("Hi.")
    first = await chat.send("Hello", client_message_id="m-1")
    assert (
        await conflict_field(chat.send("Goodbye", client_message_id="m-1")) == "client_message_id"
    )
    await events_of(first)
    assert await count_rows() == (1, 2, 1)


async def test_same_id_of_another_client_starts_another_run(chat: Chat) -> None:
    await chat.script_texts("Hi.", "Hi.")
    first = await chat.send("Hello", client_message_id="m-1")
    other = Chat("another reader")
    second = await other.send("Hello", client_message_id="m-1")
    assert second.id != first.id
    await asyncio.gather(events_of(first), events_of(second))


async def test_messages_without_an_id_start_separate_runs(chat: Chat) -> None:
    await chat.script_texts("Hi.", "Hi.")
    first = await chat.send("Hello")
    second = await chat.send("Hello")
    assert second.id != first.id
    await asyncio.gather(events_of(first), events_of(second))


@pytest.mark.parametrize("in_conversation", [True, False], ids=["to a conversation", "to none"])
async def test_fifty_concurrent_identical_messages_start_one_run(
    chat: Chat, in_conversation: bool
) -> None:
    await chat.script_texts("Hi.")
    profile = await chat.profile()
    options: dict[str, Any] = {"client_message_id": "m-1", "profile": profile}
    if in_conversation:
        options["conversation_id"] = (await chat.conversation()).pk
    handles = await asyncio.gather(*(chat.send("Hello", **options) for _ in range(50)))
    assert len({ids(handle) for handle in handles}) == 1
    assert sum(not handle.replayed for handle in handles) == 1
    logs = await asyncio.gather(*(log_of(handle.id) for handle in handles))
    assert all(log == logs[0] for log in logs)
    assert await count_rows() == (1, 2, 1)


async def test_message_during_a_run_is_a_conflict(chat: Chat) -> None:
    await chat.script(scenario(ENDLESS))
    first = await chat.send("Hello")
    again = partial(chat.send, "And?", conversation_id=first.conversation_id)
    assert await conflict_field(again()) == "conversation_id"
    assert await count_rows() == (1, 1, 1)
    await cancel(first)
    await chat.script_texts("Now.")
    second = await again()
    await events_of(second)
    assert (await trace_of(second)).status == Status.COMPLETED


async def test_one_of_many_concurrent_messages_is_accepted(chat: Chat) -> None:
    await chat.script(scenario(*[ENDLESS] * 20))
    profile = await chat.profile()
    conversation = (await chat.conversation()).pk
    results = await asyncio.gather(
        *(
            chat.send(f"Message {number}", profile=profile, conversation_id=conversation)
            for number in range(20)
        ),
        return_exceptions=True,
    )
    handles = [handle for handle in results if isinstance(handle, StreamHandle)]
    codes = [error.code for error in results if isinstance(error, ChatError)]
    assert (len(handles), codes) == (1, ["CONFLICT"] * 19)
    assert await count_rows() == (1, 1, 1)
    await cancel(handles[0])


async def test_dead_run_does_not_block_its_conversation(chat: Chat) -> None:
    await chat.script_texts("Hi.")
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
    dead_trace = await in_database(partial(Trace.objects.get, pk=dead.pk))
    assert (dead_trace.status, dead_trace.error) == (Status.FAILED, "interrupted")
    assert [message.number for message in await messages_of(handle)] == [1, 2]
