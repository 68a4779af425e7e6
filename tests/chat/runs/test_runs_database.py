"""The database fails at each operation of a turn, once or for good: one clear end, seen by all,
nothing lost of what was sent, and the process as good as new."""

import asyncio
from functools import partial
from typing import Any

import pytest

from chat_app.errors import ChatError
from chat_app.models import Message, ModelProfile
from chat_app.service import StreamHandle, cancel
from chat_app.values.events import Complete, Error
from mockllm_site.kit.database_thread import in_database
from tests.chat.chatting import Chat, events_of, log_of, messages_of, trace_of
from tests.chat.failing_database import Fault, failing
from tests.chat.scripts import TOOL_CALL
from tests.traces.rows import dead_owner
from traces_app.follow import follow
from traces_app.log import LoggedEvent, live_logs
from traces_app.models import Status, Trace

MOST_OPERATIONS = 200
# Slow enough that batches of events are written meanwhile.
PACING = {"chunk_ms": 30, "words_per_chunk": 1}
GONE = Error("The database is not available", "SERVICE_UNAVAILABLE")
INTERRUPTED = Error("interrupted", "SERVICE_UNAVAILABLE")


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chat_app.runs.run.RETRY_SECONDS", (0.0, 0.0, 0.0))
    # The next renewal makes up for a failed one, so none is needed here.
    monkeypatch.setattr("chat_app.runs.registry.RENEW_SECONDS", 3_600.0)


async def scripts(chat: Chat) -> ModelProfile:
    """Every conversation's first message gets a tool call and then an answer, for ever."""
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


async def time_out(handle: StreamHandle) -> None:
    """As if the run's lease had not been renewed for long enough, since its process forgot it."""
    while handle.id in live_logs:
        await asyncio.sleep(0)
    running = Trace.objects.filter(pk=handle.id, status=Status.RUNNING)
    await in_database(partial(running.update, owner=dead_owner()))


async def live_events(handle: StreamHandle) -> list[LoggedEvent]:
    return [event async for event in follow(handle.id)]


async def check(handle: StreamHandle, fault: Fault, live: list[LoggedEvent]) -> Error | None:
    """Assert what holds after any failure; return how the run ended."""
    assert [event.is_terminal for event in live] == [False] * (len(live) - 1) + [True]
    if fault.down:
        await time_out(handle)
    stored = await log_of(handle.id)
    # All events, or the same end after those that were never stored.
    assert stored[:-1] == live[: len(stored) - 1]
    assert (stored[-1].type, stored[-1].payload) == (live[-1].type, live[-1].payload)
    [user, *answers] = await messages_of(handle)
    assert (user.content, user.status) == ("Hello", "complete")
    trace = await trace_of(handle)
    if live[-1].type == "done":
        assert (trace.status, [row.status for row in answers]) == (Status.COMPLETED, ["complete"])
        return None
    assert trace.status == Status.FAILED
    # The earlier text is stored once the database is back.
    text = "".join(said.payload["content"] for said in stored if said.type == "chunk")
    kept = [(row.content, row.status) for row in answers]
    assert kept == ([(text, "failed")] if stored[1:-1] else [])
    said = live[-1].payload
    return Error(said["message"], said["code"])


@pytest.mark.parametrize("down", [False, True], ids=["once", "for good"])
async def test_a_turn_whose_database_fails(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, down: bool
) -> None:
    profile = await scripts(chat)
    ends: list[Any] = []
    for at in range(1, MOST_OPERATIONS):
        before = await in_database(Message.objects.count)
        with failing(monkeypatch, at, down=down) as fault:
            try:
                handle = await chat.send(profile=profile)
            except ChatError as error:
                fault.mended = True
                assert (error.code, error.message) == (GONE.code, GONE.message)
                assert await in_database(Message.objects.count) == before
                continue
            live = await live_events(handle)
            fault.mended = True
        end = await check(handle, fault, live)
        ends.append(end)
        if not fault.struck:
            break
    # Every operation failed once, with the expected result.
    assert ends.pop() is None
    # The number of operations on PostgreSQL; SQLite has a few more.
    assert len(ends) >= 15
    assert set(ends) == {INTERRUPTED if down else GONE}
    # The process works as before.
    handle = await chat.send(profile=profile)
    assert isinstance((await events_of(handle))[-1], Complete)


@pytest.mark.parametrize("down", [False, True], ids=["once", "for good"])
async def test_a_cancellation_while_the_database_fails(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, down: bool
) -> None:
    pace = {"text": "word " * 2_000, "pacing": {"words_per_second": 50}}
    await chat.script({"name": "talk", "steps": [{"consume": False, "produce": pace}]})
    profile = await chat.profile()
    for at in range(1, MOST_OPERATIONS):
        handle = await chat.send(profile=profile)
        following = asyncio.create_task(live_events(handle))
        async for event in follow(handle.id):
            if event.type == "chunk":
                break
        with failing(monkeypatch, at, down=down) as fault:
            try:
                await cancel(handle)
            except ChatError as error:
                assert error.code == "CONFLICT"
            live = await following
            fault.mended = True
        if down:
            await time_out(handle)
        assert [event.is_terminal for event in live].count(True) == 1
        assert (await log_of(handle.id))[-1].payload == live[-1].payload
        assert (await trace_of(handle)).status in (Status.CANCELLED, Status.FAILED)
        if not fault.struck:
            break
    else:
        pytest.fail("the fault was met at every operation")
