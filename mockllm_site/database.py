"""The database at the start of a process: its tables made, and kept alive where it is in memory."""

from django.core.management import call_command
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper

# A database in memory is gone with its last connection; nobody else closes these.
_keepers: list[BaseDatabaseWrapper] = []


def prepare() -> None:
    """Bring the tables up to date."""
    if in_memory() and not _keepers:
        keeper = connection.copy()
        keeper.ensure_connection()
        _keepers.append(keeper)
    call_command("migrate", verbosity=0, interactive=False)


def prepare_in_memory() -> bool:
    """Make the tables of a database that nobody but this process can have made them in; true if
    they were not there."""
    missing = in_memory() and not connection.introspection.table_names()
    if missing:
        prepare()
    return missing


def in_memory() -> bool:
    return connection.vendor == "sqlite" and "vfs=memdb" in str(connection.settings_dict["NAME"])
