"""Makes flushing the test database faster. After each test that commits, Django empties every table
and creates content types, permissions and roles again. Here their rows are restored from memory,
and PostgreSQL deletes rows instead of truncating tables, which recreates their files."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.apps import apps
from django.core.management.commands import flush
from django.db import connections, transaction
from django.db.backends.postgresql.operations import DatabaseOperations
from django.db.models import Model

from scenarios_app.catalog import catalog

Emit = Callable[..., None]


class RowRestorer:
    """Replaces the signal `post_migrate` after a flush: restores the rows that it once created."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._rows: Mapping[str, list[tuple[Any, ...]]] = {}

    def __call__(self, verbosity: int, interactive: bool, db: str, **options: Any) -> None:
        if not self._rows:
            self._emit(verbosity, interactive, db, **options)
            self._rows = rows_of(db)
            return
        insert(db, self._rows)
        catalog.forget()


def install() -> None:
    flush.emit_post_migrate_signal = RowRestorer(flush.emit_post_migrate_signal)
    DatabaseOperations.sql_flush = delete_statements


def delete_statements(
    operations: DatabaseOperations, style: object, tables: Sequence[str], **_: object
) -> list[str]:
    """Return the statements that empty these tables; the transaction checks references at its
    end."""
    return [f'DELETE FROM "{table}"' for table in tables]


def rows_of(db: str) -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows of every table that is not empty."""
    rows_by_table = {}
    with connections[db].cursor() as cursor:
        for table in tables():
            cursor.execute(f'SELECT * FROM "{table}"')
            if rows := cursor.fetchall():
                rows_by_table[table] = rows
    return rows_by_table


def insert(db: str, rows_by_table: Mapping[str, list[tuple[Any, ...]]]) -> None:
    # Foreign keys are checked at the end of the transaction, so the order of tables is free.
    with transaction.atomic(using=db), connections[db].cursor() as cursor:
        for table, rows in rows_by_table.items():
            placeholders = ", ".join(["%s"] * len(rows[0]))
            cursor.executemany(f'INSERT INTO "{table}" VALUES ({placeholders})', rows)


def tables() -> list[str]:
    models: list[type[Model]] = apps.get_models(include_auto_created=True)
    return [model._meta.db_table for model in models]
