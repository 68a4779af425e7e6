"""Finds, among many steps, the few that a request can match, without trying them all.

Every step is filed under one of its needs: the rarest literal or regex that some text of the
request must meet for the step to match. What cannot be filed so is always tried.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from scenarios_app.engine.checks import Need
from scenarios_app.engine.conditions import CompiledText
from scenarios_app.engine.literals import Literals
from scenarios_app.engine.match import CompiledMatch
from scenarios_app.engine.reading import Reading, Subject, Text
from scenarios_app.engine.regexes import Pattern, Regexes

Kind: TypeAlias = Literal["equals", "contains", "regex"]
Positions: TypeAlias = dict[str, list[int]]


class Atom(NamedTuple):
    """One literal or pattern that a text must have; literals are folded where case is ignored."""

    kind: Kind
    ignore_case: bool
    text: str


class Key(NamedTuple):
    """A place, and the atoms of which a text there must have at least one."""

    subject: Subject
    atoms: tuple[Atom, ...]


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
        keys = [_keys(match) for match in matches]
        often = Counter((key.subject, atom) for of in keys for key in of for atom in key.atoms)
        filed: defaultdict[Subject, list[tuple[Atom, int]]] = defaultdict(list)
        always: list[int] = []
        for position, of in enumerate(keys):
            if of:
                key = min(of, key=lambda k: _cost(k, often))
                filed[key.subject].extend((atom, position) for atom in key.atoms)
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


def _keys(match: CompiledMatch) -> list[Key]:
    return [key for check in match.checks for need in check.needs if (key := _key(need))]


def _key(need: Need) -> Key | None:
    atoms = [_atom(condition) for condition in need.conditions]
    known = tuple(atom for atom in atoms if atom is not None)
    return Key(need.subject, known) if len(known) == len(atoms) else None


def _atom(condition: CompiledText) -> Atom | None:
    if condition.equals is not None:
        return Atom("equals", condition.ignore_case, condition.equals)
    literal = max(condition.contains or "", condition.startswith or "", key=len)
    if literal:
        return Atom("contains", condition.ignore_case, literal)
    if condition.pattern is not None:
        return Atom("regex", condition.ignore_case, condition.pattern)
    return None


def _cost(key: Key, often: Mapping[tuple[Subject, Atom], int]) -> tuple[int, bool, int]:
    """Rare atoms first, then literals before regexes, then long before short."""
    return (
        sum(often[key.subject, atom] for atom in key.atoms),
        any(atom.kind == "regex" for atom in key.atoms),
        -min(len(atom.text) for atom in key.atoms),
    )


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
