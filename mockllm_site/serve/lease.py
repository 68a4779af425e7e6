"""Leases of the processes that serve from one database. A process without shared state serves
alone.

Clocks of machines are not compared. A process of this machine lives as long as the system says so.
One of another machine is dead if its row has not changed for DEAD_SECONDS while it was watched.
"""

import logging
import os
import signal
import time
from collections.abc import Callable
from datetime import datetime
from threading import Event, Thread
from typing import Final
from uuid import uuid4

from django.db import Error as DatabaseProblem
from django.db import connection, transaction
from django.db.models import F, Max
from django.utils import timezone

from mockllm_site.kit.processes import machine_id, process_start_time
from scenarios_app.catalog.snapshot import can_be_shared
from scenarios_app.cluster import redis_connections
from scenarios_app.models import Installation, ServedRequest, ServerProcess

log = logging.getLogger(__name__)

RENEW_SECONDS: Final = 2.0
DEAD_SECONDS: Final = 10.0
POLL_SECONDS: Final = 0.2

NEEDS_REDIS: Final = "several processes on one database need a shared state: set REDIS_URL for all"
OTHER_REDIS: Final = (
    "all processes on one database must have the same REDIS_URL; if they have, Redis has just lost "
    "its data: start this one again"
)
UNCLEAN_END: Final = (
    "process %s ended without a shutdown: requests that it answered in its last second may be "
    "missing in the journal"
)


def _time_after_journal() -> datetime:
    """Return the current time, or that of the journal's latest row if that is later."""
    latest: datetime | None = ServedRequest.objects.aggregate(latest=Max("at"))["latest"]
    return max(timezone.now(), latest) if latest else timezone.now()


class LeaseRefused(Exception):
    """This process may not serve from the database; the message says why in one line."""


class Lease:
    """The right of this process to serve from the database. `shares` names the Redis that it shares
    with other processes; empty without one."""

    def __init__(
        self,
        shares: str,
        *,
        now: Callable[[], float] = time.monotonic,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        self._row = ServerProcess(
            owner=uuid4().hex,
            machine=machine_id(),
            pid=os.getpid(),
            birth=process_start_time(os.getpid()),
            shares=shares,
        )
        self._now, self._wait = now, wait
        # For each other process: its last beat, and when this process first saw it.
        self._beats: dict[str, tuple[int, float]] = {}
        self._ended = Event()
        self._thread: Thread | None = None

    def acquire(self) -> None:
        """Register this process; raise LeaseRefused if a live process does not share its state.
        Wait up to DEAD_SECONDS until another process is known to live or to be dead."""
        while conflicts := self._register():
            for row in conflicts:
                if self.check_alive(row):
                    why = OTHER_REDIS if row.shares and self._row.shares else NEEDS_REDIS
                    raise LeaseRefused(f"process {row.pid} serves from this database; {why}")
            self._wait(POLL_SECONDS)

    def renew(self) -> bool:
        """Renew the lease and remove dead processes; return False if another one has taken over."""
        if not ServerProcess.objects.filter(pk=self._row.pk).update(beat=F("beat") + 1):
            return not self._register()
        for row in ServerProcess.objects.exclude(pk=self._row.pk):
            self.check_alive(row)
        return True

    def delete_row(self) -> None:
        ServerProcess.objects.filter(pk=self._row.pk).delete()

    def check_alive(self, row: ServerProcess) -> bool:
        """Return True if another process is known to live, False if it is dead or not known yet.
        Remove the row of a dead one and store the time of its unclean end."""
        if row.machine and row.machine == self._row.machine and row.birth:
            lives = process_start_time(row.pid) == row.birth
            dead = not lives
        else:
            beat, since = self._beats.setdefault(row.owner, (row.beat, self._now()))
            lives = beat != row.beat
            dead = not lives and self._now() - since >= DEAD_SECONDS
            if lives:
                self._beats[row.owner] = row.beat, self._now()
        if dead:
            self._beats.pop(row.owner, None)
            deleted, _ = ServerProcess.objects.filter(pk=row.pk, beat=row.beat).delete()
            if deleted:
                Installation.objects.update(unclean_end_at=_time_after_journal())
                log.warning(UNCLEAN_END, row.pid)
        return lives

    def start_renewing(self) -> None:
        """Renew the lease in a thread until `end`; SIGTERM this process if another took over."""
        self._thread = Thread(target=self._renew_until_end, name="mockllm-lease", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Stop the renewals and remove this process's row."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _register(self) -> list[ServerProcess]:
        """Store this process's row, unless others do not share its state; return those."""
        with transaction.atomic():
            Installation.name()
            # The row lock lets one process enter at a time.
            Installation.objects.select_for_update().get(pk=1)
            others = ServerProcess.objects.exclude(pk=self._row.pk)
            if self._row.shares:
                others = others.exclude(shares=self._row.shares)
            conflicts = list(others)
            if not conflicts:
                self._row.save()
            return conflicts

    def _renew_until_end(self) -> None:
        """Renew the lease every RENEW_SECONDS until `end`, then remove this process's row."""
        works = True
        while not self._ended.wait(RENEW_SECONDS):
            try:
                if not self.renew():
                    log.error("another process has taken over the lease: this process ends")
                    os.kill(os.getpid(), signal.SIGTERM)
                    break
                works = True
            except DatabaseProblem:
                if works:
                    log.exception("this process cannot renew its lease; it keeps trying")
                works = False
                connection.close()
        try:
            self.delete_row()
        except DatabaseProblem as error:
            log.warning("this process's row stays in the database (%s)", error)
        connection.close()


# The lease of this process by its PID, so that a forked child does not take it for its own.
_leases: dict[int, Lease] = {}


def acquire() -> None:
    """Take this process's lease and start to renew it, once, and only if processes can share the
    database. Raise LeaseRefused."""
    if os.getpid() in _leases or not can_be_shared():
        return
    shared = redis_connections()
    # All rows name the same Redis: a process with another one is refused.
    names = ServerProcess.objects.exclude(shares="").values_list("shares", flat=True)
    lease = Lease("" if shared is None else shared.name(names.first() or ""))
    lease.acquire()
    _leases.clear()
    _leases[os.getpid()] = lease
    lease.start_renewing()


def acquire_or_exit() -> None:
    """Call `acquire`; raise SystemExit if it is refused, log an error of the database."""
    try:
        acquire()
    except LeaseRefused as error:
        raise SystemExit(f"mockllm: {error}") from None
    except DatabaseProblem:
        log.exception("the database cannot be read yet; the first request tries again")


def release() -> None:
    """Remove the lease of this process, if it has one."""
    lease = _leases.pop(os.getpid(), None)
    if lease is not None:
        lease.end()
