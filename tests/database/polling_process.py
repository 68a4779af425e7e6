"""A process that serves scenarios which others change, and reports their names."""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from django.core.management import call_command
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

from scenarios_app.catalog import catalog
from scenarios_app.engine.document import load_documents
from scenarios_app.store.documents import load
from tests.database.writer_process import tell

# While this file exists, SQLite interrupts readers of the table that it names.
BROKEN_MARKER = Path("broken")
WAIT_SECONDS = 30.0

_polls: SimpleQueue[None] = SimpleQueue()


def serve(name: str) -> None:
    """Serve a scenario of this name.

    For each line read, report the served names once they are that name alone or time is up.
    """
    call_command("migrate", verbosity=0)
    load(load_documents({"name": name, "steps": [{"produce": {"text": "Hi."}}]}))
    connection_created.connect(_wrap_statements)
    catalog.start()
    if connection.vendor == "sqlite":
        # After the second poll the first one is complete: the state now counts as seen.
        _polls.get(), _polls.get()
    tell(names=_catalog_names())
    while line := sys.stdin.readline():
        deadline = time.monotonic() + WAIT_SECONDS
        while _catalog_names() != [line.strip()] and time.monotonic() < deadline:
            time.sleep(0.01)
        tell(names=_catalog_names())
    catalog.stop()


def _catalog_names() -> list[str]:
    return sorted(catalog.index().by_name)


def _wrap_statements(*, connection: BaseDatabaseWrapper, **_: object) -> None:
    if connection.vendor == "sqlite" and _interrupt_reads not in connection.execute_wrappers:
        connection.execute_wrappers.append(_interrupt_reads)


def _interrupt_reads(execute: Callable[..., Any], sql: str, *arguments: Any) -> Any:
    if sql == "PRAGMA data_version":
        _polls.put(None)
    if not (BROKEN_MARKER.exists() and f'FROM "{BROKEN_MARKER.read_text()}"' in sql):
        return execute(sql, *arguments)
    connection.connection.set_progress_handler(lambda: True, 1)
    try:
        return execute(sql, *arguments)
    except Exception as error:
        tell(problem=str(error))
        while BROKEN_MARKER.exists():
            time.sleep(0.01)
        raise
    finally:
        connection.connection.set_progress_handler(None, 1)
