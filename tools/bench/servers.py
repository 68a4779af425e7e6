"""Runs the servers under comparison as child processes."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SERVE = ("-m", "mockllm_site", "serve", "--port", "0", "--no-catch-all")


@dataclass(frozen=True)
class Running:
    """A running server."""

    pid: int
    port: int


@contextmanager
def running(*arguments: str, variables: dict[str, str] | None = None) -> Iterator[Running]:
    """Run a Python process; yield it after its ready line. Raises RuntimeError without one."""
    process = subprocess.Popen(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, **(variables or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        if " ready on " not in line:
            raise RuntimeError(f"{' '.join(arguments)} did not start: {line}")
        yield Running(process.pid, int(line.rpartition(":")[2]))
    finally:
        process.terminate()
        process.wait(20)
        process.stdout.close()
