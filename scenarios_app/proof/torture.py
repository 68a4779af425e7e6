"""`mockllm torture`: one fault at one answer at a time."""

from collections.abc import Iterator, Sequence

from scenarios_app.proof import command
from scenarios_app.proof.experiment import Experiment
from scenarios_app.proof.outcome import OUTCOMES, judge_run
from scenarios_app.proof.plan import Cell, Place
from scenarios_app.proof.reports import FAIL_ON, html_report, json_report, junit_report, text_report
from scenarios_app.testing.run import CANNOT_START
from scenarios_app.verdict.fault_kinds import KINDS, Answer, Kind

HELP = (
    "Repeats a command with one fault at one answer at a time. Prints how it took each. "
    "The exit code is 0, 1 if an outcome of --fail-on came, 2 if the command cannot be swept. "
    + CANNOT_START
)


def cells_of(answer: Answer, place: Place, where: str, kinds: Sequence[Kind]) -> Iterator[Cell]:
    """Yield a cell, named KIND@WHERE, for each kind of trouble that fits the answer."""
    for kind in kinds:
        if kind.applies(answer):
            change = {"answer": place.number, **kind.change}
            yield Cell(f"{kind.name}@{where}", kind, place, change)


TORTURE = Experiment(
    "torture",
    HELP,
    KINDS,
    cells_of,
    judge_run,
    OUTCOMES,
    FAIL_ON,
    text_report,
    {"json": json_report, "html": html_report, "junit": junit_report},
    outcomes_of=lambda sweep: {result.judgement.outcome for result in sweep.results.values()},
)


def main(arguments: Sequence[str]) -> int:
    return command.main(TORTURE, arguments)
