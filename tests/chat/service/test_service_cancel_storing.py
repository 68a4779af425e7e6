"""A cancellation that strikes while the answer is being stored: one end, told and stored alike, and
whoever cancels is told the truth."""

import asyncio
from functools import partial
from typing import Any

import pytest
from django.db import OperationalError

from chat_app.errors import ChatError
from chat_app.runs import run as runs
from chat_app.runs.endings import StopReason
from chat_app.service import StreamHandle, cancel
from chat_app.values.events import Complete, Error
from mockllm_site.kit.database_thread import in_database
from tests.chat.chatting import Chat, events_of, log_of, messages_of, trace_of
from tests.chat.gates import GIVEN_UP_SECONDS, Gate
from traces_app.models import Status, TraceEvent
from traces_app.recorder import Recorder


@pytest.fixture
async def stop_requested(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Set once a run was told to stop."""
    requested, loop = asyncio.Event(), asyncio.get_running_loop()
    stop = runs.ChatRun.stop

    def stopped(self: runs.ChatRun, why: StopReason) -> None:
        stop(self, why)
        loop.call_soon_threadsafe(requested.set)

    monkeypatch.setattr(runs.ChatRun, "stop", stopped)
    return requested


async def struck(handle: StreamHandle, gate: Gate, stop_requested: asyncio.Event) -> bool:
    """Cancel while the run waits at the gate: whether it was cancelled."""
    await gate.reached()
    cancelling = asyncio.create_task(cancel(handle))
    await asyncio.wait_for(stop_requested.wait(), GIVEN_UP_SECONDS)
    assert not cancelling.done()
    gate.open()
    try:
        await cancelling
    except ChatError as error:
        assert error.code == "CONFLICT"
        return False
    return True


async def ends_as(handle: StreamHandle, status: Status, message: str, last: Any) -> None:
    """Everything that can be seen of a run agrees on its one end."""
    trace, log = await trace_of(handle), await log_of(handle.id)
    rows = TraceEvent.objects.filter(trace=handle.id).order_by("seq")
    stored = await in_database(partial(list, rows))
    assert [(row.seq, row.type) for row in stored] == [(event.seq, event.type) for event in log]
    terminal = "error" if isinstance(last, Error) else "done"
    assert [event.type for event in log if event.is_terminal] == [terminal] == [log[-1].type]
    assert log[-1].payload.get("cancelled", False) is (status == Status.CANCELLED)
    assert trace.status == status
    said = await events_of(handle)
    assert said[-1] == last
    assert [type(event) for event in said].count(type(last)) == 1
    answers = (await messages_of(handle))[1:]
    assert [(answer.content, answer.status) for answer in answers] == [("Hi.", message)]


async def test_before_the_last_transaction_it_is_cancelled_though_nothing_is_missing(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, stop_requested: asyncio.Event
) -> None:
    gate = Gate()
    monkeypatch.setattr(Recorder, "take_pending", gate.before(Recorder.take_pending))
    await chat.says("Hi.")
    handle = await chat.send()
    assert await struck(handle, gate, stop_requested)
    await ends_as(handle, Status.CANCELLED, "cancelled", Complete("Hi."))


async def test_once_it_is_about_to_be_stored_it_is_complete(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, stop_requested: asyncio.Event
) -> None:
    gate = Gate()
    monkeypatch.setattr(runs, "finish_run", gate.before(runs.finish_run))
    await chat.says("Hi.")
    handle = await chat.send()
    assert not await struck(handle, gate, stop_requested)
    await ends_as(handle, Status.COMPLETED, "complete", Complete("Hi."))


async def test_in_the_last_transaction_it_is_complete(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, stop_requested: asyncio.Event
) -> None:
    gate = Gate()
    store = runs.append_message

    def stored(*given: Any, **named: Any) -> Any:
        found = store(*given, **named)
        gate.wait()
        return found

    monkeypatch.setattr(runs, "append_message", stored)
    await chat.says("Hi.")
    handle = await chat.send()
    assert not await struck(handle, gate, stop_requested)
    await ends_as(handle, Status.COMPLETED, "complete", Complete("Hi."))


async def test_in_a_last_transaction_that_fails_it_has_failed(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, stop_requested: asyncio.Event
) -> None:
    gate = Gate()
    store, tries = runs.append_message, []

    def stored(*given: Any, **named: Any) -> Any:
        tries.append(given)
        if len(tries) == 1:
            gate.wait()
            raise OperationalError("the database has gone away")
        return store(*given, **named)

    monkeypatch.setattr(runs, "append_message", stored)
    await chat.says("Hi.")
    handle = await chat.send()
    assert not await struck(handle, gate, stop_requested)
    failed = Error("The database is not available", "SERVICE_UNAVAILABLE")
    await ends_as(handle, Status.FAILED, "failed", failed)


async def test_after_the_last_transaction_it_is_complete(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, stop_requested: asyncio.Event
) -> None:
    gate = Gate()
    monkeypatch.setattr(runs, "finish_run", gate.after(runs.finish_run))
    await chat.says("Hi.")
    handle = await chat.send()
    assert not await struck(handle, gate, stop_requested)
    await ends_as(handle, Status.COMPLETED, "complete", Complete("Hi."))


async def test_after_the_end_it_has_ended(chat: Chat) -> None:
    await chat.says("Hi.")
    handle = await chat.send()
    await events_of(handle)
    with pytest.raises(ChatError) as caught:
        await cancel(handle)
    assert caught.value.code == "CONFLICT"
    await ends_as(handle, Status.COMPLETED, "complete", Complete("Hi."))
