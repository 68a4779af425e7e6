"""The cells of a sweep, one for each kind of change at each answer or step, and their order."""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from scenarios_app.verdict.fault_kinds import Answer, Kind


class BadCell(Exception):
    """No cell, kind or step has this name; the message lists those that exist."""


@dataclass(frozen=True, slots=True)
class Place:
    """An answer of the clean run: its number in its session, and the step that gave it. `owner` is
    the test that scripts the step, if no other test can use it."""

    session: str
    number: int
    step: str
    owner: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """One kind of change at one place. `name` identifies it in the same program's sweeps. `change`
    is the body for the control API. Of a changed script, `before` and `after` are the changed part.
    A cell is not run if it has a `reason` why no test needs to notice the change."""

    name: str
    kind: Kind
    place: Place
    change: Mapping[str, Any] = field(default_factory=dict, compare=False)
    before: str = ""
    after: str = ""
    reason: str = ""


def all_cells(
    answers: Sequence[Answer],
    all_kinds: Sequence[Kind],
    cells_of: Callable[[Answer, Place, str, Sequence[Kind]], Iterator[Cell]],
    *,
    kinds: Sequence[str] = (),
    steps: Sequence[str] = (),
) -> list[Cell]:
    """Return the cells of a clean run in the order of its answers and the table of kinds. `kinds`
    and `steps` (`SCENARIO/STEP` or `SCENARIO`) restrict them; a name that does not occur raises
    BadCell. Of cells with the same name the first one stays."""
    check_kinds(kinds, all_kinds)
    wanted = [kind for kind in all_kinds if not kinds or kind.name in kinds]
    several = len({answer["session"] for answer in answers}) > 1
    cells: dict[str, Cell] = {}
    steps_seen = set()
    for answer in sorted(answers, key=lambda answer: (answer["session"], answer["number"])):
        step = f"{answer['scenario']}/{answer['step']}"
        steps_seen |= {step, answer["scenario"]}
        if steps and not {step, answer["scenario"]} & set(steps):
            continue
        place = Place(answer["session"], answer["number"], step, answer.get("owner", ""))
        where = f"{place.session}#{place.number}" if several else str(place.number)
        for cell in cells_of(answer, place, where, wanted):
            cells.setdefault(cell.name, cell)
    if missing := sorted(set(steps) - steps_seen):
        answered = ", ".join(sorted(name for name in steps_seen if "/" in name))
        raise BadCell(f"no answer came from {missing[0]!r}; those that answered: {answered}")
    return list(cells.values())


def check_kinds(kinds: Sequence[str], all_kinds: Sequence[Kind]) -> None:
    """Raise BadCell if no kind has one of the names in `kinds`."""
    names = [kind.name for kind in all_kinds]
    if unknown := sorted(set(kinds) - set(names)):
        raise BadCell(f"there is no kind {unknown[0]!r}; there are {', '.join(names)}")


def order_cells(cells: Iterable[Cell], all_kinds: Sequence[Kind], *, seed: int) -> list[Cell]:
    """Return the cells in the order of their runs: one of each kind, one at each place without any,
    then the rest. `seed` shuffles equals."""
    shuffled = list(cells)
    random.Random(seed).shuffle(shuffled)
    # A dict keeps the order and deletes fast.
    left = dict.fromkeys(shuffled)
    ordered: list[Cell] = []
    used: dict[Place, int] = {}

    def take(cell: Cell) -> None:
        """Move a cell to the end of the order."""
        del left[cell]
        ordered.append(cell)
        used[cell.place] = used.get(cell.place, 0) + 1

    for kind in all_kinds:
        # The answer with the fewest cells so far, so that few cells cover many steps.
        if of_kind := [cell for cell in left if cell.kind is kind]:
            take(min(of_kind, key=lambda cell: used.get(cell.place, 0)))
    for cell in tuple(left):
        if cell.place not in used:
            take(cell)
    return [*ordered, *left]


def find_cell(name: str, cells: Sequence[Cell]) -> Cell:
    """Return the cell of this name; raises BadCell."""
    if same := [cell for cell in cells if cell.name == name]:
        return same[0]
    some = ", ".join(cell.name for cell in cells[:5])
    raise BadCell(f"there is no cell {name!r}; there are {len(cells)}, such as {some}")
