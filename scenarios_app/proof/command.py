"""`mockllm torture -- COMMAND`: the command line of a sweep."""

import shlex
import sys
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Sequence
from pathlib import Path

from scenarios_app.proof.kinds import KINDS
from scenarios_app.proof.outcome import OUTCOMES
from scenarios_app.proof.plan import BadCell, Cell
from scenarios_app.proof.reports import (
    FAIL_ON,
    REPORTS,
    failed_cells,
    text_report,
    write_report,
)
from scenarios_app.proof.sweep import (
    INTERRUPTED,
    Budget,
    CannotSweep,
    CellResult,
    SweepOptions,
    sweep,
)
from scenarios_app.testing.control import ServerFailed
from scenarios_app.testing.documents import to_documents
from scenarios_app.testing.run import CannotRun, add_sources, split

HELP = (
    "Repeats a command with one fault at one answer at a time. Prints how it took each. "
    "The exit code is 0, 1 if an outcome of --fail-on came, 2 if the command cannot be swept."
)
FAILED, NOT_SWEPT, STOPPED = 1, 2, 130


def add_arguments(parser: ArgumentParser) -> None:
    add_sources(parser)
    parser.add_argument(
        "--budget", type=positive, metavar="N", help="at most N runs, the most telling ones first"
    )
    parser.add_argument(
        "--seconds", type=positive, metavar="S", help="start no run after S seconds"
    )
    parser.add_argument(
        "--jobs", type=positive, default=1, metavar="N", help="runs at the same time (default: 1)"
    )
    parser.add_argument(
        "--kinds",
        type=names,
        default=[],
        metavar="A,B",
        help=f"only these kinds of trouble, of {', '.join(kind.name for kind in KINDS)}",
    )
    parser.add_argument(
        "--steps",
        type=names,
        default=[],
        metavar="A,B",
        help="only answers of these scenarios or steps (SCENARIO/STEP)",
    )
    parser.add_argument("--only", default="", metavar="CELL", help="only this cell: KIND@ANSWER")
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="of the order of runs (default: 0)"
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=600.0,
        metavar="SECONDS",
        help="what the command may take without trouble (default: 600)",
    )
    parser.add_argument(
        "--fail-on",
        type=outcomes,
        default=list(FAIL_ON),
        metavar="A,B",
        help=f"outcomes that fail the sweep, of {', '.join(OUTCOMES)} (default: "
        f"{','.join(FAIL_ON)})",
    )
    for name, report in REPORTS.items():
        parser.add_argument(f"--{name}", type=Path, metavar="FILE", help=report.help)


def main(arguments: Sequence[str]) -> int:
    """Run `mockllm torture` with these arguments; return its exit code."""
    parser = ArgumentParser(prog="mockllm torture", description=HELP)
    add_arguments(parser)
    own, command = split(arguments)
    options, unknown = parser.parse_known_args(own)
    if unknown:
        return _refused(f"unknown: {' '.join(unknown)}; the command comes after --")
    return torture(options, command)


def torture(namespace: Namespace, command: Sequence[str]) -> int:
    """Run the sweep, print and write its reports, and return the exit code."""
    if not command:
        return _refused("no command: give one after --")
    try:
        options = SweepOptions(
            command,
            to_documents(namespace.scenario),
            namespace.fixture,
            kinds=namespace.kinds,
            steps=namespace.steps,
            only=namespace.only,
            seed=namespace.seed,
            budget=Budget(namespace.budget, namespace.seconds),
            jobs=namespace.jobs,
            timeout=namespace.timeout,
        )
        result = sweep(options, progress=_progress())
    except (CannotSweep, BadCell, ServerFailed) as error:
        return _refused(str(error))
    except CannotRun as error:
        return _refused(error.args[1], code=error.args[0])
    except KeyboardInterrupt:
        return _refused("stopped before the clean runs were done", code=STOPPED)
    fail_on = namespace.fail_on
    sources = [
        *(word for file in namespace.scenario for word in ("--scenario", file)),
        *(word for name in namespace.fixture for word in ("--fixture", name)),
    ]

    def again(cell: Cell) -> str:
        words = ["mockllm", "torture", *sources, "--only", cell.name, "--", *command]
        return shlex.join(words)

    print(text_report(result, fail_on, again))
    for name, report in REPORTS.items():
        if (file := getattr(namespace, name)) is not None:
            write_report(file, report.text(result, fail_on, again))
    if result.left_out_because == INTERRUPTED:
        return STOPPED
    return FAILED if failed_cells(result, fail_on) else 0


def _refused(message: str, *, code: int = NOT_SWEPT) -> int:
    print(f"mockllm torture: {message}", file=sys.stderr)
    return code


def _progress() -> Callable[[int, int, CellResult | None], None]:
    """Return a function that shows a progress bar with the time left, on a terminal."""
    began = time.monotonic()

    def show(done: int, total: int, result: CellResult | None) -> None:
        if not sys.stderr.isatty():
            return
        left = (time.monotonic() - began) / done * (total - done) if done else 0
        bar = "#" * (20 * done // total)
        name = f"{result.cell.name} {result.judgement.outcome}" if result else ""
        end = "\n" if done == total else ""
        text = f"\r\033[K[{bar:<20}] {done}/{total}, {left:.0f} s left  {name}{end}"
        print(text, end="", file=sys.stderr, flush=True)

    return show


def names(text: str) -> list[str]:
    return [name for part in text.split(",") if (name := part.strip())]


def outcomes(text: str) -> list[str]:
    wanted = names(text)
    if unknown := [name for name in wanted if name not in OUTCOMES]:
        raise ArgumentTypeError(f"no outcome {unknown[0]!r}; there are {', '.join(OUTCOMES)}")
    return wanted


def positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"expected a number from 1 up, got {text!r}")
    return int(text)
