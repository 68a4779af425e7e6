"""The database fails at each operation of a turn, once or permanently.

Followers and storage agree on one end, no sent text is lost, and the process works afterwards."""

import asyncio
from functools import partial
from typing import Any

import pytest

from chat_app.errors import ChatError
from chat_app.models import Message, ModelProfile
from chat_app.service import StreamHandle, cancel
from chat_app.values.events import Complete, Error
from mockllm_site.kit.database_thread import in_database
from tests.chat.chat_helpers import Chat, events_of, log_of, messages_of, trace_of
from tests.chat.failing_database import Fault, database_fault
from tests.chat.scripts import TOOL_CALL
from tests.traces.rows import dead_owner
from traces_app.follow import follow
from traces_app.log import LoggedEvent, live_logs
from traces_app.models import Status, Trace

MAX_OPERATIONS = 200
# Slow enough that batches of events are written meanwhile.
PACING = {"chunk_ms": 30, "words_per_chunk": 1}
DATABASE_ERROR = Error("The database is not available", "SERVICE_UNAVAILABLE")
INTERRUPTED = Error("interrupted", "SERVICE_UNAVAILABLE")


@pytest.fixture(autouse=True)
def no_retry_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chat_app.runs.run.RETRY_SECONDS", (0.0, 0.0, 0.0))
    # The next renewal makes up for a failed one, so none is needed here.
    monkeypatch.setattr("chat_app.runs.registry.RENEW_SECONDS", 3_600.0)


async def script_turns(chat: Chat) -> ModelProfile:
    """Script a tool call and then an answer for the first message of every conversation."""
    await chat.script(
        {
            "name": "turn",
            "steps": [
                {
                    "consume": False,
                    "match": {"tool_results": [{}]},
                    "produce": {"text": "It's three.", "pacing": PACING},
                },
                {
                    "consume": False,
                    "produce": {"text": "Adding now.", "pacing": PACING, **TOOL_CALL},
                },
            ],
        }
    )
    return await chat.profile(mcp_servers=["demo"])


async def end_ownership(handle: StreamHandle) -> None:
    """Make the run belong to a dead process, once this process has forgotten it."""
    while handle.id in live_logs:
        await asyncio.sleep(0)
    running = Trace.objects.filter(pk=handle.id, status=Status.RUNNING)
    await in_database(partial(running.update, owner=dead_owner()))


async def live_events(handle: StreamHandle) -> list[LoggedEvent]:
    return [event async for event in follow(handle.id)]


async def assert_consistent_end(
    handle: StreamHandle, fault: Fault, live: list[LoggedEvent]
) -> Error | None:
    """Assert what holds after any failure; return the error that ended the run, or None."""
    assert [event.is_terminal for event in live] == [False] * (len(live) - 1) + [True]
    if fault.down:
        await end_ownership(handle)
    stored_log = await log_of(handle.id)
    # All events, or the same end after those that were never stored.
    assert stored_log[:-1] == live[: len(stored_log) - 1]
    assert (stored_log[-1].type, stored_log[-1].payload) == (live[-1].type, live[-1].payload)
    [user, *answers] = await messages_of(handle)
    assert (user.content, user.status) == ("Hello", "complete")
    trace = await trace_of(handle)
    if live[-1].type == "done":
        assert (trace.status, [row.status for row in answers]) == (Status.COMPLETED, ["complete"])
        return None
    assert trace.status == Status.FAILED
    # The earlier text is stored once the database is back.
    text = "".join(event.payload["content"] for event in stored_log if event.type == "chunk")
    stored_answers = [(row.content, row.status) for row in answers]
    assert stored_answers == ([(text, "failed")] if stored_log[1:-1] else [])
    payload = live[-1].payload
    return Error(payload["message"], payload["code"])


@pytest.mark.parametrize("down", [False, True], ids=["once", "for good"])
async def test_turn_with_a_failing_database_ends_consistently(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, down: bool
) -> None:
    profile = await script_turns(chat)
    ends: list[Any] = []
    for operation in range(1, MAX_OPERATIONS):
        before = await in_database(Message.objects.count)
        with database_fault(monkeypatch, operation, down=down) as fault:
            try:
                handle = await chat.send(profile=profile)
            except ChatError as error:
                fault.repaired = True
                assert (error.code, error.message) == (DATABASE_ERROR.code, DATABASE_ERROR.message)
                assert await in_database(Message.objects.count) == before
                continue
            live = await live_events(handle)
            fault.repaired = True
        end = await assert_consistent_end(handle, fault, live)
        ends.append(end)
        if not fault.has_struck:
            break
    # Every operation failed once, with the expected result.
    assert ends.pop() is None
    # The number of operations on PostgreSQL; SQLite has a few more.
    assert len(ends) >= 15
    assert set(ends) == {INTERRUPTED if down else DATABASE_ERROR}
    # The process works as before.
    handle = await chat.send(profile=profile)
    assert isinstance((await events_of(handle))[-1], Complete)


@pytest.mark.parametrize("down", [False, True], ids=["once", "for good"])
async def test_cancel_with_a_failing_database_ends_consistently(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, down: bool
) -> None:
    endless_answer = {"text": "word " * 2_000, "pacing": {"words_per_second": 50}}
    await chat.script({"name": "talk", "steps": [{"consume": False, "produce": endless_answer}]})
    profile = await chat.profile()
    for operation in range(1, MAX_OPERATIONS):
        handle = await chat.send(profile=profile)
        follower = asyncio.create_task(live_events(handle))
        async for event in follow(handle.id):
            if event.type == "chunk":
                break
        with database_fault(monkeypatch, operation, down=down) as fault:
            try:
                await cancel(handle)
            except ChatError as error:
                assert error.code == "CONFLICT"
            live = await follower
            fault.repaired = True
        if down:
            await end_ownership(handle)
        assert [event.is_terminal for event in live].count(True) == 1
        assert (await log_of(handle.id))[-1].payload == live[-1].payload
        assert (await trace_of(handle)).status in (Status.CANCELLED, Status.FAILED)
        if not fault.has_struck:
            break
    else:
        pytest.fail("the fault was met at every operation")
