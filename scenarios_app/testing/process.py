"""A server as a child process: on a free port, in test mode, gone when its parent is."""

import json
import os
import subprocess
import sys
import threading
import warnings
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from scenarios_app.testing.control import ServerFailed

READY = "mockllm ready on "
SAYS = "mockllm: "
START_SECONDS = 60.0
STOP_SECONDS = 15.0
# What this process's environment must not decide for the server.
NOT_INHERITED = {
    "ALLOWED_HOSTS",
    "DATABASE_URL",
    "DEBUG",
    "DJANGO_SETTINGS_MODULE",
    "REDIS_URL",
    "SECRET_KEY",
}


@dataclass(frozen=True, slots=True)
class Start:
    """How a server is started: with which scenario documents, fixtures (`serve --fixture`) and
    settings (environment variables), and how many seconds that may take."""

    documents: Sequence[Mapping[str, Any]] = ()
    fixtures: Sequence[str] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    catch_all: bool = False
    timeout: float = START_SECONDS


@contextmanager
def server_process(start: Start) -> Iterator[tuple[str, int]]:
    """The base URL and the process id of a server. Raises ServerFailed if it does not start; what
    it says of its settings while it does is a warning."""
    with TemporaryDirectory(prefix="mockllm-") as directory:
        process, base_url = _start(Path(directory), start)
        finalizer = weakref.finalize(process, _stop, process)
        try:
            yield base_url, process.pid
        finally:
            finalizer()


def _start(directory: Path, start: Start) -> tuple["subprocess.Popen[str]", str]:
    # `-P`: a folder of the user's that is called as one of ours is not imported in its place.
    command = [sys.executable, "-P", "-m", "mockllm_site", "serve", "--port", "0"]
    command += ["--parent", str(os.getpid())]
    for fixture in start.fixtures:
        command += ["--fixture", str(Path(fixture).absolute()) if _is_file(fixture) else fixture]
    if not start.catch_all:
        command.append("--no-catch-all")
    settings = start.settings
    if start.documents:
        file = directory / "scenarios.json"
        file.write_text(json.dumps({"scenarios": list(start.documents)}), encoding="utf-8")
        settings = {"MOCKLLM_SCENARIOS": str(file), **settings}
    with open(directory / "stderr", "w+", encoding="utf-8") as log:
        process = subprocess.Popen(
            command,
            # An empty directory: neither its `.env` nor its packages are the user's.
            cwd=directory,
            env=_environment(settings),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            # Ctrl-C is its parent's alone, which asks for the verdict before it ends the server.
            start_new_session=True,
        )
        try:
            line = _first_line(process, start.timeout)
        except BaseException:
            _stop(process)
            raise
        if not line.startswith(READY):
            _stop(process)
            log.seek(0)
            raise ServerFailed(_reason(log.read(), start.timeout))
    for said in (directory / "stderr").read_text(encoding="utf-8").splitlines():
        if said.startswith(SAYS):
            warnings.warn(said.removeprefix(SAYS), stacklevel=2)
    return process, line.removeprefix(READY).strip()


def _is_file(fixture: str) -> bool:
    return Path(fixture).suffix == ".json" and Path(fixture).is_file()


def _environment(settings: Mapping[str, str]) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in NOT_INHERITED and not name.startswith("MOCKLLM_")
    }
    return {**kept, "MOCKLLM_ENV": "test", "MOCKLLM_DRAIN_SECONDS": "1", **settings}


def _first_line(process: "subprocess.Popen[str]", timeout: float) -> str:
    assert process.stdout is not None
    # Killing it ends its output, and with it the wait for a line.
    timer = threading.Timer(timeout, process.kill)
    timer.start()
    try:
        return process.stdout.readline()
    finally:
        timer.cancel()


def _stop(process: "subprocess.Popen[str]") -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _reason(log: str, timeout: float) -> str:
    lines = [line for line in log.splitlines() if line.strip()]
    return (
        lines[-1].removeprefix(SAYS) if lines else f"the server was not ready after {timeout:g} s"
    )
