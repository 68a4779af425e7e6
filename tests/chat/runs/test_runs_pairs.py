"""Two runs that answer one message: sessions, repeats and cancelling."""

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
from tests.chat.chat_helpers import (
    Chat,
    log_of,
    messages_of,
    scenario,
    text_of,
)
from tests.chat.scripts import ENDLESS
from traces_app.models import Status, Trace


async def start_pair(chat: Chat, **options: Any) -> AcceptedMessage:
    """Start two runs, of two profiles, that answer one message."""
    profiles = {"a": await chat.profile(), "b": await chat.profile(model_id="gpt-4o-mini")}

    async def start() -> AcceptedMessage:
        message = IncomingMessage(None, "Hello", profiles, client_id="reader", **options)
        accepted = await in_database(partial(accept_message, message))
        for run in accepted.runs:
            accepting_registry().start(run)
        return accepted

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
    accepted = await start_pair(chat)
    logs = await asyncio.gather(*(log_of(trace_id) for trace_id in accepted.trace_ids))
    assert [text_of(log) for log in logs] == ["From A.", "From B."]
    traces = await in_database(lambda: list(Trace.objects.order_by("branch")))
    assert [trace.branch for trace in traces] == ["a", "b"]
    assert {trace.user_message_id for trace in traces} == {accepted.user_message_id}
    assert {trace.status for trace in traces} == {Status.COMPLETED}
    handle = StreamHandle(accepted.trace_ids[0], accepted.user_message_id, accepted.conversation_id)
    messages = await messages_of(handle)
    assert [message.number for message in messages] == [1, 2, 3]
    assert {m.branch: m.content for m in messages} == {"": "Hello", "a": "From A.", "b": "From B."}


async def test_runs_of_a_pair_have_separate_sessions(chat: Chat) -> None:
    """Each gets the first step, as neither sees the steps that the other consumed."""
    await chat.script({"name": "one", "steps": [{"produce": {"text": "The only one."}}]})
    accepted = await start_pair(chat)
    for trace_id in accepted.trace_ids:
        assert text_of(await log_of(trace_id)) == "The only one."


async def test_repeated_message_gives_the_same_pair(chat: Chat) -> None:
    await chat.script({"name": "one", "steps": [{"produce": {"text": "Hi."}}]})
    first = await start_pair(chat, client_message_id="m-1")
    again = await start_pair(chat, client_message_id="m-1")
    assert again.trace_ids == first.trace_ids and again.runs == ()
    with pytest.raises(ChatError, match="belongs to another message"):
        await chat.send("Hello", client_message_id="m-1")
    for trace_id in first.trace_ids:
        await log_of(trace_id)


async def test_runs_of_a_pair_are_cancelled_separately(chat: Chat) -> None:
    await chat.script({"name": "one", "steps": [{"produce": ENDLESS}]})
    accepted = await start_pair(chat)
    await cancel(accepted.trace_ids[0])
    await cancel(accepted.trace_ids[1])
    statuses = await in_database(lambda: set(Trace.objects.values_list("status", flat=True)))
    assert statuses == {Status.CANCELLED}
