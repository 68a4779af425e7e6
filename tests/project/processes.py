"""Runs the entry points as a user does: in a new process, with a bare environment."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support import fork_server

COMMAND = Path(sys.executable).with_name("mockllm")
REPORT_CODE = """
import json, os, sys
from pathlib import PurePath
from mockllm_site.kit import env
env.configure()
from django.conf import settings
chosen = {name: getattr(settings, name) for name in dir(settings) if name.isupper()}
# Lazy values need more of Django than its settings.
encode = lambda value: str(value) if isinstance(value, PurePath | str) else type(value).__name__
print(json.dumps({"settings": chosen, "environ": dict(os.environ)}, default=encode))
"""


def run(
    *arguments: str | Path, cwd: Path, variables: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command with only PATH and the test's variables in its environment."""
    return subprocess.run(
        arguments,
        cwd=cwd,
        env={"PATH": os.environ["PATH"], **(variables or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )


def python(
    *arguments: str, cwd: Path, variables: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return run(sys.executable, *arguments, cwd=cwd, variables=variables)


def inspect_process(*, cwd: Path, variables: dict[str, str] | None = None) -> dict[str, Any]:
    """Return the settings and the environment of a process started with these variables."""
    process = run(fork_server.python(), "-P", "-c", REPORT_CODE, cwd=cwd, variables=variables)
    assert process.returncode == 0, process.stderr
    report: dict[str, Any] = json.loads(process.stdout)
    return report


def settings(*, cwd: Path, variables: dict[str, str] | None = None) -> dict[str, Any]:
    chosen: dict[str, Any] = inspect_process(cwd=cwd, variables=variables)["settings"]
    return chosen
