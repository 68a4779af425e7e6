"""`mockllm run -- COMMAND`: runs a command with all SDKs pointed at a temporary server, then prints
the verdict. Imports no Django, whose settings may be the command's own."""

import json
import os
import signal
import subprocess
import sys
from argparse import REMAINDER, ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from types import FrameType
from typing import IO, Any

from mockllm_site.kit.parsers import UNKNOWN, OneLineParser
from scenarios_app.testing.agents import UNSET_VARIABLES, agent_variables
from scenarios_app.testing.control import Control, ServerFailed, controlled_server
from scenarios_app.testing.documents import to_documents
from scenarios_app.testing.process import ServerOptions
from scenarios_app.testing.variables import (
    API_KEY,
    command_variables,
    recording_variables,
    unset_variables,
)
from scenarios_app.verdict.colours import print_report

# Exit codes of shells for a missing command, one that cannot run, and one ended by a signal.
COMMAND_NOT_FOUND, COMMAND_NOT_EXECUTABLE, SIGNAL_BASE = 127, 126, 128
# For the help of all commands that start another one.
CANNOT_START = "126 or 127: the command cannot start."
HELP = (
    "Runs a command with SDKs and agents at a separate server. Prints the verdict. "
    "The exit code is the command's. If that is 0, it is the verdict's: 1 if it failed. "
    + CANNOT_START
)
VERDICT_FAILED = 1
# How long a process group may take to end after SIGTERM.
STOP_SECONDS = 2.0
# A terminal sends these to the whole process group, so to the command too.
TERMINAL_SIGNALS = (signal.SIGINT, signal.SIGQUIT)
FORWARDED_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


class CannotRun(Exception):
    """The command cannot be started. The arguments are the exit code and the reason."""


def refuse(name: str, reason: Exception | str, *, code: int) -> int:
    """Print why our command `name` does nothing; return the exit code of CannotRun, else `code`."""
    if isinstance(reason, CannotRun):
        code, reason = reason.args
    print(f"mockllm {name}: {reason}", file=sys.stderr)
    return code


def add_source_options(parser: ArgumentParser) -> None:
    """Add the options that name the scenarios and fixtures of a server."""
    add = partial(parser.add_argument, action="append", default=[])
    again = "repeatable"
    add("--scenario", metavar="FILE", help=f"file or directory of scenario documents; {again}")
    add("--fixture", metavar="NAME", help=f"fixture to load; {again}")


def add_arguments(parser: ArgumentParser) -> None:
    add_source_options(parser)
    parser.add_argument(
        "--strict",
        action="store_true",
        help="warnings fail the verdict too, and steps of a --scenario that never answered",
    )
    meaning = "what to run, with its arguments"
    parser.add_argument("command", nargs=REMAINDER, metavar="-- COMMAND …", help=meaning)


def main(arguments: Sequence[str]) -> int:
    """Run `mockllm run` with these arguments; return its exit code."""
    parser = OneLineParser(prog="mockllm run", description=HELP)
    add_arguments(parser)
    return run(parser.parse_args(arguments))


def run(options: Namespace) -> int:
    """Run the command; return its exit code, but VERDICT_FAILED if only the verdict failed."""
    command = strip_separator(options.command)
    if not command:
        return refuse("run", "no command: give one after --", code=2)
    try:
        documents = to_documents(options.scenario)
        with controlled_server(ServerOptions(documents, options.fixture)) as control:
            code = run_command(command, control.base_url)
            required = [document["name"] for document in documents] if options.strict else []
            passed = print_verdict(control, strict=options.strict, required=required)
            return code or (0 if passed else VERDICT_FAILED)
    except (CannotRun, ServerFailed) as error:
        return refuse("run", error, code=VERDICT_FAILED)


def split_command(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the arguments before `--` and the command after it."""
    words = list(arguments)
    at = words.index("--") if "--" in words else len(words)
    return words[:at], words[at + 1 :]


def parse_before_command(
    parser: ArgumentParser, arguments: Sequence[str]
) -> tuple[Namespace, list[str]]:
    """Return the options before `--` and the command after it; exit for any other words."""
    own, command = split_command(arguments)
    options, unknown = parser.parse_known_args(own)
    if any(word.startswith("-") for word in unknown):
        parser.error(UNKNOWN + " ".join(unknown))
    if unknown:
        parser.error(f"unexpected: {' '.join(unknown)}; the command comes after --")
    return options, command


def strip_separator(command: Sequence[str]) -> Sequence[str]:
    """Return the command without a leading `--`."""
    return command[1:] if command[:1] == ["--"] else command


@contextmanager
def command_environment(
    command: Sequence[str], base_url: str, *, key: str = API_KEY, records: bool = False
) -> Iterator[dict[str, str]]:
    """Yield the environment in which a command's SDKs and coding agents use a server. The API key
    is `key`; if the server `records`, real keys stay."""
    unset = set(UNSET_VARIABLES)
    if records:
        variables = recording_variables(base_url, environment=os.environ)
    else:
        unset.update(unset_variables())
        variables = command_variables(base_url, key, environment=os.environ)
    with agent_variables(base_url, command=command) as of_agents:
        inherited = {name: value for name, value in os.environ.items() if name not in unset}
        yield {**inherited, **variables, **of_agents}


def start_command(
    command: Sequence[str], environment: Mapping[str, str], **options: Any
) -> "subprocess.Popen[bytes]":
    """Start a command with these options of Popen; raises CannotRun."""
    try:
        return subprocess.Popen(command, env=environment, **options)
    except FileNotFoundError:
        raise CannotRun(COMMAND_NOT_FOUND, f"{command[0]}: no such command") from None
    except OSError as error:
        raise CannotRun(COMMAND_NOT_EXECUTABLE, f"{command[0]}: {error.strerror}") from None


def end_group(process: "subprocess.Popen[bytes]") -> None:
    """Terminate, then kill, a command's process group."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except (ProcessLookupError, PermissionError):
            break
        with suppress(subprocess.TimeoutExpired):
            process.wait(STOP_SECONDS)
    process.wait()


def run_command(
    command: Sequence[str],
    base_url: str,
    *,
    records: bool = False,
    variables: Mapping[str, str] | None = None,
    output: IO[str] | None = None,
) -> int:
    """Run a command with its SDKs at a server; return its exit code as a shell does. Signals are
    forwarded to it, and `variables` added. It writes to `output`, or ours. Raises CannotRun."""
    prepared = command_environment(command, base_url, records=records)
    with prepared as environment, _forward_signals() as add_process:
        environment |= variables or {}
        process = start_command(command, environment, stdout=output)
        add_process(process)
        return to_shell_code(process.wait())


def to_shell_code(code: int) -> int:
    """Return the exit code that a shell reports for a process."""
    return code if code >= 0 else SIGNAL_BASE - code


@contextmanager
def _forward_signals() -> Iterator[Callable[["subprocess.Popen[bytes]"], None]]:
    """Forward signals to the process passed to the yielded function; earlier ones wait for it."""
    processes: list[subprocess.Popen[bytes]] = []
    early: list[int] = []

    def pass_on(number: int, frame: FrameType | None) -> None:
        """Send a signal on to the command, unless the terminal has sent it to both."""
        if number in TERMINAL_SIGNALS and _is_in_foreground():
            return
        if not processes:
            early.append(number)
        for process in processes:
            process.send_signal(number)

    def add_process(process: "subprocess.Popen[bytes]") -> None:
        """Add a started command; it gets the signals that came before."""
        processes.append(process)
        for number in early:
            process.send_signal(number)

    numbers = FORWARDED_SIGNALS + TERMINAL_SIGNALS
    before = {number: signal.signal(number, pass_on) for number in numbers}
    try:
        yield add_process
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _is_in_foreground() -> bool:
    """Return True if this process group is the foreground one of its terminal."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    finally:
        os.close(terminal)


def print_verdict(control: Control, *, strict: bool = False, required: Sequence[str] = ()) -> bool:
    """Print the verdict on all sessions to standard error; return whether it passed."""
    names = json.dumps(required) if required else None
    verdict = control.send("GET", "verdict", strict="true" if strict else None, scenarios=names)
    sys.stdout.flush()
    print_report(f"mockllm: {verdict['text']}", sys.stderr)
    return verdict["passed"]
