"""Two runs that answer one message: together, apart, sent again, and one of them cancelled."""

import asyncio
from functools import partial
from typing import Any

import pytest

from chat_app import loop
from chat_app.errors import ChatError
from chat_app.runs.accept import AcceptedMessage, IncomingMessage, accept_message
from chat_app.runs.registry import accepting_registry
from chat_app.service import StreamHandle, cancel
from mockllm_site.kit.database_thread import in_database
from tests.chat.chatting import (
    Chat,
    log_of,
    messages_of,
    scenario,
    text_of,
)
from tests.chat.scripts import ENDLESS
from traces_app.models import Status, Trace


async def pair(chat: Chat, **options: Any) -> AcceptedMessage:
    """Two profiles answer one message."""
    profiles = {"a": await chat.profile(), "b": await chat.profile(model_id="gpt-4o-mini")}

    async def start() -> AcceptedMessage:
        sending = IncomingMessage(None, "Hello", profiles, client_id="reader", **options)
        begun = await in_database(partial(accept_message, sending))
        for opened in begun.runs:
            accepting_registry().start(opened)
        return begun

    return await loop.run_on_loop(start())


async def test_two_runs_can_answer_one_message(chat: Chat) -> None:
    await chat.script(
        scenario({"text": "From A."}),
        {
            "name": "mini",
            "priority": 1,
            "steps": [{"match": {"model": "gpt-4o-mini"}, "produce": {"text": "From B."}}],
        },
    )
    begun = await pair(chat)
    logs_of = await asyncio.gather(*(log_of(trace_id) for trace_id in begun.trace_ids))
    assert [text_of(log) for log in logs_of] == ["From A.", "From B."]
    traces = await in_database(lambda: list(Trace.objects.order_by("branch")))
    assert [trace.branch for trace in traces] == ["a", "b"]
    assert {trace.user_message_id for trace in traces} == {begun.user_message_id}
    assert {trace.status for trace in traces} == {Status.COMPLETED}
    handle = StreamHandle(begun.trace_ids[0], begun.user_message_id, begun.conversation_id)
    messages = await messages_of(handle)
    assert [message.number for message in messages] == [1, 2, 3]
    assert {m.branch: m.content for m in messages} == {"": "Hello", "a": "From A.", "b": "From B."}


async def test_the_runs_of_a_pair_have_sessions_of_their_own(chat: Chat) -> None:
    """Each is served the first step, as neither sees what the other used up."""
    await chat.script({"name": "one", "steps": [{"produce": {"text": "The only one."}}]})
    begun = await pair(chat)
    for trace_id in begun.trace_ids:
        assert text_of(await log_of(trace_id)) == "The only one."


async def test_a_pair_that_is_sent_again_is_the_same_pair(chat: Chat) -> None:
    await chat.script({"name": "one", "steps": [{"produce": {"text": "Hi."}}]})
    first = await pair(chat, client_message_id="m-1")
    again = await pair(chat, client_message_id="m-1")
    assert again.trace_ids == first.trace_ids and again.runs == ()
    with pytest.raises(ChatError, match="belongs to another message"):
        await chat.send("Hello", client_message_id="m-1")
    for trace_id in first.trace_ids:
        await log_of(trace_id)


async def test_one_of_a_pair_can_be_cancelled(chat: Chat) -> None:
    await chat.script({"name": "one", "steps": [{"produce": ENDLESS}]})
    begun = await pair(chat)
    await cancel(begun.trace_ids[0])
    await cancel(begun.trace_ids[1])
    statuses = await in_database(lambda: set(Trace.objects.values_list("status", flat=True)))
    assert statuses == {Status.CANCELLED}
