"""Cancelling while the answer is being stored: events, rows and the caller agree on one end."""

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
from tests.chat.chat_helpers import Chat, events_of, log_of, messages_of, trace_of
from tests.chat.gates import TIMEOUT_SECONDS, Gate
from traces_app.models import Status, TraceEvent
from traces_app.recorder import Recorder


@pytest.fixture
async def stop_requested(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """An event that is set when a run is stopped."""
    requested, loop = asyncio.Event(), asyncio.get_running_loop()
    stop = runs.ChatRun.stop

    def stop_and_signal(self: runs.ChatRun, reason: StopReason) -> None:
        stop(self, reason)
        loop.call_soon_threadsafe(requested.set)

    monkeypatch.setattr(runs.ChatRun, "stop", stop_and_signal)
    return requested


async def cancel_at_gate(handle: StreamHandle, gate: Gate, stop_requested: asyncio.Event) -> bool:
    """Cancel while the run waits at the gate; return whether it was cancelled."""
    await gate.wait_until_reached()
    cancel_task = asyncio.create_task(cancel(handle))
    await asyncio.wait_for(stop_requested.wait(), TIMEOUT_SECONDS)
    assert not cancel_task.done()
    gate.open()
    try:
        await cancel_task
    except ChatError as error:
        assert error.code == "CONFLICT"
        return False
    return True


async def assert_end(handle: StreamHandle, status: Status, message: str, last: Any) -> None:
    """Assert that events, trace and messages of a run agree on its end."""
    trace, log = await trace_of(handle), await log_of(handle.id)
    rows = TraceEvent.objects.filter(trace=handle.id).order_by("seq")
    event_rows = await in_database(partial(list, rows))
    assert [(row.seq, row.type) for row in event_rows] == [(event.seq, event.type) for event in log]
    terminal = "error" if isinstance(last, Error) else "done"
    assert [event.type for event in log if event.is_terminal] == [terminal] == [log[-1].type]
    assert log[-1].payload.get("cancelled", False) is (status == Status.CANCELLED)
    assert trace.status == status
    events = await events_of(handle)
    assert events[-1] == last
    assert [type(event) for event in events].count(type(last)) == 1
    answers = (await messages_of(handle))[1:]
    assert [(answer.content, answer.status) for answer in answers] == [("Hi.", message)]


async def test_cancel_before_the_last_transaction_succeeds(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, stop_requested: asyncio.Event
) -> None:
    gate = Gate()
    monkeypatch.setattr(Recorder, "take_pending", gate.before(Recorder.take_pending))
    await chat.script_texts("Hi.")
    handle = await chat.send()
    assert await cancel_at_gate(handle, gate, stop_requested)
    await assert_end(handle, Status.CANCELLED, "cancelled", Complete("Hi."))


async def test_cancel_is_too_late_once_storing_starts(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, stop_requested: asyncio.Event
) -> None:
    gate = Gate()
    monkeypatch.setattr(runs, "finish_run", gate.before(runs.finish_run))
    await chat.script_texts("Hi.")
    handle = await chat.send()
    assert not await cancel_at_gate(handle, gate, stop_requested)
    await assert_end(handle, Status.COMPLETED, "complete", Complete("Hi."))


async def test_cancel_is_too_late_in_the_last_transaction(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, stop_requested: asyncio.Event
) -> None:
    gate = Gate()
    store = runs.append_message

    def store_then_wait(*args: Any, **kwargs: Any) -> Any:
        message = store(*args, **kwargs)
        gate.wait()
        return message

    monkeypatch.setattr(runs, "append_message", store_then_wait)
    await chat.script_texts("Hi.")
    handle = await chat.send()
    assert not await cancel_at_gate(handle, gate, stop_requested)
    await assert_end(handle, Status.COMPLETED, "complete", Complete("Hi."))


async def test_run_fails_if_its_last_transaction_fails_during_a_cancel(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, stop_requested: asyncio.Event
) -> None:
    gate = Gate()
    store, attempts = runs.append_message, []

    def wait_then_fail_once(*args: Any, **kwargs: Any) -> Any:
        attempts.append(args)
        if len(attempts) == 1:
            gate.wait()
            raise OperationalError("the database has gone away")
        return store(*args, **kwargs)

    monkeypatch.setattr(runs, "append_message", wait_then_fail_once)
    await chat.script_texts("Hi.")
    handle = await chat.send()
    assert not await cancel_at_gate(handle, gate, stop_requested)
    error = Error("The database is not available", "SERVICE_UNAVAILABLE")
    await assert_end(handle, Status.FAILED, "failed", error)


async def test_cancel_is_too_late_after_the_last_transaction(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, stop_requested: asyncio.Event
) -> None:
    gate = Gate()
    monkeypatch.setattr(runs, "finish_run", gate.after(runs.finish_run))
    await chat.script_texts("Hi.")
    handle = await chat.send()
    assert not await cancel_at_gate(handle, gate, stop_requested)
    await assert_end(handle, Status.COMPLETED, "complete", Complete("Hi."))


async def test_cancel_after_the_end_is_a_conflict(chat: Chat) -> None:
    await chat.script_texts("Hi.")
    handle = await chat.send()
    await events_of(handle)
    with pytest.raises(ChatError) as raised:
        await cancel(handle)
    assert raised.value.code == "CONFLICT"
    await assert_end(handle, Status.COMPLETED, "complete", Complete("Hi."))
