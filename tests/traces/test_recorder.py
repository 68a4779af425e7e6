"""Recording runs: batches while they go on, one transaction at their ends."""

import asyncio
import uuid
from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from django.db import OperationalError
from django.utils import timezone

from tests.traces.rows import a_trace, event, rows, seqs
from traces_app import recorder as recorder_module
from traces_app.models import ModelCall, Status, Trace, TraceEvent
from traces_app.recorder import PendingRecords, Recorder, finish_run

pytestmark = pytest.mark.django_db(transaction=True)
A_MINUTE = 60.0


class Losses:
    """Record which runs were lost, and why."""

    def __init__(self) -> None:
        self.told: list[tuple[UUID, Exception | None]] = []

    def __call__(self, trace_id: UUID, problem: Exception | None) -> None:
        self.told.append((trace_id, problem))


def ending(seq: int, *, store: Callable[[], None] = lambda: None, **columns: Any) -> dict[str, Any]:
    columns = {"status": Status.COMPLETED, "finished_at": timezone.now(), **columns}
    return {"columns": columns, "event": event(seq, "done", message_id="x"), "store": store}


def call(trace: Trace, number: int = 1, **values: Any) -> ModelCall:
    return ModelCall(trace=trace, number=number, **values)


async def end(recorder: Recorder, trace: Trace, last: dict[str, Any]) -> bool:
    return await finish_run(trace.pk, await recorder.take_pending(trace.pk), **last)


async def current_status(trace: Trace) -> str:
    return await rows(lambda: Trace.objects.get(pk=trace.pk).status)


async def test_events_are_written_without_anybody_asking() -> None:
    trace = await a_trace()
    recorder = Recorder(Losses(), batch_seconds=0.0)
    recorder.record(trace.pk, event(1))
    while await rows(lambda: seqs(trace)) != [1]:
        await asyncio.sleep(0)


async def test_events_of_all_runs_are_written_together(monkeypatch: pytest.MonkeyPatch) -> None:
    traces = [await a_trace() for _ in range(3)]
    transactions: list[int] = []
    write = recorder_module._write_batch

    def counted(batch: Any) -> Any:
        transactions.append(len(batch))
        return write(batch)

    monkeypatch.setattr(recorder_module, "_write_batch", counted)
    recorder = Recorder(Losses(), batch_seconds=A_MINUTE)
    for trace in traces:
        recorder.record(trace.pk, event(1))
        recorder.record(trace.pk, event(2))
    await recorder.flush()
    assert transactions == [3]
    assert [await rows(partial(seqs, trace)) for trace in traces] == [[1, 2]] * 3


async def test_an_event_keeps_its_type_payload_and_time() -> None:
    trace = await a_trace()
    recorder = Recorder(Losses(), batch_seconds=A_MINUTE)
    said = event(1, "chunk", content="naïve \0 \ud800 ␄", conversation_id="c")
    recorder.record(trace.pk, said)
    await recorder.flush()
    row = await rows(trace.events.get)
    assert (row.type, row.payload, row.at) == (said.type, dict(said.payload), said.at)


async def test_a_call_is_written_when_it_begins_and_again_when_it_ends() -> None:
    trace = await a_trace()
    recorder = Recorder(Losses(), batch_seconds=A_MINUTE)
    row = call(trace, model_id="gpt-4o")
    recorder.record_call(trace.pk, row)
    await recorder.flush()
    row.parts, row.output_tokens = [{"text": "Hi"}], 3
    recorder.record_call(trace.pk, row)
    await recorder.flush()
    stored = await rows(trace.calls.get)
    assert (stored.model_id, stored.parts, stored.output_tokens) == ("gpt-4o", [{"text": "Hi"}], 3)


async def test_the_end_writes_what_is_pending_and_the_terminal_event_at_once() -> None:
    trace = await a_trace()
    recorder = Recorder(Losses(), batch_seconds=A_MINUTE)
    recorder.record(trace.pk, event(1))
    recorder.record_call(trace.pk, call(trace))
    stored: list[int] = []
    last = ending(2, model_calls=1, store=lambda: stored.append(TraceEvent.objects.count()))
    assert await end(recorder, trace, last)
    assert await rows(lambda: seqs(trace)) == [1, 2]
    assert await rows(trace.calls.count) == 1
    ended = await rows(lambda: Trace.objects.get(pk=trace.pk))
    assert (ended.status, ended.model_calls) == (Status.COMPLETED, 1)
    # Other parts of the end are stored before the status is visible.
    assert stored == [0]


async def test_the_second_end_of_a_run_writes_nothing() -> None:
    trace = await a_trace()
    assert await finish_run(trace.pk, PendingRecords(), **ending(1))
    stored: list[str] = []
    other = ending(2, status=Status.CANCELLED, store=lambda: stored.append("answer"))
    assert not await finish_run(trace.pk, PendingRecords([event(1)]), **other)
    assert (await current_status(trace), stored) == (Status.COMPLETED, [])
    assert await rows(lambda: seqs(trace)) == [1]


async def test_of_many_ends_at_the_same_time_one_is_stored() -> None:
    trace = await a_trace()
    ends = [finish_run(trace.pk, PendingRecords(), **ending(1)) for _ in range(8)]
    assert sorted(await asyncio.gather(*ends)) == [False] * 7 + [True]
    assert await rows(lambda: seqs(trace)) == [1]


async def test_an_end_that_fails_half_way_leaves_no_trace_of_itself() -> None:
    trace = await a_trace()
    pending = PendingRecords([event(1)])

    def refuse() -> None:
        raise OperationalError("the disk is full")

    with pytest.raises(OperationalError):
        await finish_run(trace.pk, pending, **ending(2, store=refuse))
    assert (await current_status(trace), await rows(lambda: seqs(trace))) == (Status.RUNNING, [])
    # The next attempt stores all of it.
    assert await finish_run(trace.pk, pending, **ending(2, status=Status.FAILED))
    assert await rows(lambda: seqs(trace)) == [1, 2]


async def test_taken_records_are_in_no_batch() -> None:
    trace = await a_trace()
    recorder = Recorder(Losses(), batch_seconds=A_MINUTE)
    recorder.record(trace.pk, event(1))
    writing = asyncio.create_task(recorder.flush())
    await asyncio.sleep(0)
    recorder.record(trace.pk, event(2))
    pending = await recorder.take_pending(trace.pk)
    # The running batch is stored by now.
    assert writing.done() and await rows(lambda: seqs(trace)) == [1]
    await recorder.flush()
    assert await rows(lambda: seqs(trace)) == [1]
    assert [said.seq for said in pending.events] == [2]


async def test_of_a_run_that_another_process_has_nothing_is_written() -> None:
    trace = await a_trace(owner="another")
    losses = Losses()
    recorder = Recorder(losses, batch_seconds=A_MINUTE)
    recorder.record(trace.pk, event(1))
    await recorder.flush()
    assert losses.told == [(trace.pk, None)]
    assert await rows(lambda: seqs(trace)) == []
    assert not await end(recorder, trace, ending(2))


async def test_a_run_that_is_gone_costs_the_others_nothing() -> None:
    trace, gone = await a_trace(), uuid.uuid4()
    losses = Losses()
    recorder = Recorder(losses, batch_seconds=A_MINUTE)
    recorder.record(gone, event(1))
    recorder.record(trace.pk, event(1))
    await recorder.flush()
    assert losses.told == [(gone, None)]
    assert await rows(lambda: seqs(trace)) == [1]


async def test_a_batch_that_fails_is_told_and_waits_for_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trace = await a_trace()
    losses = Losses()
    recorder = Recorder(losses, batch_seconds=A_MINUTE)
    recorder.record(trace.pk, event(1))
    recorder.record_call(trace.pk, call(trace))
    problem = OperationalError("database is locked")
    with monkeypatch.context() as patched:

        def refuse(*_: Any) -> None:
            raise problem

        patched.setattr("traces_app.recorder._insert_records", refuse)
        await recorder.flush()
    assert losses.told == [(trace.pk, problem)]
    recorder.record(trace.pk, event(2))
    assert await end(recorder, trace, ending(3, status=Status.FAILED))
    assert await rows(lambda: seqs(trace)) == [1, 2, 3]
    assert await rows(trace.calls.count) == 1
