"""A second process of this project that talks to the test in lines of JSON."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.state.other_process import script_command


class Process:
    """A child process with line-based input and output."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process

    def read_line(self) -> dict[str, Any]:
        """Return the next line of its output."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the process has ended"
        message: dict[str, Any] = json.loads(line)
        return message

    def read_until(self, **values: Any) -> list[dict[str, Any]]:
        """Return its lines up to the first that contains these values."""
        lines = [self.read_line()]
        while not values.items() <= lines[-1].items():
            lines.append(self.read_line())
        return lines

    def write_line(self, line: str) -> None:
        assert self.process.stdin is not None
        print(line, file=self.process.stdin, flush=True)


@contextmanager
def start_process(
    database: str, script: str, *, folder: Path, **variables: str
) -> Iterator[Process]:
    """Run a script on a database in a child process, and kill it at the end of the block."""
    arguments, environment = script_command(database, script)
    process = subprocess.Popen(
        arguments,
        env={**environment, **variables},
        cwd=folder,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with process:
        try:
            yield Process(process)
        finally:
            process.kill()
