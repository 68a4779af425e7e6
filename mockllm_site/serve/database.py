"""Prepares a process's database, and explains in one line why it cannot be used."""

import os
from pathlib import Path

from django.core.management import call_command
from django.db import Error as DatabaseProblem
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor

# Connections by database name; they are never closed.
_keepers: dict[str, BaseDatabaseWrapper] = {}


def keep_in_memory_database(*, connection: BaseDatabaseWrapper, **_: object) -> None:
    """Keep a connection to each in-memory database open, since it is lost with its last one. A
    handler of Django's `connection_created`; skips the test runner's database."""
    name = str(connection.settings_dict["NAME"])
    if is_in_memory(connection) and "mode=memory" not in name and name not in _keepers:
        # Set before connecting, because `ensure_connection` calls this function again.
        keeper = _keepers[name] = connection.copy()
        keeper.ensure_connection()


def prepare() -> None:
    """Migrate the database. An in-memory one is created from the models and never migrated."""
    if not (is_in_memory() and connection.introspection.table_names()):
        call_command("migrate", verbosity=0, interactive=False)


def prepare_in_memory() -> bool:
    """Create the tables of an in-memory database; return True if they did not exist."""
    missing = is_in_memory() and not connection.introspection.table_names()
    if missing:
        prepare()
    return missing


def is_in_memory(of: BaseDatabaseWrapper | None = None) -> bool:
    """Return True if a connection, by default the default one, is to an in-memory database."""
    chosen = of or connection
    return chosen.vendor == "sqlite" and "vfs=memdb" in str(chosen.settings_dict["NAME"])


_MIGRATE_FIRST = "run `mockllm migrate` or `mockllm serve` first"
IN_MEMORY = (
    "test mode keeps its database in the memory of each process, so no command reaches a server's: "
    "load at its start (serve --fixture NAME, MOCKLLM_SCENARIOS) or through /control/"
)


def problem() -> str:
    """Return why the database cannot be read, or an empty string if it can."""
    try:
        there = connection.introspection.table_names()
        executor = MigrationExecutor(connection)
    except DatabaseProblem as error:
        return f"{_db_label()}: {_error_reason(error)}"
    if is_in_memory():
        return "" if there else IN_MEMORY
    if not executor.migration_plan(executor.loader.graph.leaf_nodes()):
        return ""
    if not there:
        return f"{_db_label()} has no tables yet: {_MIGRATE_FIRST}"
    return f"{_db_label()} is of another version: {_MIGRATE_FIRST}"


def error_line(error: Exception) -> str:
    """Return an error's text in one line, without a password that the driver may have quoted."""
    text = " ".join(str(error).split())
    password = connection.settings_dict["PASSWORD"]
    return text.replace(password, "…") if password else text


def _db_label() -> str:
    """Return the database's name and place, without user and password."""
    settings = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"database {settings['NAME']}"
    place = ":".join(str(settings[key]) for key in ("HOST", "PORT") if settings[key])
    return f"database {settings['NAME']}" + (f" at {place}" if place else "")


def _error_reason(error: DatabaseProblem) -> str:
    """Return why a database cannot be opened; SQLite has one message for all faults of a path."""
    if connection.vendor == "sqlite":
        path = Path(str(connection.settings_dict["NAME"]))
        if path.is_dir():
            return "is a directory, expected a file"
        if not path.parent.is_dir():
            return f"there is no directory {path.parent}"
        if path.exists() and not os.access(path, os.R_OK | os.W_OK):
            return "may not be read and written"
        if not path.exists() and not os.access(path.parent, os.W_OK):
            return f"cannot be made, the directory {path.parent} may not be written"
    return error_line(error)
