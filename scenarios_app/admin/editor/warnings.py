"""Warnings of a scenario, for its page and for messages. Steps with the same warning share a line
and its fixes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from scenarios_app.admin.editor.forms import StepRowForm
from scenarios_app.admin.editor.problems import SHOW, Fix, fixes_for
from scenarios_app.admin.editor.rows import FormProblem
from scenarios_app.catalog import catalog
from scenarios_app.engine.matching.lint import Suspicion

# A page shows this many warnings, and a warning this many of its steps; the rest is folded.
MAX_SHOWN = 3


@dataclass(frozen=True, slots=True)
class WarningGroup:
    """The warnings with one message, in the order of their steps. `mends` mend all of them."""

    message: str
    lines: tuple[FormProblem, ...]

    @property
    def where(self) -> str:
        """The steps, such as `Steps 2, 3, 4 and 5 more`; "" for the whole scenario."""
        names = [line.where for line in self.lines]
        if len(names) < 2 or not all(names):
            return names[0]
        numbers = [name.removeprefix("Step ") for name in names]
        left = len(numbers) - MAX_SHOWN
        if left > 1:
            return f"Steps {', '.join(numbers[:MAX_SHOWN])} and {left} more"
        return f"Steps {', '.join(numbers[:-1])} and {numbers[-1]}"

    @property
    def target(self) -> str:
        return self.lines[0].target

    @property
    def mends(self) -> tuple[Fix, ...]:
        """The fixes of the only line, or those that all lines have, each for all of its targets."""
        if len(self.lines) == 1:
            return self.lines[0].mends
        by_effect: dict[Fix, list[Fix]] = {}
        for fix in (fix for line in self.lines for fix in line.mends if fix.does != SHOW):
            by_effect.setdefault(replace(fix, target=""), []).append(fix)
        return tuple(_join(fixes) for fixes in by_effect.values() if len(fixes) == len(self.lines))


def warning_groups(
    suspicions: Iterable[Suspicion], forms: Sequence[StepRowForm]
) -> list[WarningGroup]:
    """Return suspicions as lines of the page, with fixes, grouped by their messages. `forms` are
    the forms of the scenario's steps, in order; a suspicion about a step without a form, such as
    one that the user may not view, gets no link and no fixes."""
    rows, steps = [form.prefix or "" for form in forms], [form.document for form in forms]
    index = catalog.snapshot().index.by_name
    lines: dict[str, list[FormProblem]] = {}
    for suspicion in suspicions:
        by = suspicion.by[0] if suspicion.by else suspicion.scenario
        other = index.get(by) if by != suspicion.scenario else None
        where, target, fixes = f"Step {suspicion.step}" if suspicion.step else "", "", tuple[Fix]()
        if suspicion.step <= len(rows):
            above = other.priority if other else None
            fixes = tuple(fixes_for(suspicion, rows, steps, above=above))
            target = rows[suspicion.row] if suspicion.step else "steps"
        line = FormProblem(where, suspicion.message, target, fixes)
        lines.setdefault(suspicion.message, []).append(line)
    return [WarningGroup(message, tuple(same)) for message, same in lines.items()]


def _join(fixes: Sequence[Fix]) -> Fix:
    """Return one fix with the targets of several that are alike but for these."""
    targets = dict.fromkeys(fix.target for fix in fixes)
    if len(targets) == 1:
        return fixes[0]
    label = fixes[0].for_all or f"{fixes[0].label} (all {len(fixes)})"
    return replace(fixes[0], label=label, target=" ".join(targets))
