"""The lives of runs: taken over, deleted, interrupted, and nothing left of them."""

import asyncio
import contextlib
import gc
import re
import threading
from collections import Counter
from functools import partial
from typing import Any

import pytest
from django.utils import timezone

from chat_app import loop
from chat_app.conversations import delete
from chat_app.errors import ChatError
from chat_app.models import Conversation
from chat_app.runs import registry as runs
from chat_app.runs.registry import end_runs, end_runs_within
from chat_app.runs.run import ChatRun
from chat_app.service import StreamHandle, cancel
from chat_app.values.events import Complete, Error
from mockllm_site.kit.database_thread import in_database
from tests.chat.chatting import (
    Chat,
    events_of,
    log_of,
    messages_of,
    scenario,
    text_of,
    trace_of,
)
from tests.chat.gates import Each
from tests.chat.scripts import ENDLESS, TOOL_CALL
from tests.chat.tools.tool_servers import eventually, open_files
from tests.traces.rows import standing_still
from traces_app import log as logs
from traces_app import recorder
from traces_app.follow import follow
from traces_app.leases import LEASE, MAX_UNSTORED_EVENTS, end_dead_runs
from traces_app.models import Status, Trace, TraceEvent

MOST_ROUNDS = 8
INTERRUPTED = Error("interrupted", "SERVICE_UNAVAILABLE")


async def talking(chat: Chat, **answer: Any) -> StreamHandle:
    """A run that says something and goes on."""
    await chat.script(scenario({**ENDLESS, **answer}))
    handle = await chat.send()
    async for event in follow(handle.id):
        if event.type == "chunk":
            break
    return handle


async def change(handle: StreamHandle, **columns: Any) -> None:
    await in_database(partial(Trace.objects.filter(pk=handle.id).update, **columns))


async def test_a_run_that_others_took_for_dead_ends_as_they_ended_it(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process was asleep for longer than a lease lasts."""
    write = Each(monkeypatch, recorder, "_write_batch")
    handle = await talking(chat)
    following = asyncio.create_task(log_of(handle.id))
    while await in_database(TraceEvent.objects.filter(trace=handle.id, type="chunk").count) < 2:
        await write.next()
    with standing_still():
        ended = await in_database(end_dead_runs)
    assert ended == 1
    live = await following
    assert live[-1].payload["message"] == "interrupted"
    assert (await events_of(handle))[-1] == INTERRUPTED
    trace = await trace_of(handle)
    assert (trace.status, trace.error) == (Status.FAILED, "interrupted")
    # Events after the end are not written.
    stored = await log_of(handle.id)
    *before, last = stored
    assert [event.seq for event in before] == list(range(1, len(stored)))
    assert last.is_terminal and last.seq == len(before) + MAX_UNSTORED_EVENTS
    answers = (await messages_of(handle))[1:]
    assert [answer.content for answer in answers] == [text_of(stored)]


async def test_a_silent_run_learns_that_it_was_taken_over(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has nothing to write: it is told when it renews its lease."""
    monkeypatch.setattr(runs, "RENEW_SECONDS", 0.05)
    await chat.script(scenario({**ENDLESS, "latency_ms": 600_000}))
    handle = await chat.send()
    with standing_still():
        await in_database(end_dead_runs)
    assert (await events_of(handle)) == [INTERRUPTED]


async def test_leases_are_renewed_as_long_as_runs_go_on(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "RENEW_SECONDS", 0.01)
    renewal = Each(monkeypatch, runs, "renew_leases")
    handle = await talking(chat)
    over = timezone.now()
    await change(handle, lease_until=over)
    # The first renewal may have started before the end.
    await renewal.next()
    await renewal.next()
    assert (await trace_of(handle)).lease_until >= over + LEASE
    await cancel(handle)


async def test_a_renewal_that_fails_is_made_up_for_by_the_next(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "RENEW_SECONDS", 0.01)
    failed: list[int] = []
    renew_leases = runs.renew_leases

    def sometimes(*args: Any, **options: Any) -> Any:
        if len(failed) < 3:
            failed.append(1)
            raise OSError("no database")
        return renew_leases(*args, **options)

    monkeypatch.setattr(runs, "renew_leases", sometimes)
    handle = await talking(chat)
    await change(handle, cancel_requested=True)
    assert isinstance((await events_of(handle))[-1], Complete)
    assert (len(failed), (await trace_of(handle)).status) == (3, Status.CANCELLED)


async def test_a_deleted_conversation_ends_its_run(chat: Chat) -> None:
    handle = await talking(chat)
    gone = await in_database(partial(Conversation.objects.get, pk=handle.conversation_id))
    await in_database(partial(delete, gone))
    assert (await events_of(handle))[-1] == Error("Conversation not found", "NOT_FOUND")
    assert not await in_database(Trace.objects.exists)


async def test_a_run_that_is_interrupted_keeps_what_it_said(chat: Chat) -> None:
    handle = await talking(chat)
    await loop.run_on_loop(end_runs())
    assert (await events_of(handle))[-1] == INTERRUPTED
    log, answer = await log_of(handle.id), (await messages_of(handle))[1]
    assert (answer.content, answer.status) == (text_of(log), "failed")
    assert log[-1].payload == {
        "status": 503,
        "message": "interrupted",
        "code": "SERVICE_UNAVAILABLE",
    }


async def test_runs_may_finish_while_the_loop_is_stopped(chat: Chat) -> None:
    await chat.says("word " * 10, pacing={"chunk_ms": 10, "words_per_chunk": 1})
    handle = await chat.send()
    await asyncio.to_thread(loop.stop, 30.0)
    assert (await events_of(handle))[-1] == Complete(("word " * 10).strip())
    assert (await trace_of(handle)).status == Status.COMPLETED
    assert not loop.is_running()


async def test_run_that_exceeds_the_drain_time_is_interrupted(chat: Chat) -> None:
    handle = await talking(chat)
    await asyncio.to_thread(loop.stop, 0.1)
    assert (await events_of(handle))[-1] == INTERRUPTED
    assert (await trace_of(handle)).status == Status.FAILED


async def test_no_run_begins_while_the_process_ends(chat: Chat) -> None:
    handle = await talking(chat)
    end_runs_within(0.0)
    await events_of(handle)
    with pytest.raises(ChatError) as caught:
        await chat.send()
    assert (caught.value.code, caught.value.message) == (
        "SERVICE_UNAVAILABLE",
        "The server is shutting down",
    )
    loop.stop()


async def test_a_run_whose_machinery_breaks_still_ends(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(_: ChatRun) -> Status:
        raise RuntimeError("a mistake")

    monkeypatch.setattr(ChatRun, "execute", broken)
    await chat.script(scenario(ENDLESS))
    handle = await chat.send()
    assert (await events_of(handle))[-1] == INTERRUPTED
    monkeypatch.undo()


async def tasks() -> list[str]:
    return [getattr(task.get_coro(), "__qualname__", "task") for task in asyncio.all_tasks()]


async def test_nothing_is_left_of_runs(chat: Chat) -> None:
    """However they end: no task, no thread, no log, no pipe or socket."""
    await chat.script(
        {
            "name": "ends",
            "steps": [
                {"consume": False, "produce": answer, "match": {"messages": [{"equals": text}]}}
                for text, answer in {
                    "complete": {"text": "Hi."},
                    "tool": TOOL_CALL,
                    "fail": {"text": "one two three", "fault": {"kind": "truncate"}},
                    "cancel": ENDLESS,
                }.items()
            ],
        }
    )
    profile = await chat.profile(mcp_servers=["demo"])

    async def once(text: str) -> None:
        handle = await chat.send(text, profile=profile)
        if text == "cancel":
            await cancel(handle)
        await events_of(handle)

    async def all_of_them(times: int) -> None:
        for _ in range(times):
            await asyncio.gather(*(once(text) for text in ("complete", "tool", "fail", "cancel")))

    # Shared objects are created at first use: the tools' server, threads, connections. So memory
    # may grow for a while; leaks of runs would grow with every round.
    await all_of_them(2)
    grown: list[Counter[str]] = []
    while len(grown) < MOST_ROUNDS:
        before = left()
        await all_of_them(10)
        if not (more := await left_beyond(before)):
            break
        grown.append(more)
    else:
        pytest.fail(f"every round leaves something: {grown}")
    assert logs.live_logs == {}


async def left_beyond(before: Counter[str]) -> Counter[str]:
    """What there is more than before, once timers that are on their way had time to end."""
    with contextlib.suppress(TimeoutError):
        await eventually(lambda: left() <= before, seconds=3)
    return left() - before


def left() -> Counter[str]:
    """How many there are of what runs are made of, by name."""
    gc.collect()
    threads = (re.sub(r"\d+", "", thread.name) for thread in threading.enumerate())
    return Counter(loop.submit(tasks()).result(10)) + Counter(threads) + open_files()
