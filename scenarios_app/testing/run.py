"""`mockllm run -- COMMAND`: a server for the length of a command, whose SDKs all point at it, and a
verdict at its end. Needs no Django: the command's own settings are nothing to it."""

import json
import os
import signal
import subprocess
import sys
from argparse import REMAINDER, ArgumentParser
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import IO

from scenarios_app.testing.control import Control, ServerFailed
from scenarios_app.testing.documents import documents_of
from scenarios_app.testing.process import Start, server_process
from scenarios_app.testing.variables import sdk_variables, unset_variables

HELP = (
    "Runs a command with SDKs pointed at a separate server. Prints the verdict. The exit code "
    "is the command's. If that is 0, it is the verdict's: 1 if it failed."
)
API_KEY = "mockllm-run"
# What shells report of a command that is not there, that cannot be run, and that a signal ended.
NOT_FOUND, NOT_RUN, BY_SIGNAL = 127, 126, 128
VERDICT_FAILED = 1
# A terminal sends these to the command itself, with all of its group.
FROM_A_TERMINAL = (signal.SIGINT, signal.SIGQUIT)
PASSED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


class CannotRun(Exception):
    """The command cannot be started: the exit code and the reason."""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--scenario",
        action="append",
        default=[],
        metavar="FILE",
        help="file or directory of scenario documents; may be given again",
    )
    parser.add_argument(
        "--fixture",
        action="append",
        default=[],
        metavar="NAME",
        help="fixture to load; may be given again",
    )
    parser.add_argument(
        "--strict",
        action="store_true",
        help="warnings fail the verdict too, and steps of a --scenario that never answered",
    )
    parser.add_argument(
        "command", nargs=REMAINDER, metavar="-- COMMAND …", help="what to run, with its arguments"
    )


def main(arguments: Sequence[str]) -> int:
    """The exit code of `mockllm run` with these arguments."""
    parser = ArgumentParser(prog="mockllm run", description=HELP)
    add_arguments(parser)
    options = parser.parse_args(arguments)
    return run(options.scenario, options.fixture, options.command, strict=options.strict)


def run(
    scenarios: Sequence[str], fixtures: Sequence[str], command: Sequence[str], *, strict: bool
) -> int:
    """Start a server, run the command and say what the verdict is."""
    command = without_mark(command)
    if not command:
        return _refused("no command: give one after --", code=2)
    try:
        documents = documents_of(scenarios)
        with server_process(Start(documents, fixtures)) as (base_url, _):
            variables = sdk_variables(base_url, API_KEY, environment=os.environ)
            code = run_command(command, variables, unset=unset_variables())
            required = [document["name"] for document in documents] if strict else []
            passed = judged(base_url, strict=strict, required=required)
            return code or (0 if passed else VERDICT_FAILED)
    except CannotRun as error:
        return _refused(error.args[1], code=error.args[0])
    except ServerFailed as error:
        return _refused(str(error), code=VERDICT_FAILED)


def _refused(message: str, *, code: int) -> int:
    print(f"mockllm run: {message}", file=sys.stderr)
    return code


def without_mark(command: Sequence[str]) -> Sequence[str]:
    """A command without the `--` before it."""
    return command[1:] if command[:1] == ["--"] else command


def run_command(
    command: Sequence[str],
    variables: Mapping[str, str],
    *,
    unset: Sequence[str] = (),
    output: IO[str] | None = None,
) -> int:
    """Run a command in this environment, with these variables and without those; its exit code, as
    a shell reports it. Signals are passed on to it; what it says goes where our own output goes, or
    to another one. Raises CannotRun."""
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    environment |= variables
    with _signals_for() as started:
        try:
            process = subprocess.Popen(command, env=environment, stdout=output)
        except FileNotFoundError:
            raise CannotRun(NOT_FOUND, f"{command[0]}: no such command") from None
        except OSError as error:
            raise CannotRun(NOT_RUN, f"{command[0]}: {error.strerror}") from None
        started(process)
        code = process.wait()
    return code if code >= 0 else BY_SIGNAL - code


@contextmanager
def _signals_for() -> Iterator[Callable[["subprocess.Popen[bytes]"], None]]:
    """Signals are the command's, from now on; the function is told which process that is."""
    processes: list[subprocess.Popen[bytes]] = []
    early: list[int] = []

    def pass_on(number: int, frame: FrameType | None) -> None:
        if number in FROM_A_TERMINAL and _in_the_foreground():
            return
        if not processes:
            early.append(number)
        for process in processes:
            process.send_signal(number)

    def started(process: "subprocess.Popen[bytes]") -> None:
        processes.append(process)
        for number in early:
            process.send_signal(number)

    before = {number: signal.signal(number, pass_on) for number in PASSED_ON + FROM_A_TERMINAL}
    try:
        yield started
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _in_the_foreground() -> bool:
    """Whether a terminal's own signals come to this process and to the command alike."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    finally:
        os.close(terminal)


def judged(base_url: str, *, strict: bool = False, required: Sequence[str] = ()) -> bool:
    """Print the verdict on all that was asked, and give it. It goes where it is not taken for what
    the command says."""
    control = Control(base_url)
    try:
        verdict = control.send(
            "GET",
            "verdict",
            strict="true" if strict else None,
            scenarios=json.dumps(required) if required else None,
        )
    finally:
        control.close()
    sys.stdout.flush()
    print(f"mockllm: {verdict['text']}", file=sys.stderr)
    passed: bool = verdict["passed"]
    return passed
