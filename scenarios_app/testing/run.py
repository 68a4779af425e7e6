"""`mockllm run -- COMMAND`: runs a command with all SDKs pointed at a temporary server, then prints
the verdict. Imports no Django, whose settings may be the command's own."""

import json
import os
import signal
import subprocess
import sys
from argparse import REMAINDER, ArgumentParser
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from types import FrameType
from typing import IO

from scenarios_app.testing.agents import UNSET, agent_variables
from scenarios_app.testing.control import Control, ServerFailed
from scenarios_app.testing.documents import to_documents
from scenarios_app.testing.process import ServerOptions, server_process
from scenarios_app.testing.variables import API_KEY, command_variables, unset_variables

HELP = (
    "Runs a command with SDKs and agents at a separate server. Prints the verdict. "
    "The exit code is the command's. If that is 0, it is the verdict's: 1 if it failed."
)
# Exit codes of shells for a missing command, one that cannot run, and one ended by a signal.
NOT_FOUND, NOT_RUN, SIGNAL_BASE = 127, 126, 128
VERDICT_FAILED = 1
# A terminal sends these to the whole process group, so to the command too.
TERMINAL_SIGNALS = (signal.SIGINT, signal.SIGQUIT)
FORWARDED_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


class CannotRun(Exception):
    """The command cannot be started; the arguments are the exit code and the reason."""


def add_sources(parser: ArgumentParser) -> None:
    """Add the options that name the scenarios and fixtures of a server."""
    sources = {
        "--scenario": ("FILE", "file or directory of scenario documents"),
        "--fixture": ("NAME", "fixture to load"),
    }
    for option, (metavar, meaning) in sources.items():
        again = f"{meaning}; may be given again"
        parser.add_argument(option, action="append", default=[], metavar=metavar, help=again)


def add_arguments(parser: ArgumentParser) -> None:
    add_sources(parser)
    parser.add_argument(
        "--strict",
        action="store_true",
        help="warnings fail the verdict too, and steps of a --scenario that never answered",
    )
    parser.add_argument(
        "command", nargs=REMAINDER, metavar="-- COMMAND …", help="what to run, with its arguments"
    )


def main(arguments: Sequence[str]) -> int:
    """Run `mockllm run` with these arguments; return its exit code."""
    parser = ArgumentParser(prog="mockllm run", description=HELP)
    add_arguments(parser)
    options = parser.parse_args(arguments)
    return run(options.scenario, options.fixture, options.command, strict=options.strict)


def run(
    scenarios: Sequence[str], fixtures: Sequence[str], command: Sequence[str], *, strict: bool
) -> int:
    """Start a server, run the command and print the verdict."""
    command = strip_separator(command)
    if not command:
        return _refused("no command: give one after --", code=2)
    try:
        documents = to_documents(scenarios)
        with server_process(ServerOptions(documents, fixtures)) as (base_url, _):
            variables = command_variables(base_url, API_KEY, environment=os.environ)
            code = run_command(command, variables, unset=unset_variables())
            required = [document["name"] for document in documents] if strict else []
            passed = print_verdict(base_url, strict=strict, required=required)
            return code or (0 if passed else VERDICT_FAILED)
    except CannotRun as error:
        return _refused(error.args[1], code=error.args[0])
    except ServerFailed as error:
        return _refused(str(error), code=VERDICT_FAILED)


def _refused(message: str, *, code: int) -> int:
    print(f"mockllm run: {message}", file=sys.stderr)
    return code


def split(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the arguments before `--` and the command after it."""
    words = list(arguments)
    at = words.index("--") if "--" in words else len(words)
    return words[:at], words[at + 1 :]


def strip_separator(command: Sequence[str]) -> Sequence[str]:
    """Return the command without a leading `--`."""
    return command[1:] if command[:1] == ["--"] else command


def run_command(
    command: Sequence[str],
    variables: Mapping[str, str],
    *,
    unset: Sequence[str] = (),
    output: IO[str] | None = None,
) -> int:
    """Run a command with changed environment variables; return its exit code as a shell does.

    Coding agents find the server of the variables, too. Signals are forwarded to the command. Its
    standard output goes to `output`, or to ours. Raises CannotRun.
    """
    unset = (*unset, *UNSET)
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    agents = agent_variables(variables["MOCKLLM_URL"], command=command)
    with agents as variables_of_agents, _forward_signals() as started:
        environment |= {**variables, **variables_of_agents}
        try:
            process = subprocess.Popen(command, env=environment, stdout=output)
        except FileNotFoundError:
            raise CannotRun(NOT_FOUND, f"{command[0]}: no such command") from None
        except OSError as error:
            raise CannotRun(NOT_RUN, f"{command[0]}: {error.strerror}") from None
        started(process)
        code = process.wait()
    return code if code >= 0 else SIGNAL_BASE - code


@contextmanager
def _forward_signals() -> Iterator[Callable[["subprocess.Popen[bytes]"], None]]:
    """Forward signals to the process that the yielded function gets; earlier ones are queued."""
    processes: list[subprocess.Popen[bytes]] = []
    early: list[int] = []

    def pass_on(number: int, frame: FrameType | None) -> None:
        if number in TERMINAL_SIGNALS and _is_in_foreground():
            return
        if not processes:
            early.append(number)
        for process in processes:
            process.send_signal(number)

    def started(process: "subprocess.Popen[bytes]") -> None:
        processes.append(process)
        for number in early:
            process.send_signal(number)

    before = {
        number: signal.signal(number, pass_on) for number in FORWARDED_SIGNALS + TERMINAL_SIGNALS
    }
    try:
        yield started
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _is_in_foreground() -> bool:
    """True if this process group is the foreground one of its terminal."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    finally:
        os.close(terminal)


def print_verdict(base_url: str, *, strict: bool = False, required: Sequence[str] = ()) -> bool:
    """Print the verdict on all sessions to standard error; return whether it passed."""
    with closing(Control(base_url)) as control:
        verdict = control.send(
            "GET",
            "verdict",
            strict="true" if strict else None,
            scenarios=json.dumps(required) if required else None,
        )
    sys.stdout.flush()
    print(f"mockllm: {verdict['text']}", file=sys.stderr)
    passed: bool = verdict["passed"]
    return passed
