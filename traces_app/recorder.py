"""The way of runs' events into the database: in batches of all runs, and one transaction at the
end of each."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias
from uuid import UUID

from django.db import transaction

from mockllm_site.kit.database_thread import in_database
from mockllm_site.kit.rows import change, insert
from traces_app.leases import owner
from traces_app.log import LoggedEvent
from traces_app.models import ModelCall, Status, Trace, TraceEvent

log = logging.getLogger(__name__)

BATCH_SECONDS = 0.05
EVENT_COLUMNS = ("trace_id", "seq", "type", "payload", "at")
CALL_COLUMNS = (
    "trace_id", "number", "purpose", "provider_id", "model_id", "request", "tools", "parts",
    "answered_by", "finish_reason", "input_tokens", "output_tokens", "tokens_estimated", "code",
    "started_at", "first_token_at", "finished_at",
)  # fmt: skip

# Told of a run that cannot be recorded any more, and why: None when it is another's, or gone.
Lost: TypeAlias = Callable[[UUID, Exception | None], None]


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ends: its columns, its terminal event, and what else its end stores, done in the
    same transaction."""

    columns: Mapping[str, Any]
    event: LoggedEvent
    store: Callable[[], None] = field(default=lambda: None)


@dataclass(slots=True)
class Pending:
    """What of a run is not written yet: events, and model calls by number."""

    events: list[LoggedEvent] = field(default_factory=list)
    calls: dict[int, ModelCall] = field(default_factory=dict)

    def put_back(self, earlier: "Pending") -> None:
        self.events[:0] = earlier.events
        self.calls = earlier.calls | self.calls


class Recorder:
    """Records the runs of one event loop. A batch that cannot be written stays pending, and each
    run of it is told to end: it takes over what is pending, to store it with its end."""

    def __init__(self, lost: Lost, *, batch_seconds: float = BATCH_SECONDS) -> None:
        self._lost = lost
        self._batch_seconds = batch_seconds
        self._pending: dict[UUID, Pending] = {}
        self._writing = asyncio.Lock()
        self._timer: asyncio.Task[None] | None = None

    def record(self, trace_id: UUID, event: LoggedEvent) -> None:
        """Have an event written, at most one batch's time later."""
        self._of(trace_id).events.append(event)

    def record_call(self, trace_id: UUID, call: ModelCall) -> None:
        """Have a model call's row written, or written anew, as it is then."""
        self._of(trace_id).calls[call.number] = call

    async def flush(self) -> None:
        """Write all that is pending now."""
        async with self._writing:
            batch, self._pending = self._pending, {}
            if not batch:
                return
            try:
                mine = await in_database(partial(_write, batch))
            except Exception as error:
                log.exception("events of %d runs could not be written", len(batch))
                for trace_id, pending in batch.items():
                    self._pending.setdefault(trace_id, Pending()).put_back(pending)
                    self._lost(trace_id, error)
            else:
                for trace_id in batch.keys() - mine:
                    self._lost(trace_id, None)

    async def hand_over(self, trace_id: UUID) -> Pending:
        """What is pending of a run that has nothing more to record. No batch has any of it: one
        that is being written is waited for."""
        async with self._writing:
            return self._pending.pop(trace_id, Pending())

    def _of(self, trace_id: UUID) -> Pending:
        if self._timer is None or self._timer.done():
            self._timer = asyncio.create_task(self._flush_soon())
        return self._pending.setdefault(trace_id, Pending())

    async def _flush_soon(self) -> None:
        while self._pending:
            await asyncio.sleep(self._batch_seconds)
            await self.flush()


def _write(batch: Mapping[UUID, Pending]) -> set[UUID]:
    """Write a batch; the runs in it that are still this process's to write of."""
    with transaction.atomic():
        # What ends one of these runs for this process waits until the batch is written.
        rows = Trace.objects.select_for_update(no_key=True).order_by("pk")
        running = rows.filter(pk__in=batch, owner=owner(), status=Status.RUNNING)
        mine = set(running.values_list("pk", flat=True))
        _insert({trace_id: batch[trace_id] for trace_id in mine})
    return mine


async def finish(trace_id: UUID, pending: Pending, *, ending: Ending) -> bool:
    """End a run with what is still pending of it, in one transaction; false, and nothing is
    written, if it has ended already."""
    return await in_database(partial(_finish, trace_id, pending, ending=ending))


def _finish(trace_id: UUID, pending: Pending, *, ending: Ending) -> bool:
    with transaction.atomic():
        mine = {"id": trace_id, "owner": owner(), "status": Status.RUNNING}
        if not change(Trace, mine, ending.columns):
            return False
        ending.store()
        last = Pending([*pending.events, ending.event], pending.calls)
        _insert({trace_id: last})
    return True


def _insert(batch: Mapping[UUID, Pending]) -> None:
    insert_events({trace_id: pending.events for trace_id, pending in batch.items()})
    calls = (call for pending in batch.values() for call in pending.calls.values())
    rows = [[getattr(call, column) for column in CALL_COLUMNS] for call in calls]
    insert(ModelCall, CALL_COLUMNS, rows, unique=("trace_id", "number"))


def insert_events(batch: Mapping[UUID, Iterable[LoggedEvent]]) -> None:
    """Write events, by the runs that they are of."""
    rows = [
        (trace_id, event.seq, event.type, event.payload, event.at)
        for trace_id, events in batch.items()
        for event in events
    ]
    insert(TraceEvent, EVENT_COLUMNS, rows)
