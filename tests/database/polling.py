"""A process that serves what others make of the scenarios, and tells of it."""

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
from tests.database.writer import tell

# While this file exists, SQLite interrupts readers of the table that it names.
BROKEN = Path("broken")
SEEN_SECONDS = 30.0

_looks: SimpleQueue[None] = SimpleQueue()


def serve(name: str) -> None:
    """Serve a scenario of this name; for each name that comes tell which are served, as soon as
    it is that one alone or some time is over."""
    call_command("migrate", verbosity=0)
    load(load_documents({"name": name, "steps": [{"produce": {"text": "Hi."}}]}))
    connection_created.connect(_watch)
    catalog.start()
    if connection.vendor == "sqlite":
        # After the second poll the first one is complete: the state now counts as seen.
        _looks.get(), _looks.get()
    tell(names=_names())
    while line := sys.stdin.readline():
        over = time.monotonic() + SEEN_SECONDS
        while _names() != [line.strip()] and time.monotonic() < over:
            time.sleep(0.01)
        tell(names=_names())
    catalog.stop()


def _names() -> list[str]:
    return sorted(catalog.index().by_name)


def _watch(*, connection: BaseDatabaseWrapper, **_: object) -> None:
    if connection.vendor == "sqlite" and _broken_off not in connection.execute_wrappers:
        connection.execute_wrappers.append(_broken_off)


def _broken_off(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
    if sql == "PRAGMA data_version":
        _looks.put(None)
    if not (BROKEN.exists() and f'FROM "{BROKEN.read_text()}"' in sql):
        return execute(sql, *rest)
    connection.connection.set_progress_handler(lambda: True, 1)
    try:
        return execute(sql, *rest)
    except Exception as error:
        tell(problem=str(error))
        while BROKEN.exists():
            time.sleep(0.01)
        raise
    finally:
        connection.connection.set_progress_handler(None, 1)
