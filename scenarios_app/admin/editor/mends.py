"""What a click can do about a finding of lint: set a field, or put a step before another one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scenarios_app.admin.editor.frequency import ONCE
from scenarios_app.engine.matching.lint import Suspicion


@dataclass(frozen=True, slots=True)
class Mend:
    """A button: the field of a name gets a `value`, or the row of an id goes `before` another."""

    label: str
    target: str
    value: str = ""
    before: str = ""


def mends_of(one: Suspicion, rows: Sequence[str]) -> Iterator[Mend]:
    """For one finding; `rows` are the ids of a scenario's rows, in the order of its steps."""
    row = rows[one.row]
    if one.by and one.by[0] == one.scenario:
        other = rows[one.by[1] - 1]
        if one.kind == "looping":
            yield Mend(f"Try step {one.by[1]} before it", other, before=row)
        elif one.kind == "shadowed":
            yield Mend(f"Try it before step {one.by[1]}", row, before=other)
    if one.kind == "looping":
        yield Mend("Only as the 1st answer", f"{row}-turn", "1")
    if one.kind == "broad":
        yield Mend("Only once per session", f"{row}-consume", ONCE)
        yield Mend("After all other scenarios: priority -1", "priority", "-1")
