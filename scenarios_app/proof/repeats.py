"""The sweeps of tests: the plugin that `--mockllm-torture` registers."""

import os
import shlex
import sys
import time
from argparse import ArgumentTypeError
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest
from _pytest.runner import runtestprotocol

from scenarios_app.proof import OPTION
from scenarios_app.proof.alarm import Hung, time_limit
from scenarios_app.proof.command import names, outcomes, positive
from scenarios_app.proof.kinds import BY_NAME
from scenarios_app.proof.outcome import Judgement, Observation, first_difference, judge_run
from scenarios_app.proof.plan import BadCell, Cell, Place, all_cells, find_cell, in_order
from scenarios_app.proof.program import ProgramRun
from scenarios_app.proof.reports import FAIL_ON, REPORTS, failed_cells, text_report, write_report
from scenarios_app.proof.sweep import (
    Budget,
    CellResult,
    Sweep,
    change_of,
    clean_body,
    requests_of,
    seconds_for,
)
from scenarios_app.testing.control import TOKEN, Control
from scenarios_app.testing.plugin import fail_on_server_errors

T = TypeVar("T")
FIXTURE = "mockllm"
REPORT_ATTRIBUTE = "mockllm_torture"
# How the plugin's own failures begin, which are not the test's.
VERDICT_FAILED = "mockllm: "
NO_VERDICT: dict[str, Any] = {"findings": [], "unmatched": [], "violations": []}


@dataclass
class TestRun:
    """One run of a test: its changes, its time limit and its results."""

    __test__ = False

    changes: Sequence[dict[str, Any]]
    limit: float | None = None
    answers: Sequence[dict[str, Any]] = ()
    transcript: Sequence[dict[str, Any]] = ()
    hung: bool = False
    seconds: float = 0.0
    reports: list[pytest.TestReport] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        """True if the test failed by itself, not by its verdict."""
        return any(
            report.failed and not report.longreprtext.startswith(VERDICT_FAILED)
            for report in self.reports
        )

    @property
    def passed(self) -> bool:
        return all(report.passed for report in self.reports)

    def observation(self, session: str) -> Observation:
        last = self.reports[-1]
        texts = [
            report.longreprtext
            for report in self.reports
            if not report.longreprtext.startswith(VERDICT_FAILED)
        ]
        output = "\n".join((*texts, last.capstdout, last.capstderr))
        verdict = next(
            (vars(report)[FIXTURE] for report in self.reports if FIXTURE in vars(report)),
            NO_VERDICT,
        )
        return Observation(
            ProgramRun(int(self.failed), output, self.seconds, self.hung),
            [{**answer, "session": session} for answer in self.answers],
            verdict,
            requests_of(self.transcript),
            self.transcript,
        )


class TestSweeps:
    """Repeats tests; the process that reports prints the matrices."""

    __test__ = False

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        read = self._option
        self.kinds: list[str] = read("kinds", names, [])
        self.fail_on: Sequence[str] = read("fail-on", outcomes, FAIL_ON)
        self.budget = Budget(read("budget", positive, None), read("seconds", positive, None))
        self.seed: int = read("seed", int, 0)
        self.only: str = read("only", str, "")
        self.files = {name: read(name, Path, None) for name in REPORTS}
        if unknown := sorted(set(self.kinds) - BY_NAME.keys()):
            raise pytest.UsageError(
                f"{OPTION}-kinds: there is no kind {unknown[0]!r}; there are {', '.join(BY_NAME)}"
            )
        self._began = time.monotonic()
        self._run: TestRun | None = None
        self._sweeps: dict[str, Sweep] = {}
        self._notes: dict[str, str] = {}

    def _option(self, name: str, read: Callable[[str], T], default: T) -> T:
        text = self.config.getoption(f"{OPTION}-{name}")
        if text is None:
            return default
        try:
            return read(text)
        except (ArgumentTypeError, ValueError) as error:
            raise pytest.UsageError(f"{OPTION}-{name}: {error}") from None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> bool | None:
        markers = any(item.iter_markers(FIXTURE))
        if not markers and FIXTURE not in getattr(item, "fixturenames", ()):
            return None
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        clean = self._repeat(item, TestRun(()))
        body = self._sweep(item, clean) if clean.passed and clean.answers else None
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
        """Run the test with its own fixtures; those of wider scopes stay."""
        self._run = run
        item._report_sections.clear()
        began = time.monotonic()
        # What follows is in the same place, so that only the test itself is torn down.
        place: Any = item.parent
        run.reports = runtestprotocol(item, log=False, nextitem=place)
        run.seconds = time.monotonic() - began
        self._run = None
        return run

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Set the run's changes before the test, and read its answers after it."""
        session = getattr(item, "funcargs", {}).get(FIXTURE)
        run = self._run
        if session is None or run is None:
            return (yield)
        token = os.environ.get(TOKEN, "")
        with fail_on_server_errors(), closing(Control(session.base_url, token=token)) as control:
            control.send(
                "PUT", "changes", {"session": session.session, "changes": list(run.changes)}
            )
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
                run.transcript = [
                    control.send("GET", f"requests/{entry['id']}")
                    for entry in control.requests(session.session)
                ]

    def _sweep(self, item: pytest.Item, clean: TestRun) -> dict[str, Any]:
        """Run the cells of a test; return their results as JSON."""
        session = item.nodeid
        before = clean.observation(session)
        again = self._repeat(item, TestRun(())).observation(session)
        if difference := first_difference(before, again):
            return {"note": f"not swept, since two clean runs differ: {difference}"}
        try:
            cells = in_order(all_cells(before.answers, kinds=self.kinds), seed=self.seed)
            if self.only:
                cells = [find_cell(self.only, cells)]
        except BadCell as error:
            return {"note": str(error)}
        results = []
        for cell in cells[: self.budget.runs]:
            if self.budget.seconds and time.monotonic() - self._began > self.budget.seconds:
                break
            run = TestRun([change_of(cell)], limit=seconds_for(cell, clean.seconds))
            observation = self._repeat(item, run).observation(session)
            judgement = judge_run(cell, before, observation)
            results.append(
                {
                    "cell": cell.name,
                    "outcome": judgement.outcome,
                    "reason": judgement.reason,
                    "exit": observation.program.code,
                    "seconds": run.seconds,
                    "output": observation.program.output,
                    "transcript": list(observation.transcript),
                }
            )
        return {
            "clean": clean_body(before),
            "cells": [
                (cell.name, cell.kind.name, cell.place.number, cell.place.step) for cell in cells
            ],
            "results": results,
        }

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect the results of a test, also those of another process."""
        body = vars(report).get(REPORT_ATTRIBUTE)
        if body is None:
            return
        if "note" in body:
            self._notes[report.nodeid] = body["note"]
            return
        cells = {
            name: Cell(f"{report.nodeid} {name}", BY_NAME[kind], Place(report.nodeid, number, step))
            for name, kind, number, step in body["cells"]
        }
        sweep = self._sweeps[report.nodeid] = Sweep(list(cells.values()), self.seed, body["clean"])
        for one in body["results"]:
            cell = cells[one["cell"]]
            judgement = Judgement(one["outcome"], one["reason"])
            sweep.results[cell] = CellResult(
                cell, judgement, one["exit"], one["seconds"], one["output"], one["transcript"]
            )

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        write = terminalreporter.write_line
        terminalreporter.section("mockllm torture")
        for test, note in sorted(self._notes.items()):
            write(f"{test}: {note}")
        for test, sweep in sorted(self._sweeps.items()):
            write(f"\n{test}")
            write(text_report(sweep, self.fail_on, _again))
        if not self._sweeps and not self._notes:
            write("no test passed with an answer of the server, so there is nothing to repeat")

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workerinput"):
            return
        whole = Sweep([], self.seed, {"exit": 0, "seconds": 0.0, "requests": 0})
        for _, sweep in sorted(self._sweeps.items()):
            whole.cells = [*whole.cells, *sweep.cells]
            whole.results |= sweep.results
            whole.clean = {key: whole.clean[key] + value for key, value in sweep.clean.items()}
        for name, file in self.files.items():
            if file is not None:
                write_report(file, REPORTS[name].text(whole, self.fail_on, _again))
        if session.exitstatus == pytest.ExitCode.OK and failed_cells(whole, self.fail_on):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _again(cell: Cell) -> str:
    python = "pytest" if sys.argv[0].endswith("pytest") else "python -m pytest"
    test, _, name = cell.name.rpartition(" ")
    return f"{python} {shlex.quote(test)} {OPTION} {OPTION}-only {shlex.quote(name)}"
