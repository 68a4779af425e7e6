"""Following a run from any event loop: its live log in its own process, its rows from elsewhere."""

import asyncio
from collections.abc import AsyncGenerator
from functools import partial
from typing import Final
from uuid import UUID

from mockllm_site.kit.database_thread import in_database
from traces_app.leases import status_of
from traces_app.log import LoggedEvent, live_log
from traces_app.models import Status, Trace

# No run has as many events.
LARGEST: Final = 2**31 - 1
# How often a run of another process is looked at.
POLL_SECONDS: Final = 0.1


async def follow(trace_id: UUID, *, after: int = 0) -> AsyncGenerator[LoggedEvent, None]:
    """A run's events after that number, as they come, up to the terminal one.

    Of a run that has ended, a number beyond its last gives the terminal event again, and the last
    number itself gives nothing. Raises Trace.DoesNotExist.
    """
    log = live_log(trace_id)
    if log is not None:
        async for event in log.follow(after):
            yield event
        return
    last, running = after, False
    while True:
        events, ended = await in_database(partial(_events, trace_id, last, seen_running=running))
        for event in events:
            yield event
        if ended:
            return
        last, running = max([last, *(event.seq for event in events)]), True
        await asyncio.sleep(POLL_SECONDS)


def ended_at(trace_id: UUID) -> int | None:
    """The number of an ended run's last event; None while it runs. Raises Trace.DoesNotExist."""
    if live_log(trace_id) is not None or not _ended(trace_id):
        return None
    last = Trace(pk=trace_id).events.order_by("seq").last()
    return last.seq if last else 0


def _events(trace_id: UUID, after: int, *, seen_running: bool) -> tuple[list[LoggedEvent], bool]:
    """The stored events after that number, and whether there will be no more.

    A follower that has seen the run running gets its terminal event at any number, as from a
    live log.
    """
    # Asked first: of a run that has ended, all events are there.
    ended = _ended(trace_id)
    rows = Trace(pk=trace_id).events.order_by("seq")
    found = list(rows.filter(seq__gt=min(after, LARGEST)))
    if ended and not found:
        last = rows.last()
        if last is not None and (seen_running or after > last.seq):
            found = [last]
    events = [LoggedEvent(r.seq, r.type, r.payload, r.at) for r in found]
    # It may have ended between the two reads: its end is told once all the same.
    return events, ended or any(event.terminal for event in events)


def _ended(trace_id: UUID) -> bool:
    """Whether a run has ended; one whose process died is ended first."""
    status = status_of(trace_id)
    if status is None:
        raise Trace.DoesNotExist
    return status != Status.RUNNING
