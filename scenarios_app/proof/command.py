"""`mockllm torture -- COMMAND` and `mockllm mutants -- COMMAND`: the command line of a sweep."""

import shlex
import signal
import sys
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType

from mockllm_site.kit.parsers import OneLineParser
from scenarios_app.proof.experiment import REPORTS, CellResult, Experiment
from scenarios_app.proof.plan import BadCell, Cell
from scenarios_app.proof.sweep import INTERRUPTED, CannotSweep, SweepOptions, sweep
from scenarios_app.testing.control import ServerFailed
from scenarios_app.testing.documents import to_documents
from scenarios_app.testing.run import CannotRun, add_source_options, parse_before_command, refuse
from scenarios_app.verdict.colours import print_report

FAILED, NOT_SWEPT, STOPPED, TERMINATED = 1, 2, 130, 143
# Fields of SweepOptions that have options of the same names.
_AS_OPTION = ("kinds", "steps", "only", "seed", "jobs", "timeout", "budget", "seconds")
FAIL_UNDER = "fail the sweep if the score is lower, instead of by outcomes"


def add_arguments(experiment: Experiment, parser: ArgumentParser) -> None:
    add = parser.add_argument
    add_source_options(parser)
    add(
        "--budget",
        type=parse_positive,
        metavar="N",
        help="at most N runs, the most telling ones first",
    )
    add("--seconds", type=parse_positive, metavar="S", help="start no run after S seconds")
    add(
        "--jobs",
        type=parse_positive,
        default=1,
        metavar="N",
        help="runs at the same time (default: 1)",
    )
    add(
        "--kinds",
        type=parse_names,
        default=[],
        metavar="A,B",
        help=f"only these kinds of change, of {', '.join(kind.name for kind in experiment.kinds)}",
    )
    add(
        "--steps",
        type=parse_names,
        default=[],
        metavar="A,B",
        help="only answers of these scenarios or steps (SCENARIO/STEP)",
    )
    add("--only", default="", metavar="CELL", help="only this change, as named in a report")
    add("--seed", type=int, default=0, metavar="N", help="seed of the order of runs (default: 0)")
    add(
        "--timeout",
        type=float,
        default=600.0,
        metavar="SECONDS",
        help="time limit of the command without changes (default: 600)",
    )
    add(
        "--fail-on",
        type=partial(parse_outcomes, experiment),
        metavar="A,B",
        help=f"outcomes that fail the sweep, of {', '.join(experiment.outcomes)} (default: "
        f"{','.join(experiment.fail_on)})",
    )
    if experiment.score is not None:
        add("--fail-under", type=parse_percent, metavar="PERCENT", help=FAIL_UNDER)
    for name, meaning in REPORTS.items():
        add(f"--{name}", type=Path, metavar="FILE", help=meaning)


def main(experiment: Experiment, arguments: Sequence[str]) -> int:
    """Run a sweep with these arguments; return its exit code."""
    parser = OneLineParser(prog=f"mockllm {experiment.name}", description=experiment.help)
    add_arguments(experiment, parser)
    options, command = parse_before_command(parser, arguments)
    return run(experiment, options, command)


def run(experiment: Experiment, namespace: Namespace, command: Sequence[str]) -> int:
    """Run the sweep, print and write its reports, and return the exit code: 0, FAILED, NOT_SWEPT
    (also if a report cannot be written), STOPPED, TERMINATED, or that of CannotRun."""
    if not command:
        return refuse(experiment.name, "no command: give one after --", code=NOT_SWEPT)
    terminated: list[int] = []
    try:
        with _interrupt_at_sigterm(terminated):
            options = SweepOptions(
                experiment,
                command,
                to_documents(namespace.scenario),
                namespace.fixture,
                **{name: getattr(namespace, name) for name in _AS_OPTION},
            )
            result = sweep(options, progress=_progress())
    except (CannotRun, CannotSweep, BadCell, ServerFailed) as error:
        return refuse(experiment.name, error, code=NOT_SWEPT)
    except KeyboardInterrupt:
        code = TERMINATED if terminated else STOPPED
        return refuse(experiment.name, "stopped before the clean runs were done", code=code)
    fail_under = getattr(namespace, "fail_under", None)
    fail_on = experiment.fail_on_outcomes(namespace.fail_on, fail_under)
    sources = [
        *(word for file in namespace.scenario for word in ("--scenario", file)),
        *(word for name in namespace.fixture for word in ("--fixture", name)),
    ]

    def repeat_command(*cells: Cell) -> str:
        """Return the shell command that runs the first of these cells alone."""
        only = ["--only", cells[0].name]
        return shlex.join(["mockllm", experiment.name, *sources, *only, "--", *command])

    print_report(experiment.text(result, fail_on, repeat_command), sys.stdout)
    if errors := experiment.write_reports(result, vars(namespace), fail_on, repeat_command):
        reason = "\n".join(f"{file}: {error}" for file, error in errors.items())
        return refuse(experiment.name, reason, code=NOT_SWEPT)
    if result.left_out_because == INTERRUPTED:
        return TERMINATED if terminated else STOPPED
    return FAILED if experiment.fails(result, fail_on, fail_under) else 0


@contextmanager
def _interrupt_at_sigterm(received: list[int]) -> Iterator[None]:
    """Raise KeyboardInterrupt at SIGTERM too, with which CI ends jobs, so that the results so far
    are printed. Append the signal to `received`."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        received.append(number)
        signal.default_int_handler(number, frame)

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _progress() -> Callable[[int, int, CellResult | None], None]:
    """Return a function that shows a progress bar with the time left on a terminal, otherwise a
    line for each run, as logs of CI need them."""
    began = time.monotonic()

    def show(done: int, total: int, result: CellResult | None) -> None:
        """Print the bar, or the line of a result."""
        if not sys.stderr.isatty():
            if result:
                line = progress_line(done, total, result.cell.name, result.judgement.outcome)
                print(line, file=sys.stderr, flush=True)
            return
        left = (time.monotonic() - began) / done * (total - done) if done else 0
        bar = "#" * (20 * done // total)
        name = f"{result.cell.name} {result.judgement.outcome}" if result else ""
        end = "\n" if done == total else ""
        text = f"\r\033[K[{bar:<20}] {done}/{total}, {left:.0f} s left  {name}{end}"
        print(text, end="", file=sys.stderr, flush=True)

    return show


def progress_line(done: int, total: int, name: str, outcome: str) -> str:
    """Return the line of progress for the result of the cell `name`."""
    return f"[{done}/{total}] {name}: {outcome}"


def parse_names(text: str) -> list[str]:
    """Return the names in a comma-separated text."""
    return [name for part in text.split(",") if (name := part.strip())]


def parse_outcomes(experiment: Experiment, text: str) -> list[str]:
    """Return the outcomes in a comma-separated text; raises ArgumentTypeError for unknown ones."""
    wanted = parse_names(text)
    if unknown := [name for name in wanted if name not in experiment.outcomes]:
        there = ", ".join(experiment.outcomes)
        raise ArgumentTypeError(f"no outcome {unknown[0]!r}; there are {there}")
    return wanted


def parse_percent(text: str) -> float:
    """Return a number from 0 to 100; raises ArgumentTypeError for other texts."""
    try:
        value = float(text)
    except ValueError:
        value = -1
    if not 0 <= value <= 100:
        raise ArgumentTypeError(f"expected a percentage from 0 to 100, got {text!r}")
    return value


def parse_positive(text: str) -> int:
    """Return a whole number from 1 up; raises ArgumentTypeError for other texts."""
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"expected a number from 1 up, got {text!r}")
    return int(text)
