"""Recording runs: batches while they run, one transaction at their end."""

import asyncio
import uuid
from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from django.db import OperationalError
from django.utils import timezone

from tests.traces.rows import event, make_trace_async, run_query, stored_seqs
from traces_app import recorder as recorder_module
from traces_app.models import ModelCall, Status, Trace, TraceEvent
from traces_app.recorder import PendingRecords, Recorder, finish_run

pytestmark = pytest.mark.django_db(transaction=True)
NO_BATCH_SECONDS = 60.0


class LossRecorder:
    """A callback that records lost runs and their errors."""

    def __init__(self) -> None:
        self.reports: list[tuple[UUID, Exception | None]] = []

    def __call__(self, trace_id: UUID, problem: Exception | None) -> None:
        self.reports.append((trace_id, problem))


def make_ending(
    seq: int, *, store: Callable[[], None] = lambda: None, **columns: Any
) -> dict[str, Any]:
    columns = {"status": Status.COMPLETED, "finished_at": timezone.now(), **columns}
    return {"columns": columns, "event": event(seq, "done", message_id="x"), "store": store}


def call(trace: Trace, number: int = 1, **values: Any) -> ModelCall:
    return ModelCall(trace=trace, number=number, **values)


async def finish(recorder: Recorder, trace: Trace, last: dict[str, Any]) -> bool:
    return await finish_run(trace.pk, await recorder.take_pending(trace.pk), **last)


async def current_status(trace: Trace) -> str:
    return await run_query(lambda: Trace.objects.get(pk=trace.pk).status)


async def test_events_are_written_without_a_flush() -> None:
    trace = await make_trace_async()
    recorder = Recorder(LossRecorder(), batch_seconds=0.0)
    recorder.record(trace.pk, event(1))
    while await run_query(lambda: stored_seqs(trace)) != [1]:
        await asyncio.sleep(0)


async def test_events_of_all_runs_are_written_together(monkeypatch: pytest.MonkeyPatch) -> None:
    traces = [await make_trace_async() for _ in range(3)]
    batch_sizes: list[int] = []
    write = recorder_module._write_batch

    def count_and_write(batch: Any) -> Any:
        batch_sizes.append(len(batch))
        return write(batch)

    monkeypatch.setattr(recorder_module, "_write_batch", count_and_write)
    recorder = Recorder(LossRecorder(), batch_seconds=NO_BATCH_SECONDS)
    for trace in traces:
        recorder.record(trace.pk, event(1))
        recorder.record(trace.pk, event(2))
    await recorder.flush()
    assert batch_sizes == [3]
    assert [await run_query(partial(stored_seqs, trace)) for trace in traces] == [[1, 2]] * 3


async def test_an_event_keeps_its_type_payload_and_time() -> None:
    trace = await make_trace_async()
    recorder = Recorder(LossRecorder(), batch_seconds=NO_BATCH_SECONDS)
    logged = event(1, "chunk", content="naïve \0 \ud800 ␄", conversation_id="c")
    recorder.record(trace.pk, logged)
    await recorder.flush()
    row = await run_query(trace.events.get)
    assert (row.type, row.payload, row.at) == (logged.type, dict(logged.payload), logged.at)


async def test_a_call_is_written_when_it_begins_and_again_when_it_ends() -> None:
    trace = await make_trace_async()
    recorder = Recorder(LossRecorder(), batch_seconds=NO_BATCH_SECONDS)
    row = call(trace, model_id="gpt-4o")
    recorder.record_call(trace.pk, row)
    await recorder.flush()
    row.parts, row.output_tokens = [{"text": "Hi"}], 3
    recorder.record_call(trace.pk, row)
    await recorder.flush()
    stored_call = await run_query(trace.calls.get)
    assert (stored_call.model_id, stored_call.parts, stored_call.output_tokens) == (
        "gpt-4o",
        [{"text": "Hi"}],
        3,
    )


async def test_end_writes_pending_records_and_terminal_event_together() -> None:
    trace = await make_trace_async()
    recorder = Recorder(LossRecorder(), batch_seconds=NO_BATCH_SECONDS)
    recorder.record(trace.pk, event(1))
    recorder.record_call(trace.pk, call(trace))
    event_counts: list[int] = []
    last = make_ending(
        2, model_calls=1, store=lambda: event_counts.append(TraceEvent.objects.count())
    )
    assert await finish(recorder, trace, last)
    assert await run_query(lambda: stored_seqs(trace)) == [1, 2]
    assert await run_query(trace.calls.count) == 1
    ended_trace = await run_query(lambda: Trace.objects.get(pk=trace.pk))
    assert (ended_trace.status, ended_trace.model_calls) == (Status.COMPLETED, 1)
    # Other parts of the end are stored before the status is visible.
    assert event_counts == [0]


async def test_the_second_end_of_a_run_writes_nothing() -> None:
    trace = await make_trace_async()
    assert await finish_run(trace.pk, PendingRecords(), **make_ending(1))
    stored_parts: list[str] = []
    other = make_ending(2, status=Status.CANCELLED, store=lambda: stored_parts.append("answer"))
    assert not await finish_run(trace.pk, PendingRecords([event(1)]), **other)
    assert (await current_status(trace), stored_parts) == (Status.COMPLETED, [])
    assert await run_query(lambda: stored_seqs(trace)) == [1]


async def test_one_of_many_concurrent_ends_is_stored() -> None:
    trace = await make_trace_async()
    ends = [finish_run(trace.pk, PendingRecords(), **make_ending(1)) for _ in range(8)]
    assert sorted(await asyncio.gather(*ends)) == [False] * 7 + [True]
    assert await run_query(lambda: stored_seqs(trace)) == [1]


async def test_failed_end_is_rolled_back() -> None:
    trace = await make_trace_async()
    pending = PendingRecords([event(1)])

    def refuse() -> None:
        raise OperationalError("the disk is full")

    with pytest.raises(OperationalError):
        await finish_run(trace.pk, pending, **make_ending(2, store=refuse))
    assert (await current_status(trace), await run_query(lambda: stored_seqs(trace))) == (
        Status.RUNNING,
        [],
    )
    # The next attempt stores all of it.
    assert await finish_run(trace.pk, pending, **make_ending(2, status=Status.FAILED))
    assert await run_query(lambda: stored_seqs(trace)) == [1, 2]


async def test_taken_records_are_in_no_batch() -> None:
    trace = await make_trace_async()
    recorder = Recorder(LossRecorder(), batch_seconds=NO_BATCH_SECONDS)
    recorder.record(trace.pk, event(1))
    flush_task = asyncio.create_task(recorder.flush())
    await asyncio.sleep(0)
    recorder.record(trace.pk, event(2))
    pending = await recorder.take_pending(trace.pk)
    # The running batch is stored by now.
    assert flush_task.done() and await run_query(lambda: stored_seqs(trace)) == [1]
    await recorder.flush()
    assert await run_query(lambda: stored_seqs(trace)) == [1]
    assert [logged.seq for logged in pending.events] == [2]


async def test_run_of_another_process_is_not_written() -> None:
    trace = await make_trace_async(owner="another")
    losses = LossRecorder()
    recorder = Recorder(losses, batch_seconds=NO_BATCH_SECONDS)
    recorder.record(trace.pk, event(1))
    await recorder.flush()
    assert losses.reports == [(trace.pk, None)]
    assert await run_query(lambda: stored_seqs(trace)) == []
    assert not await finish(recorder, trace, make_ending(2))


async def test_deleted_run_does_not_affect_others() -> None:
    trace, unknown_id = await make_trace_async(), uuid.uuid4()
    losses = LossRecorder()
    recorder = Recorder(losses, batch_seconds=NO_BATCH_SECONDS)
    recorder.record(unknown_id, event(1))
    recorder.record(trace.pk, event(1))
    await recorder.flush()
    assert losses.reports == [(unknown_id, None)]
    assert await run_query(lambda: stored_seqs(trace)) == [1]


async def test_failed_batch_is_reported_and_written_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trace = await make_trace_async()
    losses = LossRecorder()
    recorder = Recorder(losses, batch_seconds=NO_BATCH_SECONDS)
    recorder.record(trace.pk, event(1))
    recorder.record_call(trace.pk, call(trace))
    problem = OperationalError("database is locked")
    with monkeypatch.context() as patched:

        def refuse(*_: Any) -> None:
            raise problem

        patched.setattr("traces_app.recorder._insert_records", refuse)
        await recorder.flush()
    assert losses.reports == [(trace.pk, problem)]
    recorder.record(trace.pk, event(2))
    assert await finish(recorder, trace, make_ending(3, status=Status.FAILED))
    assert await run_query(lambda: stored_seqs(trace)) == [1, 2, 3]
    assert await run_query(trace.calls.count) == 1
