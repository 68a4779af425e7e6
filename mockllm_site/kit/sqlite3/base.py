"""Django's SQLite backend, except that no connection creates a missing file."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.db.backends.sqlite3 import base
from django.db.utils import OperationalError

# The journal's requests may be private.
FILE_MODE = 0o600
MISSING = "there is no such file, run `mockllm migrate` or `mockllm serve` first"


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection to an existing SQLite file, or to a database in memory."""

    def get_connection_params(self) -> dict[str, Any]:
        """Return Django's parameters, with a URL that lets SQLite create no file."""
        params: dict[str, Any] = super().get_connection_params()
        file = _path(params["database"])
        return params if file is None else {**params, "database": f"{file.as_uri()}?mode=rw"}

    def get_new_connection(self, conn_params: Mapping[str, Any]) -> Any:
        """Connect; raise OperationalError with a text for users if the file is missing."""
        file = _path(self.settings_dict["NAME"])
        with suppress(PermissionError):  # another user's directory
            if file is not None and file.parent.is_dir() and not file.exists():
                raise OperationalError(MISSING)
        return super().get_new_connection(conn_params)

    def create_file(self) -> None:
        """Create the file so that only its owner may read it, unless it exists. If that fails, the
        next connection reports the reason."""
        file = _path(self.settings_dict["NAME"])
        if file is not None:
            with suppress(OSError):
                os.close(os.open(file, os.O_CREAT | os.O_WRONLY, FILE_MODE))


def _path(name: str | Path) -> Path | None:
    """Return the absolute path of a database file, or None for a database in memory."""
    in_memory = str(name).startswith(("file:", ":memory:"))
    return None if in_memory else Path(name).absolute()
