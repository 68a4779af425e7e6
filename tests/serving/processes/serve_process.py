"""`serve` as a user runs it: a process in a directory of its own, with a bare environment."""

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
class Serving:
    """A server that has said it is ready."""

    process: "subprocess.Popen[str]"
    ready_line: str
    # The standard error that was read before the end.
    said: str = ""

    @property
    def port(self) -> int:
        return int(self.ready_line.rpartition(":")[2])

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def children(self) -> set[int]:
        """The processes that it has started and not reaped."""
        found: set[int] = set()
        for task in Path(f"/proc/{self.process.pid}/task").iterdir():
            # A thread can end between listing the folder and reading it.
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                found |= {int(pid) for pid in (task / "children").read_text().split()}
        return found

    def logged(self, text: str) -> str:
        """What it has said on standard error, once this text is in it."""
        assert self.process.stderr is not None
        while text not in self.said:
            # Read without the file's buffer, whose content `wait` would lose.
            piece = os.read(self.process.stderr.fileno(), 65_536)
            assert piece, self.said
            self.said += piece.decode("utf-8", "replace")
        return self.said

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str, str]:
        """Exit code, and what else came on standard output and error."""
        self.process.send_signal(number)
        return self.wait()

    def wait(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=END_SECONDS)
        return self.process.returncode, out, self.said + err


def start(
    directory: Path,
    *arguments: str,
    warm: bool = False,
    descriptors: int | None = None,
    **variables: str,
) -> "subprocess.Popen[str]":
    """Begin to serve; in test mode unless the variables say otherwise. `warm`: forked from a
    process that has imported already, for tests that are not about the start. `descriptors` are all
    that it may have."""

    def limit() -> None:
        assert descriptors is not None
        resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))

    python = fork_server.python() if warm else sys.executable
    return subprocess.Popen(
        [python, "-P", "-m", "mockllm_site", "serve", "--no-catch-all", *arguments],
        cwd=directory,
        env={"PATH": os.environ["PATH"], "MOCKLLM_ENV": "test", **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=None if descriptors is None else limit,
    )


@contextmanager
def serving(
    directory: Path,
    *arguments: str,
    warm: bool = False,
    descriptors: int | None = None,
    **variables: str,
) -> Iterator[Serving]:
    """A server on a free port; ended by force if the test has not ended it. A warm one finds the
    tables of its own database made."""
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
        yield Serving(process, line)
    finally:
        timer.cancel()
        if process.poll() is None:
            process.kill()
        process.communicate()


def failing(
    directory: Path, *arguments: str, warm: bool = False, **variables: str
) -> tuple[int, str, str]:
    """Exit code, standard output and error of a start that is not to succeed."""
    process = start(directory, *arguments, warm=warm, **variables)
    try:
        out, err = process.communicate(timeout=READY_SECONDS)
    finally:
        process.kill()
    return process.returncode, out, err


def written(directory: Path, *documents: Mapping[str, Any]) -> str:
    """The path of a file with these scenarios."""
    path = directory / "scenarios.json"
    path.write_text(json.dumps({"scenarios": list(documents)}))
    return str(path)
