"""Writes the journal to the database. Recording costs the event loop one queue `put`; a thread
writes in batches, and readers flush first.

An in-memory database has no other readers, so its entries become rows only when they are read.
"""

import atexit
import logging
import math
import time
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat
from queue import Empty, SimpleQueue
from threading import Event, RLock, Thread
from typing import Protocol
from weakref import WeakSet

import msgspec
from django.db import (
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    OperationalError,
    connection,
)

from mockllm_site.kit.testcase import Scope, run_through, running_connection, running_scope
from scenarios_app.conf import setting
from scenarios_app.engine.journal_entry import CleanEntry, RawEntry, clean_entry, cut_entry
from scenarios_app.journal import table
from scenarios_app.journal.dropped import DroppedRows

log = logging.getLogger(__name__)

BATCH_ROWS = 500
BATCH_SECONDS = 0.05
IDLE_SECONDS = 0.25
FLUSH_SECONDS = 30.0
RETRY_SECONDS = (0.1, 0.5, 2.0)
WAITING_BYTES = 64_000_000
ENTRY_BYTES = 4_000
# Bytes of entries that stay in memory until they are read, and again while they are written.
UNREAD_BYTES = 128_000_000
# Larger entries are always written, because rows share repeated parts of their bodies.
MAX_UNREAD_ENTRY_BYTES = 65_536
# The table is trimmed once it exceeds its limit by one part in this many.
TRIM_PART = 20


class RecordSource(Protocol):
    """Holds records for a moment; `hand_over_records` hands them to the journal."""

    def hand_over_records(self) -> None:
        """Give all held records to the journal."""


class AnswerRecord(Protocol):
    """A record of one answer. `held_bytes` are those of its bodies in memory."""

    @property
    def session(self) -> str: ...
    @property
    def held_bytes(self) -> int: ...

    def entry(self) -> RawEntry:
        """Return the journal entry."""


class _Waiting(msgspec.Struct, frozen=True, gc=False):
    """A record on its way into the database, with its size in memory."""

    record: AnswerRecord
    size: int
    scope: Scope


@dataclass(frozen=True, slots=True)
class _Barrier:
    """A mark in the queue, set when all before it is written; the thread ends after the `last`."""

    passed: Event = field(default_factory=Event)
    last: bool = False


class Journal:
    """The journal of one process. `record` neither waits nor raises, even if the database fails.

    Entries wait in memory for a database that does not answer. `dropped` counts entries without
    room. `failed` counts those that the database refused or did not take before the process ended.
    `dropped_rows` counts both by session. `problem` is the database's error while rows wait.

    With `unread` set, small entries are kept until they are read: as many as the table would hold,
    and at most `UNREAD_BYTES` of them.
    """

    def __init__(self, *, waiting_bytes: int = WAITING_BYTES) -> None:
        self.unread = False
        # Sources of entries that are asked before anything is read, and at the end.
        self.sources: WeakSet[RecordSource] = WeakSet()
        self.dropped = 0
        self.failed = 0
        self.problem: str | None = None
        self.dropped_rows = DroppedRows()
        self._max_waiting_bytes = waiting_bytes
        self._waiting_bytes = 0
        self._in_test: dict[Scope, list[CleanEntry]] = {}
        self._unread: deque[_Waiting] = deque()
        self._unread_bytes = 0
        self._untrimmed = 0
        # Bytes of blocks since the last trim; infinite until the first one.
        self._untrimmed_bytes = math.inf
        self._queue: SimpleQueue[_Waiting | _Barrier] = SimpleQueue()
        self._lock = RLock()
        self._thread: Thread | None = None
        self._stopping = Event()
        self._hurry = Event()
        self._at_exit = False

    @property
    def waiting_bytes(self) -> int:
        """Return about how much memory unwritten entries take, in bytes."""
        return self._waiting_bytes + self._unread_bytes

    def record(self, entry: RawEntry) -> None:
        """Queue an entry, its bodies cut to what the journal keeps. It is dropped and counted if
        memory has no room."""
        max_bytes = setting("MOCKLLM_JOURNAL_BODY_BYTES")
        self.record_all((cut_entry(entry, max_bytes) if entry.held_bytes > max_bytes else entry,))

    def record_all(self, records: Iterable[AnswerRecord]) -> None:
        """Queue records whose bodies are no longer than the journal keeps. Those without room in
        memory are dropped and counted."""
        scope = running_scope()
        waiting = [_Waiting(one, one.held_bytes + ENTRY_BYTES, scope) for one in records]
        unread, is_large = self.unread, False
        max_waiting_bytes = 2 * UNREAD_BYTES if unread else self._max_waiting_bytes
        with self._lock:
            for item in waiting:
                if self._waiting_bytes + self._unread_bytes + item.size > max_waiting_bytes:
                    self.dropped += 1
                    self.dropped_rows.add(item.record.session)
                elif unread:
                    self._keep_unread(item)
                    is_large |= item.size > MAX_UNREAD_ENTRY_BYTES
                else:
                    self._waiting_bytes += item.size
                    self._queue.put(item)
        if unread:
            if not is_large and self._unread_bytes <= UNREAD_BYTES:
                return
            self._write_unread()
        if self._thread is None:
            self.start()

    def write_soon(self) -> None:
        """Let the thread write queued records now instead of waiting for more."""
        self._hurry.set()

    def _keep_unread(self, item: _Waiting) -> None:
        """Keep a record in memory until it is read, and drop the oldest beyond the table's
        limit."""
        self._unread.append(item)
        self._unread_bytes += item.size
        if len(self._unread) > setting("MOCKLLM_JOURNAL_ROWS"):
            self._unread_bytes -= self._unread.popleft().size

    def _write_unread(self) -> None:
        """Write the entries that were not read yet."""
        with self._lock:
            unread, self._unread = self._unread, deque()
            self._waiting_bytes += self._unread_bytes
            self._unread_bytes = 0
            for item in unread:
                self._queue.put(item)

    def start(self) -> None:
        """Start the writing thread, unless it runs; recording does so too."""
        with self._lock:
            if self._thread is None:
                self._thread = Thread(target=self._run, name="mockllm-journal", daemon=True)
                self._thread.start()
        if not self._at_exit:
            self._at_exit = True
            atexit.register(self.stop)

    def flush(self, timeout: float = FLUSH_SECONDS) -> bool:
        """Write all that was recorded, so that it can be read; return False after the timeout."""
        for source in tuple(self.sources):
            source.hand_over_records()
        self._write_unread()
        done = self._wait_for_barrier(_Barrier(), timeout)
        if not done:
            log.error("journal: not written after %s seconds", timeout)
        rows = self._in_test.pop(running_scope(), [])
        self._in_test.clear()
        if rows:
            run_through(running_connection(), lambda: table.insert(rows))
        return done

    def stop(self, timeout: float = FLUSH_SECONDS) -> bool:
        """Write queued entries and end the thread; return False after the timeout. Entries that are
        kept until they are read are not written."""
        for source in tuple(self.sources):
            source.hand_over_records()
        self._stopping.set()
        thread = self._thread
        done = self._wait_for_barrier(_Barrier(last=True), timeout)
        if done and thread is not None:
            thread.join(timeout)
        self._stopping.clear()
        return done

    def _wait_for_barrier(self, barrier: _Barrier, timeout: float) -> bool:
        """Queue a barrier and return True once the thread passes it, or False after the timeout.
        Return True without a barrier if nothing is queued and no thread runs."""
        if self._thread is None:
            if self._queue.empty():
                return True
            self.start()
        self._hurry.set()
        self._queue.put(barrier)
        return barrier.passed.wait(timeout)

    def _run(self) -> None:
        """Store waiting entries in batches until the last barrier, and trim the table."""
        barrier = None
        while barrier is None or not barrier.last:
            waiting, barrier = self._gather()
            self._store(waiting)
            if (
                barrier
                or self._untrimmed * TRIM_PART > setting("MOCKLLM_JOURNAL_ROWS")
                or self._untrimmed_bytes * TRIM_PART > setting("MOCKLLM_JOURNAL_BYTES")
            ):
                self._trim_table()
            with self._lock:
                self._waiting_bytes -= sum(item.size for item in waiting)
                if barrier is not None and barrier.last:
                    self._thread = None
            if barrier is not None:
                barrier.passed.set()
        connection.close()

    def _gather(self) -> tuple[list[_Waiting], _Barrier | None]:
        """Return the entries that arrive within a moment, up to the first barrier. The barrier is
        None if none came."""
        try:
            item = self._queue.get(timeout=IDLE_SECONDS)
        except Empty:
            # An idle journal closes its connection, which would prevent dropping the database.
            connection.close()
            item = self._queue.get()
        if isinstance(item, _Waiting) and self._queue.qsize() < BATCH_ROWS:
            # Wait outside `get`: if each entry woke this thread, it would take the interpreter from
            # the event loop with every answer.
            self._hurry.wait(BATCH_SECONDS)
            self._hurry.clear()
        waiting: list[_Waiting] = []
        while isinstance(item, _Waiting):
            waiting.append(item)
            if len(waiting) >= BATCH_ROWS:
                return waiting, None
            try:
                item = self._queue.get_nowait()
            except Empty:
                return waiting, None
        return waiting, item

    def _store(self, waiting: Sequence[_Waiting]) -> None:
        """Make rows of records and write them; rows of a test's transaction wait for its flush."""
        rows: list[CleanEntry] = []
        for item in waiting:
            try:
                entry = item.record.entry()
                row = clean_entry(entry, body_bytes=setting("MOCKLLM_JOURNAL_BODY_BYTES"))
            except Exception:
                self._count_lost_rows([item.record.session])
                continue
            if item.scope:
                # A test's transaction may lock the database: its rows wait for a flush in the test.
                if item.scope not in self._in_test:
                    self._in_test.clear()
                self._in_test.setdefault(item.scope, []).append(row)
            else:
                rows.append(row)
        if rows:
            self._write(rows)

    def _write(self, rows: Sequence[CleanEntry]) -> None:
        """Write rows, and try again as long as the database is away, a few times if the process
        ends. Rows that are refused or not written then are counted as failed."""
        pauses = chain(RETRY_SECONDS, repeat(RETRY_SECONDS[-1]))
        tries = 0
        while True:
            try:
                return self._insert(rows)
            except (OperationalError, InterfaceError) as error:
                connection.close()
                tries = tries + 1 if self._stopping.is_set() else 0
                if tries > len(RETRY_SECONDS):
                    return self._count_lost_rows([row.session for row in rows])
                self._wait_after_error(next(pauses), error)
            except (DataError, IntegrityError, ValueError) as error:
                if len(rows) == 1:
                    return self._count_lost_rows([rows[0].session])
                log.warning("journal: a row was refused (%s)", error)
                for row in rows:
                    self._write([row])
                return None
            except Exception:
                return self._count_lost_rows([row.session for row in rows])

    def _wait_after_error(self, seconds: float, error: Exception) -> None:
        """Store the name of the error in `problem`, and pause; a stop of the journal ends the
        pause."""
        self.problem = type(error).__name__
        log.warning("journal: the database accepts no writes; rows wait (%s)", error)
        if self._stopping.is_set():
            time.sleep(seconds)
        else:
            self._stopping.wait(seconds)

    def _insert(self, rows: Sequence[CleanEntry]) -> None:
        """Write rows, count what is untrimmed, and clear `problem`; raises the database's error."""
        self._untrimmed_bytes += table.insert(rows)
        self._untrimmed += len(rows)
        self.problem = None

    def _trim_table(self) -> None:
        """Delete the oldest rows beyond the limits of rows and bytes; an error is only logged."""
        if not self._untrimmed:
            return
        max_waiting_bytes = setting("MOCKLLM_JOURNAL_BYTES")
        step = max_waiting_bytes // TRIM_PART
        try:
            table.trim(setting("MOCKLLM_JOURNAL_ROWS"))
            self._untrimmed = 0
            if self._untrimmed_bytes > step:
                table.trim_bytes(max_waiting_bytes - step)
                self._untrimmed_bytes = 0
        except Error as error:
            log.warning("journal: its oldest rows could not be deleted yet (%s)", error)

    def _count_lost_rows(self, sessions: Sequence[str]) -> None:
        """Count rows that could not be written, by session, and log the error."""
        self.failed += len(sessions)
        for session in sessions:
            self.dropped_rows.add(session)
        log.exception("journal: %d of its rows could not be written", len(sessions))


journal = Journal()
