"""Runs a sweep: two clean runs, then one run for each cell, on a server for each parallel job."""

import queue
import shlex
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import dataclass
from math import inf
from typing import Any

from scenarios_app.engine.document import DocumentLimits, load_documents
from scenarios_app.proof.experiment import CellResult, Experiment, Sweep
from scenarios_app.proof.outcome import Observation, first_difference
from scenarios_app.proof.plan import Cell, all_cells, find_cell, order_cells
from scenarios_app.proof.program import Interrupted, run_program
from scenarios_app.testing.control import Control, controlled_server
from scenarios_app.testing.process import ServerOptions
from scenarios_app.verdict.fault_kinds import Answer
from scenarios_app.verdict.survival import version_of

# The server has checked its documents with its own limits.
ANY = DocumentLimits(text_bytes=sys.maxsize, latency_ms=sys.maxsize)
# A run may take this many times the clean run's time, plus the duration of its fault.
PATIENCE = 3.0
MIN_SECONDS = 2.0
INTERRUPTED = "the sweep was stopped"
# The header of a changed answer.
CHANGE_HEADER = "x-mockllm-change"

NO_CELLS = "none of these kinds fits an answer of the clean run"


class CannotSweep(Exception):
    """The command cannot be swept; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class SweepOptions:
    """The command and options of a sweep. `budget` is the maximum number of runs, and no run starts
    after `seconds`. `timeout` is the longest clean run, in seconds."""

    experiment: Experiment
    command: Sequence[str]
    documents: Sequence[Mapping[str, Any]] = ()
    fixtures: Sequence[str] = ()
    kinds: Sequence[str] = ()
    steps: Sequence[str] = ()
    only: str = ""
    seed: int = 0
    budget: int | None = None
    seconds: float | None = None
    jobs: int = 1
    timeout: float = 600.0


def versions_on(control: Control) -> dict[str, str]:
    """Return the versions of a server's common scenarios, by name."""
    documents = {"scenarios": control.send("GET", "scenarios")["scenarios"]}
    return {
        document.name: version_of(document.dump_shortest())
        for document in load_documents(documents, limits=ANY)
    }


@dataclass(frozen=True, slots=True)
class Bench:
    """A server on which the command is run again and again."""

    options: SweepOptions
    control: Control

    def observe(
        self,
        changes: Sequence[Mapping[str, Any]],
        *,
        session: str | None = None,
        limit: float,
        stop: threading.Event | None = None,
    ) -> Observation:
        """Reset the server and run the command with these changes of one session, or of all. Raises
        CannotRun, ServerFailed, or Interrupted when `stop` is set."""
        control = self.control
        control.send("POST", "reset", {"session": None, "scenarios": True})
        # An empty list drops all changes, and numbers all answers.
        control.send("PUT", "changes", {"changes": []})
        if changes:
            control.send("PUT", "changes", {"session": session, "changes": changes})
        program = run_program(self.options.command, control.base_url, limit=limit, stop=stop)
        answers = control.send("GET", "changes")["answers"]
        verdict = control.send("GET", "verdict", scenarios="*")
        transcript = control.journal(bodies=True)
        return Observation(program, answers, verdict, requests_of(transcript), transcript)


def requests_of(transcript: Sequence[Mapping[str, Any]]) -> list[tuple[str, bool]]:
    """Return each request as a key, equal for repetitions, and whether it got a good answer; the
    transcript is of `Control.requests`."""
    requests = []
    for entry in transcript:
        request, changed = entry["request"], CHANGE_HEADER in entry["response"]["headers"]
        key = f"{request['method']} {entry['path']} {entry['session']} {request['body']}"
        good = entry["matched"] and entry["outcome"] == "complete" and not changed
        requests.append((key, good))
    return requests


def sweep(
    options: SweepOptions,
    *,
    progress: Callable[[int, int, CellResult | None], None] = lambda done, of, result: None,
) -> Sweep:
    """Run a sweep. After an interruption it has the results so far. `progress` gets the number of
    finished and of all runs, and the latest result. Raises CannotSweep, CannotRun, BadCell or
    ServerFailed."""
    server = ServerOptions(options.documents, options.fixtures)
    with ExitStack() as stack:

        def bench() -> Bench:
            return Bench(options, stack.enter_context(controlled_server(server)))

        first = bench()
        clean = run_clean(first, options)
        cells = plan(options, clean.answers)
        if not cells:
            raise CannotSweep(NO_CELLS)
        result = Sweep(cells, options.seed, clean_body(clean))
        result.command, result.versions = shlex.join(options.command), versions_on(first.control)
        if not (options.steps or options.only):
            result.unused = unused_steps(clean.verdict)
        chosen = cells_to_run(cells, options.budget)
        benches: queue.SimpleQueue[Bench] = queue.SimpleQueue()
        benches.put(first)
        for _ in range(min(options.jobs, len(chosen)) - 1):
            benches.put(bench())
        if chosen:
            run_cells(result, chosen, clean, options, benches, progress)
        return result


def plan(options: SweepOptions, answers: Sequence[Answer]) -> list[Cell]:
    """Return the cells of a clean run's answers in the order of their runs; raises BadCell."""
    experiment = options.experiment
    cells = all_cells(
        answers, experiment.kinds, experiment.cells_of, kinds=options.kinds, steps=options.steps
    )
    cells = order_cells(cells, experiment.kinds, seed=options.seed)
    return [find_cell(options.only, cells)] if options.only else cells


def cells_to_run(cells: Sequence[Cell], budget: int | None) -> list[Cell]:
    """Return the cells without a `reason`, at most `budget` of them."""
    return [cell for cell in cells if not cell.reason][:budget]


def unused_steps(verdict: Mapping[str, Any]) -> list[str]:
    """Return the steps of a verdict from which no answer came, as SCENARIO/STEP."""
    return [f"{step['scenario']}/{step['step']}" for step in verdict["unserved"]]


def run_clean(bench: Bench, options: SweepOptions) -> Observation:
    """Run the command twice without trouble, and return the slower run; raises CannotSweep."""
    runs = []
    for _ in range(2):
        run = bench.observe((), limit=options.timeout)
        if run.program.hung:
            raise CannotSweep(
                f"without any trouble the command has not ended after {options.timeout:g} s; "
                "--timeout allows more"
            )
        if run.program.code:
            raise CannotSweep(
                f"without any trouble the command fails with exit code {run.program.code}:\n"
                f"{last_lines(run.program.output)}"
            )
        if not run.answers:
            raise CannotSweep(
                f"no step answered: {run.verdict['requests']} requests came, "
                f"{len(run.verdict['unmatched'])} of them unmatched. Does the command read "
                "MOCKLLM_URL or its SDK's base URL variable, and does --scenario name its answers?"
            )
        runs.append(run)
    if difference := first_difference(*runs):
        raise CannotSweep(f"two clean runs differ, so that no run can be judged: {difference}")
    return max(runs, key=lambda run: run.program.seconds)


def last_lines(output: str, lines: int = 20) -> str:
    """Return the last lines of an output."""
    return "\n".join(output.rstrip().splitlines()[-lines:])


def run_cells(
    result: Sweep,
    chosen: Sequence[Cell],
    clean: Observation,
    options: SweepOptions,
    benches: "queue.SimpleQueue[Bench]",
    progress: Callable[[int, int, CellResult | None], None],
) -> None:
    """Run the cells in parallel, one on each bench, and add their results to `result`. Cells that
    hung in parallel runs are run alone again. A KeyboardInterrupt keeps the results so far."""
    stop, seconds = threading.Event(), options.seconds
    ends_at = inf if seconds is None else time.monotonic() + seconds

    def run_cell(cell: Cell) -> CellResult | None:
        """Run a cell; return None if the sweep was stopped or its time is over."""
        if stop.is_set() or time.monotonic() > ends_at:
            return None
        # Changes of a step apply to all sessions.
        session = None if "step" in cell.change else cell.place.session
        limit = seconds_for(cell, clean.program.seconds)
        bench = benches.get()
        try:
            seen = bench.observe([cell.change], session=session, limit=limit, stop=stop)
        except Interrupted:
            return None
        finally:
            benches.put(bench)
        judgement = options.experiment.judge(cell, clean, seen)
        return CellResult(cell, judgement, seen.program, seen.transcript)

    progress(0, len(chosen), None)
    with ThreadPoolExecutor(options.jobs) as pool:
        futures: list[Future[CellResult | None]] = [pool.submit(run_cell, cell) for cell in chosen]
        try:
            for future in as_completed(futures):
                if (done := future.result()) is not None:
                    result.results[done.cell] = done
                    progress(len(result.results), len(chosen), done)
            # Parallel runs take longer than the clean run, so cells that hung are repeated alone.
            hung = [cell for cell, done in result.results.items() if done.program.hung]
            for cell in hung if options.jobs > 1 else ():
                result.results[cell] = run_cell(cell) or result.results[cell]
        except KeyboardInterrupt:
            result.left_out_because = INTERRUPTED
        finally:
            stop.set()


def seconds_for(cell: Cell, clean_seconds: float) -> float:
    """Return the time limit for the run of a cell, in seconds."""
    return max(PATIENCE * clean_seconds, MIN_SECONDS) + cell.kind.seconds


def clean_body(clean: Observation) -> dict[str, float]:
    """Return the report's fields about the clean run."""
    program = clean.program
    requests = len(clean.requests)
    return {"exit": program.code, "seconds": round(program.seconds, 3), "requests": requests}
