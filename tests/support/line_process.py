"""Another process of this project, spoken to in lines."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.state.outside import command


class Process:
    """Another process, and the lines that it says."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process

    def heard(self) -> dict[str, Any]:
        """Its next line."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "it has ended"
        said: dict[str, Any] = json.loads(line)
        return said

    def until(self, **wanted: Any) -> list[dict[str, Any]]:
        """What it says up to a line that holds these values."""
        lines = [self.heard()]
        while not wanted.items() <= lines[-1].items():
            lines.append(self.heard())
        return lines

    def say(self, line: str) -> None:
        assert self.process.stdin is not None
        print(line, file=self.process.stdin, flush=True)


@contextmanager
def begun(database: str, script: str, *, folder: Path, **variables: str) -> Iterator[Process]:
    """A process that runs a script on a database, until the caller has no more use for it."""
    line, found = command(database, script)
    process = subprocess.Popen(
        line,
        env={**found, **variables},
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
