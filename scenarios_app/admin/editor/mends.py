"""What a click can do about a finding of lint: set a field, put a step before another one, add one,
or go to where it is put right by hand."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scenarios_app.admin.editor.frequency import ONCE
from scenarios_app.engine.matching.lint import Suspicion
from scenarios_app.models import StepColumns
from scenarios_app.store.translate import column_at

SHOW = "show"
ADD = "add"


@dataclass(frozen=True, slots=True)
class Mend:
    """A button: the field of a name gets a `value`, or has `was` replaced by it; or the row of an
    id goes `before` another. What it `does` else: `add` a step, or `show` the field."""

    label: str
    target: str
    value: str = ""
    before: str = ""
    was: str = ""
    does: str = ""


def mends_of(
    one: Suspicion, rows: Sequence[str], steps: Sequence[StepColumns], above: int | None = None
) -> Iterator[Mend]:
    """For one finding; `rows` are the ids of a scenario's rows in the order of its `steps`, `above`
    is the priority of the scenario that is in its way. There is always one."""
    if one.kind == "empty":
        yield Mend("Add a step", "steps", does=ADD)
        return
    row, step = rows[one.row], steps[one.row]
    found = [*_by_kind(one, row), *_by_order(one, row, rows)]
    if one.kind == "shadowed" and above is not None:
        label = f"Before all of {one.by[0]}: priority {above + 1}" if one.by else ""
        found.append(Mend(label, "priority", str(above + 1)))
    column = column_at(one.place, step)
    if one.instead:
        was, value = one.instead
        yield Mend(f"{value} in place of {was}", f"{row}-{column}", value, was=was)
    yield from found
    if one.kind == "placeholder":
        yield Mend("Write the answer", f"{row}-answer_text", does=SHOW)
    elif not found and not one.instead:
        yield Mend("Show it", f"{row}-{column}", does=SHOW)


def _by_kind(one: Suspicion, row: str) -> Iterator[Mend]:
    if one.kind == "looping":
        yield Mend("Only as the 1st answer", f"{row}-turn", "1")
    if one.kind == "broad":
        yield Mend("Only once per session", f"{row}-consume", ONCE)
        yield Mend("After all other scenarios: priority -1", "priority", "-1")


def _by_order(one: Suspicion, row: str, rows: Sequence[str]) -> Iterator[Mend]:
    if one.by and one.by[0] == one.scenario:
        other = rows[one.by[1] - 1]
        if one.kind == "looping":
            yield Mend(f"Try step {one.by[1]} before it", other, before=row)
        elif one.kind == "shadowed":
            yield Mend(f"Try it before step {one.by[1]}", row, before=other)
