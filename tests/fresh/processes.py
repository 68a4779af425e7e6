"""Processes that import nothing but what they are asked to run, and a look at what they left."""

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

SECONDS = 180
SETUP = """
import json, sys
from mockllm_site.kit import env
env.configure()
import django
django.setup()
"""


def run(
    *arguments: str,
    cwd: Path,
    python: str = sys.executable,
    stdin: str = "",
    **variables: str,
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [python, "-P", *arguments],
        cwd=cwd,
        env={"PATH": os.environ["PATH"], **variables},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def mockllm(
    *arguments: str, cwd: Path, python: str = sys.executable, stdin: str = "", **variables: str
) -> subprocess.CompletedProcess[str]:
    return run("-m", "mockllm_site", *arguments, cwd=cwd, python=python, stdin=stdin, **variables)


def dev(database: Path) -> dict[str, str]:
    """The environment of dev mode with a database of its own."""
    return {"MOCKLLM_ENV": "dev", "DATABASE_URL": f"sqlite:///{database}"}


def answer_of(script: str, *, cwd: Path, **variables: str) -> Any:
    """The JSON that a script prints once Django is set up."""
    done = run("-c", SETUP + script, cwd=cwd, **variables)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def rows(database: Path, statement: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(database)
    try:
        found = connection.execute(statement).fetchall()
        connection.commit()
    finally:
        connection.close()
    return found
