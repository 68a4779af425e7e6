"""Stores runs' events: in batches over all runs, and in one transaction at the end of each run."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias
from uuid import UUID

from django.db import transaction

from mockllm_site.kit.database_thread import in_database
from mockllm_site.kit.rows import insert, update
from traces_app.leases import current_owner
from traces_app.log import LoggedEvent
from traces_app.models import ModelCall, Status, Trace, TraceEvent

log = logging.getLogger(__name__)

BATCH_SECONDS = 0.05
EVENT_COLUMNS = ("trace_id", "seq", "type", "payload", "at")
# All but the table's own key.
CALL_COLUMNS = tuple(field.attname for field in ModelCall._meta.concrete_fields[1:])

# Called with a run that cannot be recorded any more, and the error; None if the run was ended or
# taken over by another process, or deleted.
OnRunLost: TypeAlias = Callable[[UUID, Exception | None], None]


@dataclass(slots=True)
class PendingRecords:
    """The events of a run that are not written yet, and its model calls by number."""

    events: list[LoggedEvent] = field(default_factory=list)
    calls: dict[int, ModelCall] = field(default_factory=dict)


class Recorder:
    """Writes the events of all runs of one event loop in batches.

    If a batch cannot be written, its records stay pending and `on_run_lost` is called for each of
    its runs. Such a run ends, and stores its pending records with its end (`take_pending`).
    `on_run_lost` is also called for a run that no longer runs here; its records are dropped.
    """

    def __init__(self, on_run_lost: OnRunLost, *, batch_seconds: float = BATCH_SECONDS) -> None:
        self._on_run_lost = on_run_lost
        self._batch_seconds = batch_seconds
        self._pending: dict[UUID, PendingRecords] = {}
        self._writing = asyncio.Lock()
        self._timer: asyncio.Task[None] | None = None

    def record(self, trace_id: UUID, event: LoggedEvent) -> None:
        """Queue an event; it is written at most `batch_seconds` later."""
        self._ensure_pending(trace_id).events.append(event)

    def record_call(self, trace_id: UUID, call: ModelCall) -> None:
        """Queue a model call's row, to be written as it is at the time of the batch."""
        self._ensure_pending(trace_id).calls[call.number] = call

    async def flush(self) -> None:
        """Write all pending records now; a failure is reported to `on_run_lost` and not raised."""
        async with self._writing:
            batch, self._pending = self._pending, {}
            if not batch:
                return
            try:
                mine = await in_database(partial(_write_batch, batch))
            except Exception as error:
                log.exception("events of %d runs could not be written", len(batch))
                for trace_id, earlier in batch.items():
                    later = self._pending.get(trace_id, PendingRecords())
                    events, calls = earlier.events + later.events, earlier.calls | later.calls
                    self._pending[trace_id] = PendingRecords(events, calls)
                    self._on_run_lost(trace_id, error)
            else:
                for trace_id in batch.keys() - mine:
                    self._on_run_lost(trace_id, None)

    async def take_pending(self, trace_id: UUID) -> PendingRecords:
        """Remove and return a run's pending records, after waiting for the batch being written."""
        async with self._writing:
            return self._pending.pop(trace_id, PendingRecords())

    def _ensure_pending(self, trace_id: UUID) -> PendingRecords:
        """Return the run's pending records; start the periodic writing unless it is on."""
        if self._timer is None or self._timer.done():
            self._timer = asyncio.create_task(self._flush_periodically())
        return self._pending.setdefault(trace_id, PendingRecords())

    async def _flush_periodically(self) -> None:
        """Write pending records at intervals until there are none."""
        while self._pending:
            await asyncio.sleep(self._batch_seconds)
            await self.flush()


def _write_batch(batch: Mapping[UUID, PendingRecords]) -> set[UUID]:
    """Write the records of the runs that still run in this process; return the ids of these
    runs."""
    with transaction.atomic():
        # Locked, so that nobody else can end one of these runs before the batch is written.
        rows = Trace.objects.select_for_update(no_key=True).order_by("pk")
        running = rows.filter(pk__in=batch, owner=current_owner(), status=Status.RUNNING)
        mine = set(running.values_list("pk", flat=True))
        _insert_records({trace_id: batch[trace_id] for trace_id in mine})
    return mine


async def finish_run(
    trace_id: UUID,
    pending: PendingRecords,
    *,
    columns: Mapping[str, Any],
    event: LoggedEvent,
    store: Callable[[], None] = lambda: None,
) -> bool:
    """Store a run's end in one transaction: columns of its trace, its pending records and its
    terminal event. `store` writes other rows.

    Returns False, and writes nothing, if the run has ended already.
    """

    def finish() -> bool:
        """Store all in one transaction; return False if the run is not this process's any more."""
        with transaction.atomic():
            mine = {"id": trace_id, "owner": current_owner(), "status": Status.RUNNING}
            if not update(Trace, mine, columns):
                return False
            store()
            _insert_records({trace_id: PendingRecords([*pending.events, event], pending.calls)})
        return True

    return await in_database(finish)


def _insert_records(batch: Mapping[UUID, PendingRecords]) -> None:
    """Insert the events, and insert or replace the model calls, of these runs."""
    insert_events({trace_id: pending.events for trace_id, pending in batch.items()})
    calls = (call for pending in batch.values() for call in pending.calls.values())
    rows = [[getattr(call, column) for column in CALL_COLUMNS] for call in calls]
    insert(ModelCall, CALL_COLUMNS, rows, unique=("trace_id", "number"))


def insert_events(batch: Mapping[UUID, Iterable[LoggedEvent]]) -> None:
    """Insert events; `batch` maps the ids of their runs to them."""
    rows = [
        (trace_id, event.seq, event.type, event.payload, event.at)
        for trace_id, events in batch.items()
        for event in events
    ]
    insert(TraceEvent, EVENT_COLUMNS, rows)
