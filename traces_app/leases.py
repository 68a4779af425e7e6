"""To whom a run belongs: a lease that its process renews, and an end for runs of dead processes.

No clock of any machine counts. A process of this machine is dead when the system says so; another
one is when its lease has stood still for as long as one lasts, while somebody looked.
"""

import logging
import os
import time
import uuid
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from hashlib import sha256
from typing import Final
from uuid import UUID

from django.db import DatabaseError, transaction
from django.db.models import QuerySet, Sum
from django.dispatch import Signal
from django.utils import timezone

from mockllm_site.kit.processes import birth, machine
from traces_app.models import Status, Trace, TraceEvent

log = logging.getLogger(__name__)

RENEW_SECONDS: Final = 2.0
LEASE: Final = timedelta(seconds=10)
# Of so many runs of others this process knows how long their leases have stood still.
WATCHED: Final = 10_000
# The terminal event of a dead run gets a number this far beyond the last stored one. Its process
# may have sent events that it never stored, and a client that resumes after those numbers must
# still get the terminal event. A run has fewer events than this: each holds text or belongs to a
# tool call, and CHAT_RUN_TEXT_BYTES (2 MiB) and CHAT_RUN_TOOL_CALLS limit both.
MAX_UNSTORED_EVENTS: Final = 10_000_000
# How a run ends that its process did not end.
INTERRUPTED: Final = "interrupted"
CODE: Final = "SERVICE_UNAVAILABLE"
HTTP_STATUS: Final = 503

# Sent with `trace` and `events` in the transaction that ends a dead run, so that what keeps
# answers can keep what there is of this one.
run_died = Signal()

_owners: dict[int, str] = {}


@dataclass(frozen=True, slots=True)
class Renewal:
    """Of the runs asked about: which are not this process's any more, which are to be cancelled."""

    lost: frozenset[UUID]
    cancelled: frozenset[UUID]


def owner() -> str:
    """The name of this process among all; a forked child has one of its own."""
    pid = os.getpid()
    if pid not in _owners:
        _owners[pid] = f"{uuid.uuid4().hex[:16]}.{_machine()}.{pid}.{birth(pid)}"
    return _owners[pid]


@cache
def _machine() -> str:
    """A short name of this machine, or, where there is none, one that nobody else has."""
    return sha256((machine() or uuid.uuid4().hex).encode()).hexdigest()[:16]


def has_died(owner: str) -> bool:
    """Whether a process is known to live no more: one of this machine."""
    match owner.split("."):
        case [_, at, pid, born] if at == _machine():
            return birth(int(pid)) != int(born)
    return False


class Watch:
    """The leases that this process has looked at, each with the moment from which it has stood
    still. One that does so for `seconds` is over, at any time of the day."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.seconds = LEASE.total_seconds()
        self._now = now
        self._seen: dict[UUID, tuple[datetime, float]] = {}

    def over(self, trace_id: UUID, lease: datetime) -> bool:
        now = self._now()
        before, since = self._seen.pop(trace_id, (lease, now))
        self._seen[trace_id] = lease, since if before == lease else now
        if len(self._seen) > WATCHED:
            self._seen.pop(next(iter(self._seen)), None)
        return before == lease and now - since >= self.seconds


watch = Watch()


def is_dead(trace_id: UUID, owner: str, lease: datetime | None) -> bool:
    """Whether a run that has not ended has no living process."""
    return lease is None or has_died(owner) or watch.over(trace_id, lease)


def lease_from(now: datetime) -> datetime:
    return now + LEASE


def renew(trace_ids: Collection[UUID], *, now: datetime) -> Renewal:
    """Renew the leases of these runs of this process, all at once."""
    mine = Trace.objects.filter(pk__in=trace_ids, owner=owner(), status=Status.RUNNING)
    mine.update(lease_until=lease_from(now))
    found = dict(mine.values_list("pk", "cancel_requested"))
    return Renewal(
        lost=frozenset(set(trace_ids) - set(found)),
        cancelled=frozenset(key for key, cancelled in found.items() if cancelled),
    )


def status_of(trace_id: UUID) -> str | None:
    """The status of a run, which is ended first where its process died; None where there is none
    of that id."""
    rows = Trace.objects.filter(pk=trace_id)
    found = rows.values_list("status", "owner", "lease_until").first()
    if found is None:
        return None
    status, owner, lease = found
    if status == Status.RUNNING and is_dead(trace_id, owner, lease):
        end_dead_runs(rows)
        return rows.values_list("status", flat=True).first()
    return status


def end_dead_runs(traces: QuerySet[Trace] | None = None, *, now: datetime | None = None) -> int:
    """End those of the traces (without any: of all) whose process died; how many there were.

    Each is ended once, also where several try at the same time.
    """
    rows = Trace.objects.all() if traces is None else traces
    running = rows.filter(status=Status.RUNNING).order_by()
    found = [
        (trace_id, lease)
        for trace_id, owner, lease in running.values_list("pk", "owner", "lease_until")
        if is_dead(trace_id, owner, lease)
    ]
    return sum(_end(trace_id, lease, now or timezone.now()) for trace_id, lease in found)


def _end(trace_id: UUID, lease: datetime | None, now: datetime) -> bool:
    """Whether it was this call that ended the run."""
    with transaction.atomic():
        ended = Trace.objects.filter(pk=trace_id, status=Status.RUNNING, lease_until=lease).update(
            status=Status.FAILED, code=CODE, error=INTERRUPTED, finished_at=now
        )
        if not ended:
            return False
        trace = Trace.objects.get(pk=trace_id)
        events = list(trace.events.order_by("seq"))
        _count(trace, events)
        try:
            with transaction.atomic():
                run_died.send(Trace, trace=trace, events=events)
        except DatabaseError:
            # The end of a run does not depend on whether its answer can be kept.
            log.exception("what run %s had said could not be kept", trace_id)
        TraceEvent.objects.create(
            trace=trace,
            seq=(events[-1].seq if events else 0) + MAX_UNSTORED_EVENTS,
            type="error",
            payload={"status": HTTP_STATUS, "message": INTERRUPTED, "code": CODE},
            at=now,
        )
    return True


def _count(trace: Trace, events: Iterable[TraceEvent]) -> None:
    """What the run's process would have counted."""
    calls = trace.calls.aggregate(input=Sum("input_tokens"), output=Sum("output_tokens"))
    said = (event.at for event in events if event.type in ("chunk", "thinking"))
    trace.model_calls = trace.calls.count()
    trace.tool_calls = sum(event.type == "tool_start" for event in events)
    trace.input_tokens = calls["input"] or 0
    trace.output_tokens = calls["output"] or 0
    trace.first_token_at = next(said, None)
    trace.save(
        update_fields=[
            "model_calls", "tool_calls", "input_tokens", "output_tokens", "first_token_at"
        ]
    )  # fmt: skip
