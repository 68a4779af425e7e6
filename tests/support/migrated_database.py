"""Databases whose tables are there already. How migrations make them is shown by the tests of
migrations, and by those that start as a user does."""

import atexit
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from uuid import uuid4

import psycopg

from tests.support import fork_server
from tests.support.database_engine import POSTGRES


def copy_to(path: Path) -> None:
    """Make a SQLite file with tables in which nothing is yet."""
    shutil.copyfile(_file(), path)


@cache
def template() -> str:
    """The name of a PostgreSQL database to copy, which nobody is connected to."""
    name = f"mockllm_{uuid4().hex[:12]}"
    _on_server(f"CREATE DATABASE {name}")
    atexit.register(_on_server, f"DROP DATABASE {name} WITH (FORCE)")
    with tempfile.TemporaryDirectory() as folder:
        _migrate(f"{POSTGRES.rpartition('/')[0]}/{name}", folder)
    return name


@cache
def _file() -> Path:
    folder = tempfile.mkdtemp(prefix="mockllm-migrated-")
    atexit.register(shutil.rmtree, folder)
    path = Path(folder, "mockllm.sqlite3")
    _migrate(f"sqlite:///{path}", folder)
    return path


def _migrate(database: str, folder: str) -> None:
    subprocess.run(
        [fork_server.python(), "-P", "-m", "mockllm_site", "migrate", "--verbosity", "0"],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "MOCKLLM_ENV": "dev", "DATABASE_URL": database},
        check=True,
    )


def _on_server(command: str) -> None:
    with psycopg.connect(POSTGRES, autocommit=True, connect_timeout=3) as server:
        server.execute(command)
