"""Databases that are migrated already. Tests of migrations do not use them."""

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
    """Create a SQLite file with all tables and no rows."""
    shutil.copyfile(_file(), path)


@cache
def template() -> str:
    """Return the name of a migrated PostgreSQL database without connections, to be copied."""
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
