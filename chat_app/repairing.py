"""The start of a process: runs that a dead one left behind get their ends."""

import asyncio
import logging
from datetime import timedelta

from django.db.models import Max
from django.utils import timezone

from chat_app.loop import submit
from traces_app.database import in_database
from traces_app.leases import end_dead_runs, owner
from traces_app.models import Status, Trace

log = logging.getLogger(__name__)


async def repair() -> None:
    """End the runs whose processes died, now, and once more when the last of the leases that are
    not over yet is: the process that had it may have died a moment ago."""
    await in_database(end_dead_runs)
    left = await in_database(_seconds_left)
    if left is not None:
        submit(_again(left))


async def _again(seconds: float) -> None:
    await asyncio.sleep(seconds)
    try:
        await in_database(end_dead_runs)
    except Exception:
        log.exception("dead runs could not be ended")


def _seconds_left() -> float | None:
    others = Trace.objects.filter(status=Status.RUNNING).exclude(owner=owner())
    last = others.aggregate(last=Max("lease_until"))["last"]
    return None if last is None else max((last - timezone.now()) / timedelta(seconds=1), 0.0) + 0.1
