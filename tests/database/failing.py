"""A process on a SQLite file that is full or locked for a while: it tells of a statement that
fails, and goes on when it hears that it may."""

import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from django.core.management import call_command
from django.db import OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

from tests.database.doing_scenarios import record
from tests.database.writer import tell

FULL = Path("full")


def serve(*, rows: int) -> None:
    """Let the journal write rows whose body is 450 KB when it is compressed."""
    call_command("migrate", verbosity=0)
    connection_created.connect(_limit)
    tell(ready=True)
    sys.stdin.readline()
    tell(
        **record(
            [f"/{number}" for number in range(rows)],
            body=Random(1).randbytes(450_000).hex().encode(),
        )
    )


def _limit(*, connection: BaseDatabaseWrapper, **_: object) -> None:
    with connection.cursor() as cursor:
        # A locked database is an error at once.
        cursor.execute("PRAGMA busy_timeout = 0")
        if FULL.exists():
            cursor.execute("PRAGMA page_count")
            (pages,) = cursor.fetchone()
            cursor.execute(f"PRAGMA max_page_count = {pages}")
    if _told_of not in connection.execute_wrappers:
        connection.execute_wrappers.append(_told_of)


def _told_of(execute: Callable[..., Any], *statement: Any) -> Any:
    try:
        return execute(*statement)
    except OperationalError as error:
        tell(problem=str(error))
        sys.stdin.readline()
        raise
