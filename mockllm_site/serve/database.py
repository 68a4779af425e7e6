"""The database of a process: its tables made, and kept alive where it is in memory."""

from django.core.management import call_command
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper

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
    """Bring the tables up to date."""
    call_command("migrate", verbosity=0, interactive=False)


def prepare_in_memory() -> bool:
    """Make the tables of a database that nobody but this process can have made them in; true if
    they were not there."""
    missing = in_memory() and not connection.introspection.table_names()
    if missing:
        prepare()
    return missing


def in_memory(of: BaseDatabaseWrapper | None = None) -> bool:
    """Whether the default connection, or another one, is to a database in this process's memory."""
    chosen = of or connection
    return chosen.vendor == "sqlite" and "vfs=memdb" in str(chosen.settings_dict["NAME"])
