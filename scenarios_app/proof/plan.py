"""The cells of a sweep, one for each kind of trouble at each answer, and their order."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scenarios_app.proof.kinds import BY_NAME, KINDS, Answer, Kind


class BadCell(Exception):
    """A name of a cell or kind that does not exist; the message says which exist."""


@dataclass(frozen=True, slots=True)
class Place:
    """An answer of the clean run: its number in its session, and the step that gave it."""

    session: str
    number: int
    step: str


@dataclass(frozen=True, slots=True)
class Cell:
    """One kind of trouble at one answer. `name` identifies it in the same program's sweeps."""

    name: str
    kind: Kind
    place: Place


def all_cells(
    answers: Sequence[Answer], *, kinds: Sequence[str] = (), steps: Sequence[str] = ()
) -> list[Cell]:
    """Return the cells of a clean run in the order of its answers and the table of kinds.

    `kinds` and `steps` restrict them, by name; a step is `SCENARIO/STEP` or `SCENARIO`.
    """
    if unknown := sorted(set(kinds) - BY_NAME.keys()):
        raise BadCell(f"there is no kind {unknown[0]!r}; there are {', '.join(BY_NAME)}")
    wanted = [kind for kind in KINDS if not kinds or kind.name in kinds]
    several = len({answer["session"] for answer in answers}) > 1
    cells = []
    steps_seen = set()
    for answer in sorted(answers, key=lambda one: (one["session"], one["number"])):
        step = f"{answer['scenario']}/{answer['step']}"
        steps_seen |= {step, answer["scenario"]}
        if steps and not {step, answer["scenario"]} & set(steps):
            continue
        place = Place(answer["session"], answer["number"], step)
        where = f"{place.session}#{place.number}" if several else str(place.number)
        cells += [
            Cell(f"{kind.name}@{where}", kind, place) for kind in wanted if kind.applies(answer)
        ]
    if missing := sorted(set(steps) - steps_seen):
        answered = ", ".join(sorted(name for name in steps_seen if "/" in name))
        raise BadCell(f"no answer came from {missing[0]!r}; those that answered: {answered}")
    return cells


def in_order(cells: Iterable[Cell], *, seed: int) -> list[Cell]:
    """Return the cells, the most telling ones first: each kind once, each answer once, then the
    rest; chance decides among equals, in the same way for the same seed."""
    left = list(cells)
    random.Random(seed).shuffle(left)
    ordered: list[Cell] = []
    used: dict[Place, int] = {}

    def take(cell: Cell) -> None:
        left.remove(cell)
        ordered.append(cell)
        used[cell.place] = used.get(cell.place, 0) + 1

    for kind in KINDS:
        # At the answer that has had the fewest so far, so that few cells see many steps.
        of_kind = [cell for cell in left if cell.kind is kind]
        if of_kind:
            take(min(of_kind, key=lambda cell: used.get(cell.place, 0)))
    for cell in tuple(left):
        if cell.place not in used:
            take(cell)
    return [*ordered, *left]


def find_cell(name: str, cells: Sequence[Cell]) -> Cell:
    """Return the cell of this name; raises BadCell."""
    for cell in cells:
        if cell.name == name:
            return cell
    some = ", ".join(cell.name for cell in cells[:5])
    raise BadCell(f"there is no cell {name!r}; there are {len(cells)}, such as {some}")
