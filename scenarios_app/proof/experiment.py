"""The results of a sweep, and the description of an experiment, in which `torture` and `mutants`
differ."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from scenarios_app.proof.outcome import Judgement, Observation
from scenarios_app.proof.plan import Cell, Place
from scenarios_app.proof.program import ProgramRun
from scenarios_app.verdict.fault_kinds import Answer, Kind


@dataclass(frozen=True, slots=True)
class CellResult:
    """A cell that was run: the judgement, the end of the program, and its requests."""

    cell: Cell
    judgement: Judgement
    program: ProgramRun
    transcript: Sequence[Mapping[str, Any]]


@dataclass(slots=True)
class Sweep:
    """The cells of a sweep and the results so far; `left_out_because` says why others have none.

    `clean` is the run without changes: its exit code, seconds and number of requests. `unused` are
    the steps from which no answer came. `versions` are those of the common scenarios, by name.
    Sweeps of tests have no `command`.
    """

    cells: Sequence[Cell]
    seed: int = 0
    clean: Mapping[str, float] = field(default_factory=dict)
    results: dict[Cell, CellResult] = field(default_factory=dict)
    left_out_because: str = "the budget was used up"
    command: str = ""
    unused: Sequence[str] = ()
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def left_out(self) -> int:
        """The number of cells that were not run; those with a `reason` do not count."""
        return sum(1 for cell in self.cells if not cell.reason and cell not in self.results)


# Returns the shell command that repeats the cells of one name.
RepeatCommand: TypeAlias = Callable[..., str]
# Report files of a sweep, with their help texts.
REPORTS = {
    "json": "write the results as JSON",
    "html": "write a page with the results",
    "junit": "write the results as JUnit XML",
}
ReportText: TypeAlias = Callable[[Sweep, Sequence[str], RepeatCommand], str]


@dataclass(frozen=True, slots=True, eq=False)
class Experiment:
    """A kind of sweep: its changes, its judgement of a run, and its reports.

    `cells_of` yields the cells of these kinds at an answer of the clean run, given its place and a
    name for it. `judge` gets a cell, the clean run and the run with the change. `outcomes` maps
    outcomes to their meanings; a sweep fails by those in `fail_on`. `outcomes_of` returns those of
    a sweep, `score` its score from 0 to 1, or None without results. `reports` are for files.
    """

    name: str
    help: str
    kinds: Sequence[Kind]
    cells_of: Callable[[Answer, Place, str, Sequence[Kind]], Iterator[Cell]]
    judge: Callable[[Cell, Observation, Observation], Judgement]
    outcomes: Mapping[str, str]
    fail_on: Sequence[str]
    text: ReportText
    reports: Mapping[str, ReportText]
    outcomes_of: Callable[[Sweep], set[str]]
    score: Callable[[Sweep], float | None] | None = None

    def kind(self, name: str) -> Kind:
        """Return the kind of this name; raises StopIteration if there is none."""
        return next(kind for kind in self.kinds if kind.name == name)

    def fails(self, sweep: Sweep, fail_on: Sequence[str], fail_under: float | None) -> bool:
        """Return whether an outcome is in `fail_on`, or the score below `fail_under` percent."""
        score = self.score(sweep) if self.score is not None else None
        if fail_under is not None and score is not None and 100 * score < fail_under:
            return True
        return not self.outcomes_of(sweep).isdisjoint(fail_on)

    def fail_on_outcomes(
        self, wanted: Sequence[str] | None, fail_under: float | None
    ) -> Sequence[str]:
        """Return `wanted`, else none if there is a minimum score, else the default outcomes."""
        if wanted is not None:
            return wanted
        return self.fail_on if fail_under is None else ()

    def write_reports(
        self,
        sweep: Sweep,
        files: Mapping[str, Path | None],
        fail_on: Sequence[str],
        repeat_command: RepeatCommand,
    ) -> dict[str, str]:
        """Write the reports for which there is a file; they mark the cases whose outcome is in
        `fail_on`. Returns the errors of files that cannot be written, by path."""
        errors = {}
        for name, report in self.reports.items():
            if file := files[name]:
                text = report(sweep, fail_on, repeat_command).encode(errors="backslashreplace")
                try:
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_bytes(text)
                except OSError as error:
                    errors[str(file)] = f"cannot be written: {error.strerror}"
        return errors
