"""Other processes on a shared database: a SQLite file, or a new PostgreSQL database."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from tests.support import fork_server, migrated_database
from tests.support.database_engine import POSTGRES
from tests.support.required_services import require

ROOT = Path(__file__).resolve().parents[2]
SETUP = """
import sys, time
from mockllm_site.kit import env
env.configure()
import django
django.setup()
from django.core.management import call_command
"""


def environment(database: str) -> dict[str, str]:
    return {**os.environ, "MOCKLLM_ENV": "dev", "DATABASE_URL": database, "PYTHONPATH": str(ROOT)}


def script_command(database: str, script: str) -> tuple[list[str], dict[str, str]]:
    """Return the arguments and environment that run `script` after Django is set up."""
    variables = environment(database)
    variables.pop("DJANGO_SETTINGS_MODULE", None)
    return [fork_server.python(), "-P", "-c", SETUP + script], variables


def run_script(database: str, script: str, *, folder: Path) -> str:
    """Run a script to its end in another process, and return its output."""
    arguments, variables = script_command(database, script)
    completed = subprocess.run(
        arguments,
        env=variables,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert completed.returncode == 0, completed.stderr
    return completed.stdout


@contextmanager
def start_script(database: str, script: str, *, folder: Path) -> Iterator["subprocess.Popen[str]"]:
    """Run a script in another process with pipes for its input and output."""
    arguments, variables = script_command(database, script)
    process = subprocess.Popen(
        arguments,
        env=variables,
        cwd=folder,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def postgres_database(*, empty: bool = False) -> Iterator[str]:
    """Return the URL of a new database on the local PostgreSQL, without rows.

    Unless it is to be empty, it has all tables.
    """
    try:
        import psycopg

        server = psycopg.connect(POSTGRES, autocommit=True, connect_timeout=3)
    except Exception as error:
        require(False, f"PostgreSQL cannot be used at {POSTGRES}: {error}")
        raise
    name = f"mockllm_{uuid4().hex[:12]}"
    with server:
        template = "template1" if empty else migrated_database.template()
        server.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        try:
            yield POSTGRES.rpartition("/")[0] + f"/{name}"
        finally:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")
