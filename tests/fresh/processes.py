"""Runs commands and scripts in new processes, and reads the databases they leave."""

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


def dev_environment(database: Path) -> dict[str, str]:
    """Return the environment of dev mode with a SQLite database."""
    return {"MOCKLLM_ENV": "dev", "DATABASE_URL": f"sqlite:///{database}"}


def run_script(script: str, *, cwd: Path, **variables: str) -> Any:
    """Run a script after `django.setup()`, and return the JSON that it prints."""
    process = run("-c", SETUP + script, cwd=cwd, **variables)
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


def rows(database: Path, statement: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(database)
    try:
        result_rows = connection.execute(statement).fetchall()
        connection.commit()
    finally:
        connection.close()
    return result_rows
