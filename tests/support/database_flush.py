"""A quick end of tests that commit: after each of them Django empties every table and makes content
types, permissions and roles anew. Here their rows are put back as they were the first time, and
PostgreSQL deletes the few rows that there are instead of making the files of all tables anew."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.apps import apps
from django.core.management.commands import flush
from django.db import connections, transaction
from django.db.backends.postgresql.operations import DatabaseOperations
from django.db.models import Model

from scenarios_app.catalog import catalog

# That signal's part of `flush` took as long as the rest of a short test.
Emit = Callable[..., None]


class PutBack:
    """Stands in for the signal `post_migrate` after a flush."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._made: Mapping[str, list[tuple[Any, ...]]] = {}

    def __call__(self, verbosity: int, interactive: bool, db: str, **options: Any) -> None:
        if not self._made:
            self._emit(verbosity, interactive, db, **options)
            self._made = rows_of(db)
            return
        insert(db, self._made)
        catalog.forget()


def install() -> None:
    flush.emit_post_migrate_signal = PutBack(flush.emit_post_migrate_signal)  # type: ignore[attr-defined]
    DatabaseOperations.sql_flush = deleted  # type: ignore[assignment]


def deleted(
    operations: DatabaseOperations, style: object, tables: Sequence[str], **_: object
) -> list[str]:
    """What empties these tables, in a transaction that looks at what refers to them at its end."""
    return [f'DELETE FROM "{table}"' for table in tables]


def rows_of(db: str) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of every table that has any."""
    found = {}
    with connections[db].cursor() as cursor:
        for table in tables():
            cursor.execute(f'SELECT * FROM "{table}"')
            if rows := cursor.fetchall():
                found[table] = rows
    return found


def insert(db: str, made: Mapping[str, list[tuple[Any, ...]]]) -> None:
    # What rows refer to may come after them: it is looked at when the transaction ends.
    with transaction.atomic(using=db), connections[db].cursor() as cursor:
        for table, rows in made.items():
            places = ", ".join(["%s"] * len(rows[0]))
            cursor.executemany(f'INSERT INTO "{table}" VALUES ({places})', rows)


def tables() -> list[str]:
    models: list[type[Model]] = apps.get_models(include_auto_created=True)
    return [model._meta.db_table for model in models]
