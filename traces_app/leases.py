"""Leases: the process of a run renews its lease, and runs of dead processes are ended.

Wall clocks are never compared. A process of this machine is dead if the operating system has no
such process; a process of another machine is dead if this process has watched its lease for
LEASE without seeing it renewed.
"""

import logging
import os
import time
import uuid
from collections.abc import Callable, Collection, Iterable
from datetime import datetime, timedelta
from functools import cache
from hashlib import sha256
from typing import Final
from uuid import UUID

from django.db import DatabaseError, transaction
from django.db.models import QuerySet, Sum
from django.dispatch import Signal
from django.utils import timezone

from mockllm_site.kit.bounded_dict import BoundedDict
from mockllm_site.kit.processes import machine_id, process_start_time
from traces_app.models import Status, Trace, TraceEvent

log = logging.getLogger(__name__)

RENEW_SECONDS: Final = 2.0
LEASE: Final = timedelta(seconds=10)
# This process watches at most this many leases of other processes.
MAX_WATCHED_LEASES: Final = 10_000
# The terminal event of a dead run gets a number this far beyond the last stored one. Its process
# may have sent events that it never stored, and a client that resumes after those numbers must
# still get the terminal event. A run has fewer events than this: each holds text or belongs to a
# tool call, and CHAT_RUN_TEXT_BYTES (2 MiB) and CHAT_RUN_TOOL_CALLS limit both.
MAX_UNSTORED_EVENTS: Final = 10_000_000
# The error of a run whose process died.
INTERRUPTED: Final = "interrupted"
INTERRUPTED_CODE: Final = "SERVICE_UNAVAILABLE"

# Sent with `trace` and `events` in the transaction that ends a dead run, so that a receiver can
# store its partial answer.
run_died = Signal()

_owners: dict[int, str] = {}


def current_owner() -> str:
    """Return the unique id of this process as an owner of runs; a forked child gets another one."""
    pid = os.getpid()
    if pid not in _owners:
        _owners[pid] = f"{uuid.uuid4().hex[:16]}.{_machine_hash()}.{pid}.{process_start_time(pid)}"
    return _owners[pid]


@cache
def _machine_hash() -> str:
    """Return a hash of the machine's id; a random one if the machine has no id."""
    return sha256((machine_id() or uuid.uuid4().hex).encode()).hexdigest()[:16]


def has_process_died(owner: str) -> bool:
    """True if the owner is a process of this machine that no longer exists."""
    match owner.split("."):
        case [_, at, pid, born] if at == _machine_hash():
            return process_start_time(int(pid)) != int(born)
    return False


class LeaseWatch:
    """Remembers since when each watched lease has been unchanged, by a monotonic clock. A lease
    that stays unchanged for `seconds` has expired."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.seconds = LEASE.total_seconds()
        self._now = now
        self._seen = BoundedDict[UUID, tuple[datetime, float]](MAX_WATCHED_LEASES)

    def has_expired(self, trace_id: UUID, lease: datetime) -> bool:
        """Remember the lease; return true if all calls for `seconds` have had the same one."""
        now = self._now()
        before, since = self._seen.get(trace_id, (lease, now))
        self._seen[trace_id] = lease, since if before == lease else now
        return before == lease and now - since >= self.seconds


lease_watch = LeaseWatch()


def is_dead(trace_id: UUID, owner: str, lease: datetime | None) -> bool:
    """True if the process of a running run has died, or its lease is None or has expired."""
    return lease is None or has_process_died(owner) or lease_watch.has_expired(trace_id, lease)


def renew_leases(trace_ids: Collection[UUID], *, now: datetime) -> dict[UUID, bool]:
    """Renew the leases of these runs of this process with one UPDATE. Return the ids of those that
    the process still owns, each with true if the run is to be cancelled."""
    mine = Trace.objects.filter(pk__in=trace_ids, owner=current_owner(), status=Status.RUNNING)
    mine.update(lease_until=now + LEASE)
    return dict(mine.values_list("pk", "cancel_requested"))


def current_status(trace_id: UUID) -> str | None:
    """Return the status of a run, or None for an unknown id. A dead run is ended first."""
    rows = Trace.objects.filter(pk=trace_id)
    row = rows.values_list("status", "owner", "lease_until").first()
    if row is None:
        return None
    status, owner, lease = row
    if status == Status.RUNNING and is_dead(trace_id, owner, lease):
        end_dead_runs(rows)
        return rows.values_list("status", flat=True).first()
    return status


def end_dead_runs(traces: QuerySet[Trace] | None = None, *, now: datetime | None = None) -> int:
    """End the runs whose process died, among `traces` or all; return how many this call ended. Each
    run is ended once, even if several processes try at the same time."""
    rows = Trace.objects.all() if traces is None else traces
    running = rows.filter(status=Status.RUNNING).order_by()
    dead = [
        (trace_id, lease)
        for trace_id, owner, lease in running.values_list("pk", "owner", "lease_until")
        if is_dead(trace_id, owner, lease)
    ]
    return sum(_end_dead_run(trace_id, lease, now or timezone.now()) for trace_id, lease in dead)


def _end_dead_run(trace_id: UUID, lease: datetime | None, now: datetime) -> bool:
    """End a dead run; false if it was ended elsewhere or its lease was renewed."""
    with transaction.atomic():
        ended = Trace.objects.filter(pk=trace_id, status=Status.RUNNING, lease_until=lease).update(
            status=Status.FAILED, code=INTERRUPTED_CODE, error=INTERRUPTED, finished_at=now
        )
        if not ended:
            return False
        trace = Trace.objects.get(pk=trace_id)
        events = list(trace.events.order_by("seq"))
        store_totals(trace, events)
        try:
            with transaction.atomic():
                run_died.send(Trace, trace=trace, events=events)
        except DatabaseError:
            # The run ends even if its partial answer cannot be stored.
            log.exception("the partial answer of run %s could not be stored", trace_id)
        TraceEvent.objects.create(
            trace=trace,
            seq=(events[-1].seq if events else 0) + MAX_UNSTORED_EVENTS,
            type="error",
            payload={"status": 503, "message": INTERRUPTED, "code": INTERRUPTED_CODE},
            at=now,
        )
    return True


def store_totals(trace: Trace, events: Iterable[TraceEvent]) -> None:
    """Store the totals of a run as they follow from its events and model calls."""
    tokens = trace.calls.aggregate(input=Sum("input_tokens"), output=Sum("output_tokens"))
    token_times = (event.at for event in events if event.type in ("chunk", "thinking"))
    Trace.objects.filter(pk=trace.pk).update(
        model_calls=trace.calls.count(),
        tool_calls=sum(event.type == "tool_start" for event in events),
        input_tokens=tokens["input"] or 0,
        output_tokens=tokens["output"] or 0,
        first_token_at=next(token_times, None),
    )
