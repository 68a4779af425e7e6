"""A process on a SQLite file that is full or locked: it reports each failing statement.

It continues when it reads a line.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from django.core.management import call_command
from django.db import OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

from tests.database.scenario_operations import record
from tests.database.writer_process import tell

FULL_MARKER = Path("full")


def serve(*, rows: int) -> None:
    """Let the journal write rows with bodies of 450 KB when compressed."""
    call_command("migrate", verbosity=0)
    connection_created.connect(_limit_pages)
    tell(ready=True)
    sys.stdin.readline()
    tell(
        **record(
            [f"/{number}" for number in range(rows)],
            body=Random(1).randbytes(450_000).hex().encode(),
        )
    )


def _limit_pages(*, connection: BaseDatabaseWrapper, **_: object) -> None:
    with connection.cursor() as cursor:
        # A locked database is an error without a wait.
        cursor.execute("PRAGMA busy_timeout = 0")
        if FULL_MARKER.exists():
            cursor.execute("PRAGMA page_count")
            (pages,) = cursor.fetchone()
            cursor.execute(f"PRAGMA max_page_count = {pages}")
    if _report_error not in connection.execute_wrappers:
        connection.execute_wrappers.append(_report_error)


def _report_error(execute: Callable[..., Any], *statement: Any) -> Any:
    try:
        return execute(*statement)
    except OperationalError as error:
        tell(problem=str(error))
        sys.stdin.readline()
        raise
