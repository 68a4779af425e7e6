"""Operations on runs; each returns a JSON object with its result."""

import asyncio
from typing import Any
from uuid import UUID

from django.utils import timezone

from tests.traces.rows import expired_leases
from traces_app.leases import end_dead_runs
from traces_app.log import LoggedEvent
from traces_app.models import ModelCall, Status, Trace
from traces_app.recorder import Recorder, finish_run


def say(trace: str, texts: list[str]) -> dict[str, Any]:
    """Write the texts that a run of this process produces after its first event."""
    lost_traces: list[UUID] = []

    async def write() -> None:
        recorder = Recorder(lambda trace_id, _: lost_traces.append(trace_id), batch_seconds=3_600)
        for seq, text in enumerate(texts, start=2):
            recorder.record(UUID(trace), _event(seq, text))
        await recorder.flush()

    asyncio.run(write())
    return {"lost": bool(lost_traces)}


def say_on(trace: str) -> dict[str, Any]:
    """Produce texts before and during a write of the batch, and end the run."""
    return asyncio.run(_say_on(UUID(trace)))


async def _say_on(trace: UUID) -> dict[str, Any]:
    problems: list[str] = []
    recorder = Recorder(
        lambda _, problem: problems.append(type(problem).__name__), batch_seconds=3_600
    )
    recorder.record(trace, _event(2, "Good"))
    recorder.record_call(trace, ModelCall(trace_id=trace, number=1, output_tokens=1))
    writing = asyncio.create_task(recorder.flush())
    # The batch is being written from here on.
    await asyncio.sleep(0)
    recorder.record(trace, _event(3, " day"))
    recorder.record_call(trace, ModelCall(trace_id=trace, number=1, output_tokens=2))
    await writing
    pending = await recorder.take_pending(trace)
    columns, event = {"status": Status.COMPLETED}, _event(4, ".", "done")
    has_ended = await finish_run(trace, pending, columns=columns, event=event)
    return {"problems": problems, "ended": has_ended}


def end_dead(trace: str) -> dict[str, Any]:
    """End a run as a process does that finds its lease expired."""
    with expired_leases():
        return {"ended": end_dead_runs(Trace.objects.filter(pk=trace))}


def events(trace: str) -> dict[str, Any]:
    rows = Trace.objects.get(pk=trace).events.order_by("seq")
    return {"events": [[event.seq, event.type] for event in rows]}


def write_order(trace: str) -> dict[str, Any]:
    """Return the events of a run in the order of writing, and the tokens of its calls."""
    trace_row = Trace.objects.get(pk=trace)
    return {
        "seqs": [event.seq for event in trace_row.events.order_by("pk")],
        "tokens": [call.output_tokens for call in trace_row.calls.order_by("number")],
    }


def _event(seq: int, text: str, type: str = "chunk") -> LoggedEvent:
    return LoggedEvent(seq, type, {"content": text}, timezone.now())
