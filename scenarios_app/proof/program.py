"""One run of the command under test: started, watched, ended in time, with its output."""

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Event, Thread

from scenarios_app.testing.agents import UNSET, agent_variables
from scenarios_app.testing.run import NOT_FOUND, NOT_RUN, SIGNAL_BASE, CannotRun
from scenarios_app.testing.variables import API_KEY, command_variables, unset_variables

# So much of a program's output is read; the middle of a longer one is left out.
MAX_OUTPUT_BYTES = 1_000_000
# How often the time of a running command is checked; its end is noticed without delay.
CHECK_SECONDS = 0.1
END_SECONDS = 2.0


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
    """Run the command with its SDKs at a server, in a separate process group, for at most `limit`
    seconds. Raises CannotRun, or Interrupted when `stop` is set."""
    variables = command_variables(base_url, API_KEY, environment=os.environ)
    unset = {*unset_variables(), *UNSET}
    with agent_variables(base_url, command=command) as of_agents, tempfile.TemporaryFile() as file:
        environment = {name: value for name, value in os.environ.items() if name not in unset}
        environment |= {**variables, **of_agents}
        began = time.monotonic()
        process = _start(command, environment, file.fileno())
        hung = False
        # A thread waits without polling, which would cost CPU all the time that the command takes.
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
            _end(process)
        seconds = time.monotonic() - began
        code = process.returncode
        return ProgramRun(
            code if code >= 0 else SIGNAL_BASE - code, _read(file.fileno()), seconds, hung
        )


def _start(
    command: Sequence[str], environment: Mapping[str, str], output: int
) -> "subprocess.Popen[bytes]":
    try:
        return subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except FileNotFoundError:
        raise CannotRun(NOT_FOUND, f"{command[0]}: no such command") from None
    except OSError as error:
        raise CannotRun(NOT_RUN, f"{command[0]}: {error.strerror}") from None


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End whatever is left of the process group."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except (ProcessLookupError, PermissionError):
            break
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            continue
    process.wait()


def _read(file: int) -> str:
    size = os.fstat(file).st_size
    if size <= MAX_OUTPUT_BYTES:
        data = os.pread(file, size, 0)
    else:
        half = MAX_OUTPUT_BYTES // 2
        data = os.pread(file, half, 0) + b"\n[...]\n" + os.pread(file, half, size - half)
    return data.decode("utf-8", "replace")
