"""The sweeps of tests: the plugin that `--mockllm-torture` and `--mockllm-mutants` register."""

import os
import shlex
import sys
import time
from argparse import ArgumentTypeError
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, astuple, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest
from _pytest.runner import runtestprotocol

from scenarios_app.proof.alarm import Hung, time_limit
from scenarios_app.proof.command import (
    parse_names,
    parse_outcomes,
    parse_percent,
    parse_positive,
    progress_line,
)
from scenarios_app.proof.experiment import CellResult, Experiment, Sweep
from scenarios_app.proof.outcome import Judgement, Observation, first_difference
from scenarios_app.proof.plan import BadCell, Cell, Place, check_kinds
from scenarios_app.proof.program import ProgramRun
from scenarios_app.proof.sweep import (
    NO_CELLS,
    SweepOptions,
    cells_to_run,
    clean_body,
    plan,
    requests_of,
    seconds_for,
    unused_steps,
    versions_on,
)
from scenarios_app.testing.control import TOKEN_VARIABLE, Control
from scenarios_app.testing.plugin import fail_on_server_errors

T = TypeVar("T")
D = TypeVar("D")
FIXTURE = "mockllm"
REPORT_ATTRIBUTE = "mockllm_sweep"
# The beginning of failures that the plugin reports itself.
VERDICT_FAILED = "mockllm: "
NO_VERDICT: dict[str, Any] = {"findings": [], "unmatched": [], "violations": []}


@dataclass
class TestRun:
    """One run of a test: its changes, its time limit and its results. `stubs` are the scenarios in
    the test's own code, `unused` the steps that did not answer, `versions` those of the common
    scenarios, by name."""

    __test__ = False

    changes: Sequence[Mapping[str, Any]]
    limit: float | None = None
    answers: Sequence[dict[str, Any]] = ()
    transcript: Sequence[dict[str, Any]] = ()
    hung: bool = False
    seconds: float = 0.0
    reports: list[pytest.TestReport] = field(default_factory=list)
    stubs: Sequence[str] = ()
    unused: Sequence[str] = ()
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """True if setup, call and teardown passed."""
        return all(report.passed for report in self.reports)

    def observation(self, session: str) -> Observation:
        """Return the run for the judgement; the exit code is 0 if nothing but the verdict
        failed."""
        last = self.reports[-1]
        own = [
            report for report in self.reports if not report.longreprtext.startswith(VERDICT_FAILED)
        ]
        output = "\n".join(
            (*(report.longreprtext for report in own), last.capstdout, last.capstderr)
        )
        code = int(any(report.failed for report in own))
        verdicts = (vars(report)[FIXTURE] for report in self.reports if FIXTURE in vars(report))
        answers = [
            {
                **answer,
                "session": session,
                "owner": session if answer["scenario"] in self.stubs else "",
            }
            for answer in self.answers
        ]
        return Observation(
            ProgramRun(code, output, self.seconds, self.hung),
            answers,
            next(verdicts, NO_VERDICT),
            requests_of(self.transcript),
            self.transcript,
        )


class TestSweeps:
    """The pytest plugin that repeats tests; only the reporting process prints the matrices."""

    __test__ = False

    def __init__(self, config: pytest.Config, experiment: Experiment) -> None:
        self.config = config
        self.experiment = experiment
        self.option = f"--mockllm-{experiment.name}"
        read = self._read_option
        self.fail_under = read("fail-under", parse_percent, None) if experiment.score else None
        wanted = read("fail-on", partial(parse_outcomes, experiment), None)
        self.fail_on = experiment.fail_on_outcomes(wanted, self.fail_under)
        self.files = {name: read(name, Path, None) for name in experiment.reports}
        self.options = SweepOptions(
            experiment,
            (),
            kinds=read("kinds", parse_names, []),
            only=read("only", str, ""),
            seed=read("seed", int, 0),
            budget=read("budget", parse_positive, None),
            seconds=read("seconds", parse_positive, None),
        )
        try:
            check_kinds(self.options.kinds, experiment.kinds)
        except BadCell as error:
            raise pytest.UsageError(f"{self.option}-kinds: {error}") from None
        self._began = time.monotonic()
        self._run: TestRun | None = None
        self._sweeps: dict[str, Sweep] = {}
        self._notes: dict[str, str] = {}
        self._unused: set[str] = set()
        self._used: set[str] = set()

    def _read_option(self, name: str, read: Callable[[str], T], default: D) -> T | D:
        """Return the parsed option, or `default` without it; raises UsageError if it is invalid."""
        text = self.config.getoption(f"{self.option}-{name}")
        if text is None:
            return default
        try:
            return read(text)
        except (ArgumentTypeError, ValueError) as error:
            raise pytest.UsageError(f"{self.option}-{name}: {error}") from None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> bool | None:
        """Run a test of the fixture `mockllm` and sweep it; return None for other tests."""
        markers = any(item.iter_markers(FIXTURE))
        if not markers and FIXTURE not in getattr(item, "fixturenames", ()):
            return None
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        clean = self._repeat(item, TestRun(()))
        body: dict[str, Any] = {
            "used": [f"{answer['scenario']}/{answer['step']}" for answer in clean.answers],
            "unused": clean.unused,
        }
        if clean.passed and clean.answers:
            body |= self._sweep(item, clean)
        # The fixtures of wider scopes end after the last run.
        end = pytest.CallInfo.from_call(
            lambda: item.session._setupstate.teardown_exact(nextitem), when="teardown"
        )
        if end.excinfo is not None:
            clean.reports.append(pytest.TestReport.from_item_and_call(item, end))
        vars(clean.reports[-1])[REPORT_ATTRIBUTE] = body
        for report in clean.reports:
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def _repeat(self, item: pytest.Item, run: TestRun) -> TestRun:
        """Run the test and fill in `run`; only fixtures of the test itself are set up again."""
        self._run = run
        item._report_sections.clear()
        began = time.monotonic()
        # The next item has the same parent, so that only the test itself is torn down.
        place: Any = item.parent
        run.reports = runtestprotocol(item, log=False, nextitem=place)
        run.seconds = time.monotonic() - began
        self._run = None
        return run

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Set the run's changes before the test, and read its answers after it; at the time limit,
        fail the test."""
        session = getattr(item, "funcargs", {}).get(FIXTURE)
        run = self._run
        if session is None or run is None:
            return (yield)
        token = os.environ.get(TOKEN_VARIABLE, "")
        with fail_on_server_errors(), closing(Control(session.base_url, token=token)) as control:
            changes = {"session": session.session, "changes": list(run.changes)}
            control.send("PUT", "changes", changes)
            try:
                if run.limit is None:
                    return (yield)
                with time_limit(run.limit):
                    return (yield)
            except Hung:
                run.hung = True
                raise pytest.fail.Exception("the test did not end in time") from None
            finally:
                run.answers = control.send("GET", "changes", session=session.session)["answers"]
                run.stubs = session.stub_names()
                if run.limit is None:
                    versions = versions_on(control).items()
                    run.versions = {name: v for name, v in versions if name not in run.stubs}
                    steps = unused_steps(session.verdict(scenarios="*"))
                    run.unused = [
                        step for step in steps if step.rpartition("/")[0] not in run.stubs
                    ]
                run.transcript = control.journal(session.session, bodies=True)

    def _sweep(self, item: pytest.Item, clean: TestRun) -> dict[str, Any]:
        """Run the cells of a test; return their results as JSON, or a note why it was not swept."""
        session = item.nodeid
        before = clean.observation(session)
        again = self._repeat(item, TestRun(())).observation(session)
        if difference := first_difference(before, again):
            return {"note": f"not swept, since two clean runs differ: {difference}"}
        try:
            cells = plan(self.options, before.answers)
        except BadCell as error:
            return {"note": str(error)}
        if not cells:
            return {"note": NO_CELLS}
        results = []
        seconds = self.options.seconds
        chosen = cells_to_run(cells, self.options.budget)
        for done, cell in enumerate(chosen, 1):
            if seconds and time.monotonic() - self._began > seconds:
                break
            run = TestRun([cell.change], limit=seconds_for(cell, clean.seconds))
            observation = self._repeat(item, run).observation(session)
            judgement = self.experiment.judge(cell, before, observation)
            name = f"{item.nodeid} {cell.name}"
            self._show_progress(done, len(chosen), name, judgement.outcome)
            ended = astuple(judgement), astuple(observation.program)
            results.append((cell.name, *ended, list(observation.transcript)))
        return {
            "clean": clean_body(before),
            "versions": clean.versions,
            "cells": [asdict(cell) | {"kind": cell.kind.name} for cell in cells],
            "results": results,
        }

    def _show_progress(self, done: int, total: int, name: str, outcome: str) -> None:
        """Print the line of a result where there is no terminal, as logs of CI need it. Workers
        have no output."""
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None and not reporter.isatty:
            reporter.write_line(progress_line(done, total, name, outcome))
            reporter.flush()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect the results of a test, also those of another process."""
        body = vars(report).get(REPORT_ATTRIBUTE)
        if body is None:
            return
        self._used |= set(body["used"])
        self._unused |= set(body["unused"])
        if "note" in body:
            self._notes[report.nodeid] = body["note"]
        if "cells" not in body:
            return
        cells = {cell["name"]: self._cell_from(report.nodeid, cell) for cell in body["cells"]}
        sweep = Sweep(list(cells.values()), self.options.seed, body["clean"])
        sweep.versions, self._sweeps[report.nodeid] = body["versions"], sweep
        results = body["results"]
        for done, (name, judgement, program, transcript) in enumerate(results, 1):
            ended = Judgement(*judgement), ProgramRun(*program)
            if hasattr(report, "node"):
                # The worker printed nothing.
                self._show_progress(done, len(results), cells[name].name, ended[0].outcome)
            sweep.results[cells[name]] = CellResult(cells[name], *ended, transcript)

    def _cell_from(self, test: str, body: Mapping[str, Any]) -> Cell:
        """Return the cell of this JSON, with the test's id before its name."""
        kind, place = self.experiment.kind(body["kind"]), Place(**body["place"])
        return Cell(**{**body, "name": f"{test} {body['name']}", "kind": kind, "place": place})

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print notes and the report of each test, or of all tests for scores."""
        write = terminalreporter.write_line
        terminalreporter.section(f"mockllm {self.experiment.name}")
        for test, note in sorted(self._notes.items()):
            write(f"{test}: {note}")
        if self._sweeps and self.experiment.score is not None:
            # Tests share the steps of scenario files, so all tests have one report.
            write(self.experiment.text(self._merge_sweeps(), self.fail_on, self._repeat_command))
        else:
            for test, sweep in sorted(self._sweeps.items()):
                write(f"\n{test}")
                write(self.experiment.text(sweep, self.fail_on, self._repeat_command))
        if not self._sweeps and not self._notes:
            write("no test passed with an answer of the server, so there is nothing to repeat")

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the reports, and fail the session if they or the sweep fail; not in a worker."""
        if hasattr(session.config, "workerinput"):
            return
        whole, experiment = self._merge_sweeps(), self.experiment
        errors = experiment.write_reports(whole, self.files, self.fail_on, self._repeat_command)
        self._notes |= errors
        fails = bool(errors) or experiment.fails(whole, self.fail_on, self.fail_under)
        if session.exitstatus == pytest.ExitCode.OK and fails:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _merge_sweeps(self) -> Sweep:
        """Return one sweep of the cells and results of all tests."""
        clean = {"exit": 0, "seconds": 0.0, "requests": 0}
        whole = Sweep([], self.options.seed, clean, unused=sorted(self._unused - self._used))
        for _, sweep in sorted(self._sweeps.items()):
            whole.cells = [*whole.cells, *sweep.cells]
            whole.results |= sweep.results
            whole.versions = {**whole.versions, **sweep.versions}
            whole.clean = {key: whole.clean[key] + value for key, value in sweep.clean.items()}
        return whole

    def _repeat_command(self, *cells: Cell) -> str:
        """Return the pytest command that runs the first of these cells again."""
        python = "pytest" if sys.argv[0].endswith("pytest") else "python -m pytest"
        tests = dict.fromkeys(cell.place.session for cell in cells)
        name = cells[0].name.removeprefix(f"{cells[0].place.session} ")
        words = [*tests, self.option, f"{self.option}-only", name]
        return f"{python} {shlex.join(words)}"
