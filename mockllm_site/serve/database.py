"""Prepares a process's database, and explains in one line why it cannot be used."""

import os
from contextlib import suppress
from pathlib import Path

from django.core.management import call_command
from django.db import Error as DatabaseProblem
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor

# Connections that keep in-memory databases alive, by database name; they are never closed.
_keepers: dict[str, BaseDatabaseWrapper] = {}


def keep_in_memory_database(*, connection: BaseDatabaseWrapper, **_: object) -> None:
    """Open one more connection to an in-memory database, which ends with its last connection. A
    handler of Django's `connection_created`; skips the test runner's database."""
    name = str(connection.settings_dict["NAME"])
    if is_in_memory(connection) and "mode=memory" not in name and name not in _keepers:
        # Set before connecting, because `ensure_connection` calls this function again.
        keeper = _keepers[name] = connection.copy()
        keeper.ensure_connection()


def prepare() -> None:
    """Migrate the database; in-memory tables are created from the models, if there are none."""
    if not (is_in_memory() and connection.introspection.table_names()):
        call_command("migrate", verbosity=0, interactive=False)


def prepare_in_memory() -> bool:
    """Create the tables of an in-memory database; return True if they did not exist."""
    missing = is_in_memory() and not connection.introspection.table_names()
    if missing:
        prepare()
    return missing


def is_in_memory(wrapper: BaseDatabaseWrapper | None = None) -> bool:
    """Return True if a connection, by default Django's default one, is to an in-memory database."""
    used = wrapper or connection
    return used.vendor == "sqlite" and "vfs=memdb" in str(used.settings_dict["NAME"])


_MIGRATE_FIRST = "run `mockllm migrate` or `mockllm serve` first"
IN_MEMORY_HINT = (
    "test mode keeps its database in the memory of each process, so no command reaches a server's: "
    "load at its start (serve --fixture NAME, MOCKLLM_SCENARIOS) or through /control/"
)


def find_problem() -> str:
    """Return in one line why the database cannot be read, an empty string if it can."""
    try:
        tables = connection.introspection.table_names()
        executor = MigrationExecutor(connection)
    except DatabaseProblem as error:
        return f"{database_label()}: {_error_reason(error)}"
    if is_in_memory():
        return "" if tables else IN_MEMORY_HINT
    if not executor.migration_plan(executor.loader.graph.leaf_nodes()):
        return ""
    if not tables:
        return f"{database_label()} has no tables yet: {_MIGRATE_FIRST}"
    return f"{database_label()} is of another version: {_MIGRATE_FIRST}"


def error_line(error: Exception) -> str:
    """Return an error's text in one line, without the database password."""
    text = " ".join(str(error).split())
    password = connection.settings_dict["PASSWORD"]
    return text.replace(password, "…") if password else text


def database_label(wrapper: BaseDatabaseWrapper | None = None) -> str:
    """Return the name, host and port of a database, by default Django's default one, without user
    and password."""
    settings = (wrapper or connection).settings_dict
    if (wrapper or connection).vendor == "sqlite":
        return f"database {settings['NAME']}"
    place = ":".join(str(settings[key]) for key in ("HOST", "PORT") if settings[key])
    return f"database {settings['NAME']}" + (f" at {place}" if place else "")


def _error_reason(error: DatabaseProblem) -> str:
    """Return why a database cannot be opened; SQLite has one message for all faults of a path."""
    path = Path(str(connection.settings_dict["NAME"]))
    if connection.vendor != "sqlite":
        return error_line(error)
    with suppress(PermissionError):  # another user's directory
        if path.is_dir():
            return "is a directory, expected a file"
        if not path.parent.is_dir():
            return f"there is no directory {path.parent}"
        if path.exists() and not os.access(path, os.R_OK | os.W_OK):
            return "this process may not read and write the file"
        if not path.exists() and not os.access(path.parent, os.W_OK):
            return f"this process may not write in the directory {path.parent}"
    return error_line(error)
