"""One run of the command under test: started, watched, ended in time, with its output."""

import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Event, Thread

from scenarios_app.testing.run import command_environment, end_group, start_command, to_shell_code

# Limit of a program's output; the middle of a longer one is dropped.
MAX_OUTPUT_BYTES = 1_000_000
# Interval at which a running command's time limit is checked.
CHECK_SECONDS = 0.1


class Interrupted(Exception):
    """The sweep was stopped while the command ran."""


@dataclass(frozen=True, slots=True)
class ProgramRun:
    """The end of a run of the command: its exit code as a shell gives it, its output and seconds.
    `hung` is true if it was stopped because its time was over."""

    code: int
    output: str
    seconds: float
    hung: bool = False


def run_program(
    command: Sequence[str], base_url: str, *, limit: float, stop: Event | None = None
) -> ProgramRun:
    """Run the command in its own process group, with its SDKs pointed at `base_url`, for at most
    `limit` seconds. Raises CannotRun, or Interrupted when `stop` is set."""
    with command_environment(command, base_url) as environment, tempfile.TemporaryFile() as output:
        began = time.monotonic()
        process = start_command(
            command,
            environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        hung = False
        # A waiting thread takes no CPU time; polling would.
        waiting = Thread(target=process.wait, daemon=True)
        waiting.start()
        try:
            while waiting.is_alive():
                if stop is not None and stop.is_set():
                    raise Interrupted
                if hung := time.monotonic() - began > limit:
                    break
                waiting.join(CHECK_SECONDS)
        finally:
            end_group(process)
        code, seconds = to_shell_code(process.returncode), time.monotonic() - began
        return ProgramRun(code, _read_output(output.fileno()), seconds, hung)


def _read_output(file: int) -> str:
    """Return a file's text; of a long one the first and last MAX_OUTPUT_BYTES / 2 bytes."""
    size = os.fstat(file).st_size
    if size <= MAX_OUTPUT_BYTES:
        data = os.pread(file, size, 0)
    else:
        half = MAX_OUTPUT_BYTES // 2
        data = os.pread(file, half, 0) + b"\n[...]\n" + os.pread(file, half, size - half)
    return data.decode("utf-8", "replace")
