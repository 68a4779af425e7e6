"""Runs our entry points as a user does: another process, another directory, a bare environment."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support import fork_server

COMMAND = Path(sys.executable).with_name("mockllm")
SHOW = """
import json, os, sys
from pathlib import PurePath
from mockllm_site.kit import env
env.configure()
from django.conf import settings
chosen = {name: getattr(settings, name) for name in dir(settings) if name.isupper()}
# What is lazy wants more of Django than its settings.
shown = lambda value: str(value) if isinstance(value, PurePath) else type(value).__name__
print(json.dumps({"settings": chosen, "environ": dict(os.environ)}, default=shown))
"""


def run(
    *arguments: str | Path, cwd: Path, variables: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """One command with nothing in its environment but PATH and what the test gives."""
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


def look(*, cwd: Path, variables: dict[str, str] | None = None) -> dict[str, Any]:
    """The settings and the environment of a process started with these variables."""
    done = run(fork_server.python(), "-P", "-c", SHOW, cwd=cwd, variables=variables)
    assert done.returncode == 0, done.stderr
    seen: dict[str, Any] = json.loads(done.stdout)
    return seen


def settings(*, cwd: Path, variables: dict[str, str] | None = None) -> dict[str, Any]:
    chosen: dict[str, Any] = look(cwd=cwd, variables=variables)["settings"]
    return chosen
