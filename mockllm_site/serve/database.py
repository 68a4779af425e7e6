"""Prepares a process's database, and explains in one line why it cannot be used."""

import os
from pathlib import Path

from django.core.management import call_command
from django.db import Error as DatabaseProblem
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor

# By name; nobody else closes these.
_keepers: dict[str, BaseDatabaseWrapper] = {}


def keep(*, connection: BaseDatabaseWrapper, **_: object) -> None:
    """Hold a database in memory from its first connection on: it is gone with its last one, and
    commands such as `loaddata` close theirs. Django's test runner holds its own."""
    name = str(connection.settings_dict["NAME"])
    if in_memory(connection) and "mode=memory" not in name and name not in _keepers:
        # Before it connects: that calls this again.
        keeper = _keepers[name] = connection.copy()
        keeper.ensure_connection()


def prepare() -> None:
    """Bring the tables up to date. Those in memory are as the models are, once they are there."""
    if not (in_memory() and connection.introspection.table_names()):
        call_command("migrate", verbosity=0, interactive=False)


def prepare_in_memory() -> bool:
    """Create the tables of an in-memory database; return True if they did not exist."""
    missing = in_memory() and not connection.introspection.table_names()
    if missing:
        prepare()
    return missing


def in_memory(of: BaseDatabaseWrapper | None = None) -> bool:
    """Whether the default connection, or another one, is to a database in this process's memory."""
    chosen = of or connection
    return chosen.vendor == "sqlite" and "vfs=memdb" in str(chosen.settings_dict["NAME"])


IN_MEMORY = (
    "test mode keeps its database in the memory of each process, so no command reaches a server's: "
    "load at its start (serve --fixture NAME, MOCKLLM_SCENARIOS) or through /control/"
)


def problem() -> str:
    """The reason why nothing can be read; empty where the database is as it should be."""
    try:
        there = connection.introspection.table_names()
        executor = MigrationExecutor(connection)
    except DatabaseProblem as error:
        return f"{_name()}: {_reason(error)}"
    if in_memory():
        return "" if there else IN_MEMORY
    if not executor.migration_plan(executor.loader.graph.leaf_nodes()):
        return ""
    if not there:
        return f"{_name()} has no tables yet: run `mockllm migrate` or `mockllm serve` first"
    return f"{_name()} is of another version: run `mockllm migrate` or `mockllm serve` first"


def one_line(error: Exception) -> str:
    """An error's text in one line, without the password that a driver may have quoted."""
    text = " ".join(str(error).split())
    password = connection.settings_dict["PASSWORD"]
    return text.replace(password, "…") if password else text


def _name() -> str:
    settings = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"database {settings['NAME']}"
    place = ":".join(str(settings[key]) for key in ("HOST", "PORT") if settings[key])
    return f"database {settings['NAME']}" + (f" at {place}" if place else "")


def _reason(error: DatabaseProblem) -> str:
    """Why it cannot be opened: SQLite says the same of all that may be wrong with a path."""
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
    return one_line(error)
