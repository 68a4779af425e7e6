"""To whom a run belongs: a lease that its process renews, and an end for runs of dead processes."""

import logging
import os
import uuid
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db import DatabaseError, transaction
from django.db.models import Q, QuerySet, Sum
from django.dispatch import Signal
from django.utils import timezone

from traces_app.models import Status, Trace, TraceEvent

log = logging.getLogger(__name__)

RENEW_SECONDS: Final = 2.0
LEASE: Final = timedelta(seconds=10)
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
    return _owners.setdefault(os.getpid(), uuid.uuid4().hex)


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


def dead(*, now: datetime) -> Q:
    """Runs that no living process has."""
    lapsed = Q(lease_until__lt=now) | Q(lease_until=None)
    return Q(status=Status.RUNNING) & lapsed


def end_dead_runs(traces: QuerySet[Trace] | None = None, *, now: datetime | None = None) -> int:
    """End those of the traces (without any: of all) whose process died; how many there were.

    Each is ended once, also where several try at the same time.
    """
    now = now or timezone.now()
    rows = Trace.objects.all() if traces is None else traces
    found = list(rows.filter(dead(now=now)).order_by().values_list("pk", flat=True))
    return sum(_end(key, now) for key in found)


def _end(trace_id: UUID, now: datetime) -> bool:
    """Whether it was this call that ended the run."""
    with transaction.atomic():
        ended = Trace.objects.filter(dead(now=now), pk=trace_id).update(
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
            seq=events[-1].seq + 1 if events else 1,
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
