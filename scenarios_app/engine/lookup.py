"""Finds, among many steps, the few that a request can match, without trying them all.

Every step is filed under one of its needs: the rarest literal or regex that some text of the
request must meet for the step to match. What cannot be filed so is always tried.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from scenarios_app.engine.conditions import CompiledText
from scenarios_app.engine.literals import Literals
from scenarios_app.engine.match import CompiledMatch
from scenarios_app.engine.reading import Reading, Subject, Text
from scenarios_app.engine.regexes import Pattern, Regexes

Kind: TypeAlias = Literal["equals", "contains", "regex"]
Positions: TypeAlias = dict[str, list[int]]
Cost: TypeAlias = tuple[int, bool, int]


class Atom(NamedTuple):
    """One literal or pattern that a text must have; literals are folded where case is ignored."""

    kind: Kind
    ignore_case: bool
    text: str


class Place(NamedTuple):
    """A subject, and of each condition of which one must be met there, the atoms it has."""

    subject: Subject
    alternatives: tuple[tuple[Atom, ...], ...]


@dataclass(frozen=True, slots=True)
class _Table:
    """The steps filed under one subject."""

    equals: Mapping[str, Sequence[int]]
    folded_equals: Mapping[str, Sequence[int]]
    contains: Literals | None
    folded_contains: Literals | None
    regexes: Regexes | None

    def find(self, text: Text) -> set[int]:
        found = set(self.equals.get(text.plain, ()))
        if self.folded_equals:
            found.update(self.folded_equals.get(text.folded, ()))
        if self.contains:
            found |= self.contains.find(text.plain)
        if self.folded_contains:
            found |= self.folded_contains.find(text.folded)
        if self.regexes:
            found |= self.regexes.find(text.plain)
        return found


class Lookup:
    """Built once for a sequence of compiled steps; a position is a step's place in it."""

    def __init__(self, matches: Sequence[CompiledMatch]) -> None:
        places = [_places(match) for match in matches]
        often = Counter(
            (place.subject, atom)
            for of in places
            for place in of
            for atoms in place.alternatives
            for atom in atoms
        )
        filed: defaultdict[Subject, list[tuple[Atom, int]]] = defaultdict(list)
        always: list[int] = []
        for position, of in enumerate(places):
            if of:
                rarest = (_rarest(place, often) for place in of)
                _, subject, atoms = min(rarest, key=lambda found: found[0])
                filed[subject].extend((atom, position) for atom in atoms)
            else:
                always.append(position)
        self._tables = {subject: _table(atoms) for subject, atoms in filed.items()}
        for table in self._tables.values():
            if table.regexes:
                always.extend(table.regexes.unfiltered)
        self._always = sorted(set(always))

    def positions(self, reading: Reading) -> list[int]:
        """The positions of all steps that can match, in order; some of them may not."""
        found: set[int] = set()
        for subject, table in self._tables.items():
            for text in reading.texts(subject):
                found |= table.find(text)
        return sorted(found.union(self._always)) if found else self._always


def _places(match: CompiledMatch) -> list[Place]:
    needs = (need for check in match.checks for need in check.needs)
    places = (Place(need.subject, tuple(map(_atoms, need.conditions))) for need in needs)
    return [place for place in places if all(place.alternatives)]


def _atoms(condition: CompiledText) -> tuple[Atom, ...]:
    ignore_case = condition.ignore_case
    literals = condition.contains, condition.startswith
    return (
        *(() if condition.equals is None else (Atom("equals", ignore_case, condition.equals),)),
        *(Atom("contains", ignore_case, literal) for literal in literals if literal),
        *(() if condition.pattern is None else (Atom("regex", ignore_case, condition.pattern),)),
    )


def _rarest(
    place: Place, often: Mapping[tuple[Subject, Atom], int]
) -> tuple[Cost, Subject, list[Atom]]:
    """The rarest atom of each alternative, and what the dearest of them costs: rare ones are
    cheap, then literals go before regexes, then long ones before short ones."""

    def cost(atom: Atom) -> Cost:
        return often[place.subject, atom], atom.kind == "regex", -len(atom.text)

    rarest = [min(atoms, key=cost) for atoms in place.alternatives]
    return max(map(cost, rarest)), place.subject, rarest


def _table(atoms: Iterable[tuple[Atom, int]]) -> _Table:
    filed: dict[tuple[Kind, bool], Positions] = defaultdict(lambda: defaultdict(list))
    for atom, position in atoms:
        filed[atom.kind, atom.ignore_case][atom.text].append(position)
    patterns = {
        Pattern(text, ignore_case): positions
        for ignore_case in (False, True)
        for text, positions in filed["regex", ignore_case].items()
    }
    contains, folded_contains = filed["contains", False], filed["contains", True]
    return _Table(
        equals=dict(filed["equals", False]),
        folded_equals=dict(filed["equals", True]),
        contains=Literals(contains) if contains else None,
        folded_contains=Literals(folded_contains) if folded_contains else None,
        regexes=Regexes(patterns) if patterns else None,
    )
