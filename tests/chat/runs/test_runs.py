"""The life cycle of runs: takeover, deletion, interruption and cleanup."""

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
from tests.chat.chat_helpers import (
    Chat,
    events_of,
    log_of,
    messages_of,
    scenario,
    text_of,
    trace_of,
)
from tests.chat.gates import CallWatcher
from tests.chat.scripts import ENDLESS, TOOL_CALL
from tests.chat.tools.tool_servers import eventually, open_files
from tests.traces.rows import expired_leases
from traces_app import log as logs
from traces_app import recorder
from traces_app.follow import follow
from traces_app.leases import LEASE, MAX_UNSTORED_EVENTS, end_dead_runs
from traces_app.models import Status, Trace, TraceEvent

MAX_ROUNDS = 8
INTERRUPTED = Error("interrupted", "SERVICE_UNAVAILABLE")


async def start_talking_run(chat: Chat, **answer: Any) -> StreamHandle:
    """Start an endless run and wait for its first chunk."""
    await chat.script(scenario({**ENDLESS, **answer}))
    handle = await chat.send()
    async for event in follow(handle.id):
        if event.type == "chunk":
            break
    return handle


async def update_trace(handle: StreamHandle, **columns: Any) -> None:
    await in_database(partial(Trace.objects.filter(pk=handle.id).update, **columns))


async def test_run_taken_for_dead_ends_as_interrupted(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process stood still for longer than a lease lasts."""
    write = CallWatcher(monkeypatch, recorder, "_write_batch")
    handle = await start_talking_run(chat)
    follower = asyncio.create_task(log_of(handle.id))
    while await in_database(TraceEvent.objects.filter(trace=handle.id, type="chunk").count) < 2:
        await write.wait_for_next_call()
    with expired_leases():
        ended_count = await in_database(end_dead_runs)
    assert ended_count == 1
    live = await follower
    assert live[-1].payload["message"] == "interrupted"
    assert (await events_of(handle))[-1] == INTERRUPTED
    trace = await trace_of(handle)
    assert (trace.status, trace.error) == (Status.FAILED, "interrupted")
    # Events after the end are not written.
    stored_log = await log_of(handle.id)
    *before, last = stored_log
    assert [event.seq for event in before] == list(range(1, len(stored_log)))
    assert last.is_terminal and last.seq == len(before) + MAX_UNSTORED_EVENTS
    answers = (await messages_of(handle))[1:]
    assert [answer.content for answer in answers] == [text_of(stored_log)]


async def test_silent_run_notices_its_takeover_at_renewal(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It writes nothing, so it notices when it renews its lease."""
    monkeypatch.setattr(runs, "RENEW_SECONDS", 0.05)
    await chat.script(scenario({**ENDLESS, "latency_ms": 600_000}))
    handle = await chat.send()
    with expired_leases():
        await in_database(end_dead_runs)
    assert (await events_of(handle)) == [INTERRUPTED]


async def test_leases_of_active_runs_are_renewed(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "RENEW_SECONDS", 0.01)
    renewal = CallWatcher(monkeypatch, runs, "renew_leases")
    handle = await start_talking_run(chat)
    expiry = timezone.now()
    await update_trace(handle, lease_until=expiry)
    # The first renewal may have started before the end.
    await renewal.wait_for_next_call()
    await renewal.wait_for_next_call()
    assert (await trace_of(handle)).lease_until >= expiry + LEASE
    await cancel(handle)


async def test_failed_renewal_is_repeated(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "RENEW_SECONDS", 0.01)
    failures: list[int] = []
    renew_leases = runs.renew_leases

    def fail_three_times(*args: Any, **options: Any) -> Any:
        if len(failures) < 3:
            failures.append(1)
            raise OSError("no database")
        return renew_leases(*args, **options)

    monkeypatch.setattr(runs, "renew_leases", fail_three_times)
    handle = await start_talking_run(chat)
    await update_trace(handle, cancel_requested=True)
    assert isinstance((await events_of(handle))[-1], Complete)
    assert (len(failures), (await trace_of(handle)).status) == (3, Status.CANCELLED)


async def test_a_deleted_conversation_ends_its_run(chat: Chat) -> None:
    handle = await start_talking_run(chat)
    conversation = await in_database(partial(Conversation.objects.get, pk=handle.conversation_id))
    await in_database(partial(delete, conversation))
    assert (await events_of(handle))[-1] == Error("Conversation not found", "NOT_FOUND")
    assert not await in_database(Trace.objects.exists)


async def test_interrupted_run_keeps_its_text(chat: Chat) -> None:
    handle = await start_talking_run(chat)
    await loop.run_on_loop(end_runs())
    assert (await events_of(handle))[-1] == INTERRUPTED
    log, answer = await log_of(handle.id), (await messages_of(handle))[1]
    assert (answer.content, answer.status) == (text_of(log), "failed")
    assert log[-1].payload == {
        "status": 503,
        "message": "interrupted",
        "code": "SERVICE_UNAVAILABLE",
    }


async def test_run_finishes_within_the_drain_time(chat: Chat) -> None:
    await chat.script_texts("word " * 10, pacing={"chunk_ms": 10, "words_per_chunk": 1})
    handle = await chat.send()
    await asyncio.to_thread(loop.stop, 30.0)
    assert (await events_of(handle))[-1] == Complete(("word " * 10).strip())
    assert (await trace_of(handle)).status == Status.COMPLETED
    assert not loop.is_running()


async def test_run_that_exceeds_the_drain_time_is_interrupted(chat: Chat) -> None:
    handle = await start_talking_run(chat)
    await asyncio.to_thread(loop.stop, 0.1)
    assert (await events_of(handle))[-1] == INTERRUPTED
    assert (await trace_of(handle)).status == Status.FAILED


async def test_no_run_starts_during_shutdown(chat: Chat) -> None:
    handle = await start_talking_run(chat)
    end_runs_within(0.0)
    await events_of(handle)
    with pytest.raises(ChatError) as raised:
        await chat.send()
    assert (raised.value.code, raised.value.message) == (
        "SERVICE_UNAVAILABLE",
        "The server is shutting down",
    )
    loop.stop()


async def test_run_with_an_internal_error_ends_as_interrupted(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(_: ChatRun) -> Status:
        raise RuntimeError("a mistake")

    monkeypatch.setattr(ChatRun, "execute", fail)
    await chat.script(scenario(ENDLESS))
    handle = await chat.send()
    assert (await events_of(handle))[-1] == INTERRUPTED
    monkeypatch.undo()


async def task_names() -> list[str]:
    return [getattr(task.get_coro(), "__qualname__", "task") for task in asyncio.all_tasks()]


async def test_runs_leave_no_resources(chat: Chat) -> None:
    """No task, thread, log, pipe or socket remains, whatever the end of a run."""
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

    async def run_to_end(text: str) -> None:
        handle = await chat.send(text, profile=profile)
        if text == "cancel":
            await cancel(handle)
        await events_of(handle)

    async def run_all(times: int) -> None:
        for _ in range(times):
            await asyncio.gather(
                *(run_to_end(text) for text in ("complete", "tool", "fail", "cancel"))
            )

    # Shared objects are created at first use: the tools' server, threads, connections. So memory
    # may grow for a while; leaks of runs would grow with every round.
    await run_all(2)
    leaks: list[Counter[str]] = []
    while len(leaks) < MAX_ROUNDS:
        before = count_resources()
        await run_all(10)
        if not (leaked := await resources_beyond(before)):
            break
        leaks.append(leaked)
    else:
        pytest.fail(f"every round leaves something: {leaks}")
    assert logs.live_logs == {}


async def resources_beyond(before: Counter[str]) -> Counter[str]:
    """Return the resources added since `before`, after pending timers had time to end."""
    with contextlib.suppress(TimeoutError):
        await eventually(lambda: count_resources() <= before, seconds=3)
    return count_resources() - before


def count_resources() -> Counter[str]:
    """Count tasks, threads and open files by name."""
    gc.collect()
    threads = (re.sub(r"\d+", "", thread.name) for thread in threading.enumerate())
    return Counter(loop.submit(task_names()).result(10)) + Counter(threads) + open_files()
