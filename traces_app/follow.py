"""Follow a run from any event loop: by its live log in its own process, by its rows elsewhere."""

import asyncio
from collections.abc import AsyncGenerator
from functools import partial
from typing import Final
from uuid import UUID

from django.utils import timezone

from mockllm_site.kit.database_thread import in_database
from traces_app.leases import current_status
from traces_app.log import LoggedEvent, live_logs
from traces_app.models import Status, Trace

# The largest value of the column `seq`; no run has as many events.
MAX_SEQ: Final = 2**31 - 1
# The error of a run that is deleted while it is followed.
DELETED: Final = {"status": 404, "message": "Conversation not found", "code": "NOT_FOUND"}
# The interval between reads of another process's run.
POLL_SECONDS: Final = 0.1


async def follow(trace_id: UUID, *, after: int = 0) -> AsyncGenerator[LoggedEvent, None]:
    """Yield a run's events after that number as they come, up to the terminal one.

    Of an ended run whose log is gone, an `after` equal to the last number yields nothing, and a
    greater one yields the terminal event again. Raises Trace.DoesNotExist at the start; a run that
    is deleted later ends with an error, NOT_FOUND, as its live log does.
    """
    log = live_logs.get(trace_id)
    if log is not None:
        async for event in log.follow(after):
            yield event
        return
    last, running = after, False
    while True:
        try:
            events, ended = await in_database(
                partial(_read_events, trace_id, last, seen_running=running)
            )
        except Trace.DoesNotExist:
            if not running:
                raise
            events, ended = [LoggedEvent(last + 1, "error", DELETED, timezone.now())], True
        for event in events:
            yield event
        if ended:
            return
        last, running = max([last, *(event.seq for event in events)]), True
        await asyncio.sleep(POLL_SECONDS)


def terminal_number(trace_id: UUID) -> int | None:
    """Return the number of an ended run's last event (0 without events), None while it runs. A dead
    run is ended first. Raises Trace.DoesNotExist."""
    if trace_id in live_logs or not _has_ended(trace_id):
        return None
    last = Trace(pk=trace_id).events.order_by("seq").last()
    return last.seq if last else 0


def _read_events(
    trace_id: UUID, after: int, *, seen_running: bool
) -> tuple[list[LoggedEvent], bool]:
    """Return the stored events after that number, and true if there will be no more. A follower
    that has seen the run running always gets the terminal event, as from a live log."""
    # Read first: after the end, all events are stored.
    ended = _has_ended(trace_id)
    rows = Trace(pk=trace_id).events.order_by("seq")
    stored = list(rows.filter(seq__gt=min(after, MAX_SEQ)))
    if ended and not stored:
        last = rows.last()
        if last is not None and (seen_running or after > last.seq):
            stored = [last]
    events = [LoggedEvent(r.seq, r.type, r.payload, r.at) for r in stored]
    # If the run ended between the two reads, its terminal event is not yielded twice.
    return events, ended or any(event.is_terminal for event in events)


def _has_ended(trace_id: UUID) -> bool:
    """True if a run has ended; a dead run is ended first. Raises Trace.DoesNotExist."""
    status = current_status(trace_id)
    if status is None:
        raise Trace.DoesNotExist
    return status != Status.RUNNING
