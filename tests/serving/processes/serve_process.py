"""Runs `serve` as a user does: in a separate directory and with a minimal environment."""

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support import fork_server, migrated_database

READY_SECONDS = 90.0
END_SECONDS = 60.0


@dataclass
class ServerProcess:
    """A server process that has printed its ready line."""

    process: "subprocess.Popen[str]"
    ready_line: str
    # The standard error that was read before the end.
    stderr_text: str = ""

    @property
    def port(self) -> int:
        return int(self.ready_line.rpartition(":")[2])

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def children(self) -> set[int]:
        """Return the ids of the child processes that are not reaped."""
        child_pids: set[int] = set()
        for task in Path(f"/proc/{self.process.pid}/task").iterdir():
            # A thread can end between listing the folder and reading it.
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                child_pids |= {int(pid) for pid in (task / "children").read_text().split()}
        return child_pids

    def wait_for_log(self, text: str) -> str:
        """Wait until standard error contains a text; return all of it."""
        assert self.process.stderr is not None
        while text not in self.stderr_text:
            # Read without the file's buffer, whose content `wait` would lose.
            piece = os.read(self.process.stderr.fileno(), 65_536)
            assert piece, self.stderr_text
            self.stderr_text += piece.decode("utf-8", "replace")
        return self.stderr_text

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str, str]:
        """Send a signal; return the exit code and the rest of standard output and error."""
        self.process.send_signal(number)
        return self.wait()

    def wait(self) -> tuple[int, str, str]:
        """Return the exit code and the rest of standard output and error."""
        out, err = self.process.communicate(timeout=END_SECONDS)
        return self.process.returncode, out, self.stderr_text + err


def start(
    directory: Path,
    *arguments: str,
    warm: bool = False,
    descriptors: int | None = None,
    **variables: str,
) -> "subprocess.Popen[str]":
    """Start `serve`, in test mode unless a variable selects another.

    `warm` forks it from a process with loaded modules, for tests that are not about the start.
    `descriptors` limits its open files.
    """

    def limit() -> None:
        assert descriptors is not None
        resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))

    python = fork_server.python() if warm else sys.executable
    return subprocess.Popen(
        [python, "-P", "-m", "mockllm_site", "serve", "--no-catch-all", *arguments],
        cwd=directory,
        env={**inherited_variables(), "MOCKLLM_ENV": "test", **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=None if descriptors is None else limit,
    )


@contextmanager
def run_server(
    directory: Path,
    *arguments: str,
    warm: bool = False,
    descriptors: int | None = None,
    **variables: str,
) -> Iterator[ServerProcess]:
    """Run a server on a free port and kill it at the end if it still runs.

    A warm one gets a migrated database.
    """
    own = directory / "mockllm.sqlite3"
    dev = variables.get("MOCKLLM_ENV") == "dev" and "DATABASE_URL" not in variables
    if warm and dev and not own.exists():
        migrated_database.copy_to(own)
    process = start(
        directory, "--port", "0", *arguments, warm=warm, descriptors=descriptors, **variables
    )
    assert process.stdout is not None
    # Killing the process closes its output, which ends the wait for a line.
    timer = threading.Timer(READY_SECONDS, process.kill)
    timer.start()
    try:
        line = process.stdout.readline()
        timer.cancel()
        if not line:
            raise AssertionError(process.communicate()[1])
        yield ServerProcess(process, line)
    finally:
        timer.cancel()
        if process.poll() is None:
            process.kill()
        process.communicate()


def run_failing_start(
    directory: Path, *arguments: str, warm: bool = False, **variables: str
) -> tuple[int, str, str]:
    """Return exit code, standard output and error of a start that must fail."""
    process = start(directory, *arguments, warm=warm, **variables)
    try:
        out, err = process.communicate(timeout=READY_SECONDS)
    finally:
        process.kill()
    return process.returncode, out, err


def write_scenarios(directory: Path, *documents: Mapping[str, Any]) -> str:
    """Write scenarios to a file and return its path."""
    path = directory / "scenarios.json"
    path.write_text(json.dumps({"scenarios": list(documents)}))
    return str(path)


def inherited_variables() -> dict[str, str]:
    """Return the variables of these tests that servers get: one takes the layer for speed off."""
    return {name: os.environ[name] for name in ("PATH", "MOCKLLM_FAST") if name in os.environ}
