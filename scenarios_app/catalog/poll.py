"""Notices what another process changed in the catalog, within a second and at next to no cost."""

import logging
from collections.abc import Callable
from threading import Event, Thread

from django.db import connection

from scenarios_app.catalog.snapshot import catalog_number

log = logging.getLogger(__name__)

SECONDS = 0.25


class Poller:
    """A thread that compares the catalog's number in the database with the one that is `shown`,
    and calls `reload` until they are the same."""

    def __init__(self, shown: Callable[[], int | None], reload: Callable[[], None]) -> None:
        self._shown = shown
        self._reload = reload
        self._stopping = Event()
        self._thread = Thread(target=self._run, name="mockllm-catalog", daemon=True)
        self._file: int | None = None

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread; it has no connection any more when this returns."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        works = True
        while not self._stopping.wait(SECONDS):
            try:
                self._look()
                works = True
            except Exception:
                if works:
                    log.exception("catalog: other processes' changes cannot be seen")
                works = False
                connection.close()
                # Each connection counts from the beginning: its number may be the one seen last.
                self._file = None
        connection.close()

    def _look(self) -> None:
        file = _data_version()
        if file is not None and file == self._file:
            return
        number = catalog_number()
        if number != self._shown():
            self._reload()
        if number == self._shown():
            self._file = file


def can_be_shared() -> bool:
    """Whether another process can reach the database at all."""
    name = str(connection.settings_dict["NAME"])
    return connection.vendor != "sqlite" or not ("memory" in name or "vfs=memdb" in name)


def _data_version() -> int | None:
    """A number that SQLite changes for this connection when another one commits, without I/O of
    ours; other databases have none."""
    if connection.vendor != "sqlite":
        return None
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA data_version")
        (version,) = cursor.fetchone()
    return int(version)
