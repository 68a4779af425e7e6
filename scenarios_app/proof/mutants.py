"""`mockllm mutants`: one change of the script at a time, and whether a test notices it."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import Any

from scenarios_app.engine.producing.alterations import ALTERATIONS
from scenarios_app.proof import command
from scenarios_app.proof.experiment import Experiment, RepeatCommand, Sweep
from scenarios_app.proof.outcome import Judgement, Observation, was_applied
from scenarios_app.proof.plan import Cell, Place
from scenarios_app.proof.reports import STYLE
from scenarios_app.testing.run import CANNOT_START
from scenarios_app.verdict.fault_kinds import Answer, Kind
from scenarios_app.verdict.reports import Case, junit

HELP = (
    "Repeats a command with one change of the script at a time. Lists those that it does not "
    "notice. The exit code is 0, 1 if a mutant survived or the score is below --fail-under, 2 if "
    f"the command cannot be swept. {CANNOT_START}"
)
OUTCOMES = {
    "killed": "a test failed, or did not end in time",
    "survived": "all tests that use the step stay green",
    "unused": "the step did not answer",
}
KINDS: tuple[Kind, ...] = tuple(
    Kind(alteration.name, alteration.words, {"alteration": alteration.name}, signs=(), needs="any")
    for alteration in ALTERATIONS.values()
    if not alteration.broken
)


def cells_of(answer: Answer, place: Place, _: str, kinds: Sequence[Kind]) -> Iterator[Cell]:
    """Yield a cell for each of the answer's `variants` that is of these kinds."""
    for kind in kinds:
        for variant in answer["variants"]:
            if variant["alteration"] != kind.name:
                continue
            nth = variant["nth"]
            name = f"{kind.name}.{nth}@{place.step}" if nth > 1 else f"{kind.name}@{place.step}"
            change = {"step": place.step, "nth": nth, **kind.change}
            reason = answer["equivalent_changes"].get(kind.name, "")
            yield Cell(name, kind, place, change, variant["before"], variant["after"], reason)


def judge(cell: Cell, clean: Observation, run: Observation) -> Judgement:
    """Return that a run killed the mutant, that the mutant survived, or that its step was unused;
    `clean` is not used."""
    program = run.program
    if not was_applied(run):
        return Judgement("unused", f"{cell.place.step} did not answer in this run")
    if program.hung:
        return Judgement("killed", "it did not end in time")
    if program.code:
        return Judgement("killed", f"exit code {program.code}")
    return Judgement("survived", "")


@dataclass(frozen=True, slots=True)
class Mutant:
    """A changed script with its outcome in all tests that use the step, or an unused step. One test
    that fails is enough for `killed`."""

    step: str
    outcome: str
    tests: Sequence[str] = ()
    cells: Sequence[Cell] = ()

    @property
    def change(self) -> str:
        """The label of the kind of change; empty for an unused step."""
        return self.cells[0].kind.label if self.cells else ""

    @property
    def difference(self) -> str:
        """Return what the change does to the answer, in words; raises IndexError for an unused
        step."""
        before, after = self.cells[0].before, self.cells[0].after
        if before and after:
            return f"{before} becomes {after}"
        return f"{after} is added" if after else f"{before or 'the answer'} is left out"


def mutants_of(sweep: Sweep) -> list[Mutant]:
    """Return the mutants that were run, in the order of their steps, and then the unused steps."""
    mutants = []
    for _, group in groupby(sorted(sweep.results, key=_sort_key), _mutant_key):
        cells = list(group)
        outcomes = {sweep.results[cell].judgement.outcome for cell in cells}
        tests = [sweep.command] if sweep.command else [cell.place.session for cell in cells]
        worst = next(outcome for outcome in OUTCOMES if outcome in outcomes)
        mutants.append(Mutant(cells[0].place.step, worst, tests, cells))
    return [*mutants, *(Mutant(step, "unused") for step in sorted(sweep.unused))]


def _mutant_key(cell: Cell) -> tuple[str, str, int, int]:
    """Return the key that equal changes of one step share in all tests."""
    place, kinds = cell.place, [kind.name for kind in KINDS]
    return place.owner, place.step, kinds.index(cell.kind.name), cell.change["nth"]


def _sort_key(cell: Cell) -> tuple[Any, ...]:
    return (*_mutant_key(cell), cell.place.session, cell.place.number)


def _count_outcomes(sweep: Sweep) -> Counter[str]:
    return Counter(mutant.outcome for mutant in mutants_of(sweep))


def score(sweep: Sweep) -> float | None:
    """Return the share of killed mutants among killed and survived ones, or None without any."""
    counts = _count_outcomes(sweep)
    run = counts["killed"] + counts["survived"]
    return counts["killed"] / run if run else None


def text_report(sweep: Sweep, fail_on: Sequence[str], repeat_command: RepeatCommand) -> str:
    """Return the survivors, what was left out, and the score; `fail_on` is not used."""
    lines: list[str] = []
    for mutant in mutants_of(sweep):
        if mutant.outcome == "survived":
            tests = "the command" if sweep.command else ", ".join(mutant.tests)
            stay = "stays" if len(mutant.tests) == 1 else "stay"
            lines += [
                f"{tests} {stay} green when {mutant.difference}",
                f"  {mutant.change} at {mutant.step}",
                f"  again: {repeat_command(*mutant.cells)}",
                "",
            ]
    lines += [f"unused, since no answer came from it: {step}" for step in sorted(sweep.unused)]
    lines += [
        f"left out as equivalent: {cell.kind.label} at {cell.place.step}: {cell.reason}"
        for cell in _equivalent_cells(sweep)
    ]
    if sweep.left_out:
        lines.append(f"mutants left out: {sweep.left_out}, since {sweep.left_out_because}")
    counts, part = _count_outcomes(sweep), score(sweep)
    percent = "none, since no mutant was run" if part is None else f"{100 * part:.0f} %"
    score_line = f"score: {percent}, {counts['killed']} killed, {counts['survived']} survived"
    return "\n".join([*lines, score_line])


def _equivalent_cells(sweep: Sweep) -> list[Cell]:
    """Return a cell for each step and kind of change that it declares to be equivalent."""
    cells = sorted((cell for cell in sweep.cells if cell.reason), key=_sort_key)
    return list({_mutant_key(cell)[:3]: cell for cell in cells}.values())


def json_report(sweep: Sweep, fail_on: Sequence[str], repeat_command: RepeatCommand) -> str:
    """Return the mutants as JSON, the same for equal sweeps. `fail_on` is not used."""
    part = score(sweep)
    body = {
        "seed": sweep.seed,
        "mutants": [_mutant_body(mutant, repeat_command) for mutant in mutants_of(sweep)],
        "score": None if part is None else round(part, 2),
        "equivalent": [
            {"step": cell.place.step, "change": cell.kind.label, "reason": cell.reason}
            for cell in _equivalent_cells(sweep)
        ],
        "skipped": sweep.left_out,
    }
    return json.dumps(body, indent=1, ensure_ascii=False) + "\n"


def _mutant_body(mutant: Mutant, repeat_command: RepeatCommand) -> dict[str, Any]:
    cell = mutant.cells[0] if mutant.cells else None
    return {
        "step": mutant.step,
        "change": mutant.change,
        "kind": cell.kind.name if cell else "",
        "before": cell.before if cell else "",
        "after": cell.after if cell else "",
        "outcome": mutant.outcome,
        "tests": list(mutant.tests),
        "repeat": repeat_command(*mutant.cells) if cell else "",
    }


def junit_report(sweep: Sweep, fail_on: Sequence[str], repeat_command: RepeatCommand) -> str:
    """Return a JUnit case for each mutant; those with an outcome in `fail_on` fail.
    `repeat_command` is not used."""
    cases = []
    for mutant in mutants_of(sweep):
        name = f"{mutant.change}: {mutant.difference}" if mutant.cells else mutant.step
        text = f"{mutant.outcome}: {', '.join(mutant.tests)}"
        cases.append(Case(mutant.step, name, (text,) if mutant.outcome in fail_on else ()))
    return junit("mockllm mutants", cases)


def html_report(sweep: Sweep, fail_on: Sequence[str], repeat_command: RepeatCommand) -> str:
    """Return a page with the score and the mutants, survivors first; `fail_on` is not used."""
    mutants = sorted(mutants_of(sweep), key=lambda mutant: mutant.outcome != "survived")
    rows = "".join(
        f"<tr><td>{escape(row['step'])}</td><td>{escape(row['change'])}</td>"
        f"<td>{escape(row['before'])}</td><td>{escape(row['after'])}</td>"
        f'<td class="{row["outcome"]}">{row["outcome"]}</td>'
        f"<td>{'<br>'.join(map(escape, row['tests']))}</td><td>{escape(row['repeat'])}</td></tr>"
        for row in (_mutant_body(mutant, repeat_command) for mutant in mutants)
    )
    heads = "".join(
        f"<th>{head}</th>"
        for head in ("step", "change", "before", "after", "outcome", "tests", "again")
    )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>mockllm mutants</title>'
        f"<style>{STYLE}td.survived {{ background: #c223 }}</style><h1>mockllm mutants</h1>"
        f"<p>{escape(text_report(sweep, fail_on, repeat_command).splitlines()[-1])}</p>"
        f"<table><tr>{heads}</tr>{rows}</table></html>\n"
    )


MUTANTS = Experiment(
    "mutants",
    HELP,
    KINDS,
    cells_of,
    judge,
    OUTCOMES,
    ("survived",),
    text_report,
    {"json": json_report, "html": html_report, "junit": junit_report},
    outcomes_of=lambda sweep: {mutant.outcome for mutant in mutants_of(sweep)},
    score=score,
)


def main(arguments: Sequence[str]) -> int:
    return command.main(MUTANTS, arguments)
