"""Other processes on a database that processes can share: a file, or one made on PostgreSQL."""

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


def command(database: str, script: str) -> tuple[list[str], dict[str, str]]:
    """What starts a process that runs `script` after Django is set up."""
    variables = environment(database)
    variables.pop("DJANGO_SETTINGS_MODULE", None)
    return [fork_server.python(), "-P", "-c", SETUP + script], variables


def run(database: str, script: str, *, folder: Path) -> str:
    """Run a script to its end in a process of its own; what it printed."""
    line, variables = command(database, script)
    done = subprocess.run(
        line, env=variables, cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextmanager
def running(database: str, script: str, *, folder: Path) -> Iterator["subprocess.Popen[str]"]:
    """A process that runs a script and is spoken to over its pipes."""
    line, variables = command(database, script)
    process = subprocess.Popen(
        line,
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
    """The address of a new database on the machine's PostgreSQL: with tables unless it is to be
    empty, and nothing in them."""
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
