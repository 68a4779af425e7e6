"""Registers each serving process in the database with a lease that it renews. A process without
shared state serves alone.

No machine's clock counts. A process of this machine lives as long as the system says so. One of
another machine is dead once its row has not changed for `DEAD_SECONDS` of observation.
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

from django.db import DatabaseError, connection, transaction
from django.db.models import F, Max
from django.utils import timezone

from mockllm_site.kit.processes import machine_id, process_start_time
from scenarios_app.catalog.snapshot import can_be_shared
from scenarios_app.cluster import redis_connections
from scenarios_app.models import Installation, ServedRequest, ServerProcess

log = logging.getLogger(__name__)

RENEW_SECONDS: Final = 2.0
DEAD_SECONDS: Final = 10.0
LOOK_SECONDS: Final = 0.2

ALONE: Final = "several processes on one database need a shared state: set REDIS_URL for all"
ANOTHER: Final = "all processes on one database must have the same REDIS_URL"
UNCLEAN: Final = (
    "process %s ended without a shutdown: requests that it answered in its last second may be "
    "missing in the journal"
)


def _after_all_rows() -> datetime:
    """Return the time, or that of the journal's latest row if the clock was set back since."""
    latest: datetime | None = ServedRequest.objects.aggregate(latest=Max("at"))["latest"]
    return max(timezone.now(), latest) if latest else timezone.now()


class LeaseRefused(Exception):
    """This process may not serve from the database; the message says why in one line."""


class Lease:
    """The right of this process to serve from the database. `shares` names the state that it shares
    with other processes, empty for none."""

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
        """Register this process; raises LeaseRefused beside a live process that shares no state
        with it. To be sure that another process is dead may take DEAD_SECONDS."""
        while against := self._register():
            for row in against:
                if self.check_alive(row):
                    why = ANOTHER if row.shares and self._row.shares else ALONE
                    raise LeaseRefused(f"process {row.pid} serves from this database; {why}")
            self._wait(LOOK_SECONDS)

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
        """Return True if another process is seen to live, False if it is dead or not known yet.
        Removes the row of a dead one and notes its unclean end."""
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
                Installation.objects.update(unclean_end_at=_after_all_rows())
                log.warning(UNCLEAN, row.pid)
        return lives

    def start_renewing(self) -> None:
        """Renew the lease in a thread until `end`; end the process if another took over."""
        self._thread = Thread(target=self._renew_until_end, name="mockllm-lease", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Stop the renewals and remove this process's row."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _register(self) -> list[ServerProcess]:
        """Register this process, or return the processes that it cannot serve beside."""
        with transaction.atomic():
            Installation.name()
            # The row lock lets one process enter at a time.
            Installation.objects.select_for_update().get(pk=1)
            others = ServerProcess.objects.exclude(pk=self._row.pk)
            if self._row.shares:
                others = others.exclude(shares=self._row.shares)
            against = list(others)
            if not against:
                self._row.save()
            return against

    def _renew_until_end(self) -> None:
        """Renew the lease at intervals; end this process if another one has taken it."""
        works = True
        while not self._ended.wait(RENEW_SECONDS):
            try:
                if not self.renew():
                    log.error(
                        "another process took this one for dead and serves now: this process ends"
                    )
                    os.kill(os.getpid(), signal.SIGTERM)
                    break
                works = True
            except DatabaseError:
                if works:
                    log.exception("this process cannot renew its lease; it keeps trying")
                works = False
                connection.close()
        try:
            self.delete_row()
        except DatabaseError as error:
            log.warning("this process's row stays in the database (%s)", error)
        connection.close()


_held: dict[int, Lease] = {}


def acquire() -> None:
    """Take and renew this process's lease once, if its database can be shared; raises
    LeaseRefused."""
    if os.getpid() in _held or not can_be_shared():
        return
    shared = redis_connections()
    lease = Lease("" if shared is None else shared.name())
    lease.acquire()
    _held.clear()
    _held[os.getpid()] = lease
    lease.start_renewing()


def acquire_or_exit() -> None:
    """Call `acquire` at the import of an application; exit the process if it may not serve."""
    try:
        acquire()
    except LeaseRefused as error:
        raise SystemExit(f"mockllm: {error}") from None
    except DatabaseError:
        log.exception("the database cannot be looked into yet")


def release() -> None:
    """End the lease of this process, if it has one."""
    lease = _held.pop(os.getpid(), None)
    if lease is not None:
        lease.end()
