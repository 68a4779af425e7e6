"""The catalog: the compiled scenarios of this process, always those of the last commit."""

import asyncio
import logging
from collections.abc import Mapping
from threading import Lock

from django.apps import AppConfig
from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.signals import post_migrate
from django.dispatch import receiver

from mockllm_site.kit.bounded_dict import BoundedDict
from mockllm_site.kit.testcase import (
    Position,
    run_through,
    running_connection,
    scope_of,
    transaction_position,
)
from scenarios_app.catalog.files import FileWatcher
from scenarios_app.catalog.snapshot import Poller, Snapshot, can_be_shared, take_snapshot
from scenarios_app.cluster import announce_change
from scenarios_app.engine.canonical import Json
from scenarios_app.engine.document import compile_scenario, load_documents
from scenarios_app.engine.matching.index import Index, overlay
from scenarios_app.engine.scenario import Scenario as Compiled
from scenarios_app.models import catalog_changed
from scenarios_app.store import RowProblem, limits

log = logging.getLogger(__name__)

MAX_SESSION_INDEXES = 1_000


class Catalog:
    """The compiled scenarios of this process. A request reads one attribute; the commit of a change
    replaces it. While a Django test case has uncommitted changes, the attribute is None: `index`
    then compiles through the test's own connection, until its transaction ends."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._current: Snapshot | None = None
        self._committed: Snapshot | None = None
        # The snapshot inside a test's transaction, at one position of it.
        self._in_test: tuple[Position, Snapshot] | None = None
        # The previous snapshot, whose unchanged parts the next one shares.
        self._last: Snapshot | None = None
        self._sessions = BoundedDict[int, tuple[Snapshot, Index]](MAX_SESSION_INDEXES)
        self._poller: Poller | None = None
        self.files: FileWatcher | None = None
        self._caught_up = 0
        self._catching_up = Lock()

    def index(self) -> Index:
        """Return the index of the enabled scenarios."""
        current = self._current
        return current.index if current is not None else self.snapshot().index

    def index_for(self, documents: Mapping[str, Json], version: int) -> Index:
        """Return the index with a session's own scenarios, which hide common ones of the same
        names. `version` identifies these documents; the index is cached by it."""
        if not documents:
            return self.index()
        snapshot = self.snapshot()
        cached = self._sessions.get(version)
        if cached is not None and cached[0] is snapshot:
            return cached[1]
        index = overlay(snapshot.index, map(_compile_document, documents.values()))
        with self._lock:
            self._sessions[version] = (snapshot, index)
        return index

    @property
    def problems(self) -> tuple[RowProblem, ...]:
        """Return why enabled scenarios are left out."""
        return self.snapshot().problems

    @property
    def file_problems(self) -> tuple[str, ...]:
        """Return the problems of watched scenario files, whose last valid version is served."""
        return self.files.problems if self.files else ()

    @property
    def database_problem(self) -> str | None:
        """Return why the last poll for other processes' changes failed, or None."""
        return self._poller.problem if self._poller else None

    def snapshot(self) -> Snapshot:
        """Return the snapshot that requests use now."""
        return self._current or self._current_snapshot()

    def start(self) -> None:
        """Compile the committed scenarios, and watch for changes by other processes and of files.
        May be called again, and from an event loop, which it blocks as long as it compiles."""
        run_through(None, self.reload)
        if self._poller is None and can_be_shared():
            self._poller = Poller(lambda: self.snapshot().number, self.reload)
            self._poller.start()
        if self.files is not None:
            self.files.start()

    def stop(self) -> None:
        """Stop polling and watching."""
        files, self.files = self.files, None
        if files is not None:
            files.stop()
        poller, self._poller = self._poller, None
        if poller is not None:
            poller.stop()

    def reload(self) -> None:
        """Compile and use the committed scenarios, except inside a test's transaction. If the
        database fails, keep the last ones; raise DatabaseError if there are none."""
        with self._lock:
            if running_connection():
                # A test's transaction may lock the database, and is checked at each use anyway.
                return
            try:
                snapshot = self._take_snapshot()
            except DatabaseError:
                # The poller retries; until then the last snapshot stays in use.
                log.exception("catalog: could not be read")
                if self._committed is None:
                    raise
                return
            self._last = self._committed = self._current = snapshot

    def reload_on_commit(self, using: str = DEFAULT_DB_ALIAS) -> None:
        """Reload once this thread's transaction is committed, and tell the other processes. In a
        test case, drop the snapshot instead. Does nothing for databases other than the default
        one."""
        if using != DEFAULT_DB_ALIAS:
            return
        connection = connections[using]
        if scope_of(connection):
            self._current = self._in_test = None
        elif all(self.reload not in waiting for waiting in connection.run_on_commit):
            transaction.on_commit(self.reload, using=using)
            transaction.on_commit(announce_change, using=using)

    async def catch_up(self, changes: int) -> None:
        """Reload if the change that another process announced under this number is new."""
        if changes != self._caught_up:
            await asyncio.to_thread(self._catch_up, changes)

    def _catch_up(self, changes: int) -> None:
        """Reload, waiting for a reload under way, unless the change of this number is loaded by
        then."""
        with self._catching_up:
            if changes != self._caught_up:
                run_through(None, self.reload)
                # Also if the database failed, because the poller retries.
                self._caught_up = changes

    def forget(self) -> None:
        """Drop the loaded scenarios; the next use reads them from the database again."""
        self._current = self._committed = None

    def _current_snapshot(self) -> Snapshot:
        """Return the snapshot of a test's open transaction, else of the committed scenarios, which
        are read if none are loaded."""
        with self._lock:
            connection = running_connection()
            if connection is not None:
                return self._look_in_test(connection)
            self._in_test = None
            if self._committed is None:
                self._last = self._committed = run_through(None, self._take_snapshot)
            self._current = self._committed
            return self._committed

    def _take_snapshot(self) -> Snapshot:
        """Return a new snapshot that reuses unchanged rows of the last one, without storing it."""
        return take_snapshot(self._last)

    def _look_in_test(self, connection: BaseDatabaseWrapper) -> Snapshot:
        """Return the scenarios that a test's open transaction sees, read again after its writes."""
        seen, here = self._in_test, transaction_position(connection)
        if seen is None or seen[0] != here:
            self._last = run_through(connection, self._take_snapshot)
            seen = self._in_test = here, self._last
        return seen[1]


def _compile_document(document: Json) -> Compiled:
    """Compile a session's own scenario, without steps if it is disabled. Raises DocumentError."""
    (scenario,) = load_documents(document, limits=limits())
    # A disabled private scenario hides the common one of its name, and never answers.
    return compile_scenario(scenario) if scenario.enabled else Compiled(scenario.name)


catalog = Catalog()


@receiver(catalog_changed)
def _on_catalog_changed(*, using: str, **_: object) -> None:
    catalog.reload_on_commit(using)


@receiver(post_migrate)
def _on_post_migrate(*, sender: AppConfig, **_: object) -> None:
    """Drop the loaded scenarios after a migration of this app."""
    if sender.name == "scenarios_app":
        catalog.forget()
