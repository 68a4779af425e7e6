"""Finds, among many steps, the few that a request can match or shares words with, without trying
them all.

Every step is filed under one of its needs: the rarest literal or regex that some text of the
request must meet for the step to match. What cannot be filed so is always tried.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import re2
from ahocorasick_rs import AhoCorasick, Implementation

from scenarios_app.engine.conditions.match import Match
from scenarios_app.engine.conditions.subjects import Reading, Subject, Text
from scenarios_app.engine.conditions.texts import TextCondition, regex_options, words_in
from scenarios_app.engine.matching.required import required_literals


class Pattern(NamedTuple):
    text: str
    ignore_case: bool


class _Group(NamedTuple):
    regexes: re2.Filter
    positions: tuple[Sequence[int], ...]


class Regexes:
    """An immutable set of patterns, each with the positions of the steps that wait for it.

    A filter holds only so many literals. Patterns that do not fit into one are spread over
    several, and the positions of one that does not even fit alone are in `unfiltered`.
    """

    def __init__(self, positions: Mapping[Pattern, Sequence[int]]) -> None:
        self.unfiltered: list[int] = []
        self._groups = tuple(self._build(list(positions.items())))

    def find(self, text: str) -> set[int]:
        """The positions of all patterns that match, not counting the unfiltered ones."""
        return {
            position
            for group in self._groups
            for match in group.regexes.Match(text) or ()
            for position in group.positions[match]
        }

    def _build(self, patterns: list[tuple[Pattern, Sequence[int]]]) -> Iterator[_Group]:
        regexes = re2.Filter()
        for pattern, _ in patterns:
            regexes.Add(pattern.text, regex_options(ignore_case=pattern.ignore_case))
        try:
            regexes.Compile()
        except re2.error:
            if len(patterns) == 1:
                self.unfiltered.extend(patterns[0][1])
                return
            half = len(patterns) // 2
            yield from self._build(patterns[:half])
            yield from self._build(patterns[half:])
        else:
            yield _Group(regexes, tuple(positions for _, positions in patterns))


# A text of one letter repeated holds every literal of that letter at every place. Of literals that
# are endings of one another only so many are looked for; the longer ones come with those.
_ENDINGS = 4
# Of a long literal only the end is looked for: long texts often begin alike.
_LONGEST = 200
# Occurrences are collected piece by piece, so that a long text cannot fill the memory with them.
_PIECE = 16_384


class Literals:
    """An immutable set of literals, each with the positions of the steps that wait for it."""

    def __init__(self, positions: Mapping[str, Sequence[int]]) -> None:
        """No literal is empty."""
        carried = _carry(positions)
        self._positions = tuple(carried.values())
        # The default builds a table for few literals, in quadratic time where they repeat.
        self._automaton = AhoCorasick(
            list(carried), implementation=Implementation.ContiguousNFA, store_patterns=False
        )
        self._overlap = max(map(len, carried)) - 1

    def find(self, text: str) -> set[int]:
        """The positions of all literals that occur in the text; a few more may come with them."""
        seen: set[int] = set()
        for piece in self._pieces(text):
            hits = self._automaton.find_matches_as_indexes(piece, overlapping=True)
            seen.update([hit[0] for hit in hits])
            if len(seen) == len(self._positions):
                break
        return {position for literal in seen for position in self._positions[literal]}

    def _pieces(self, text: str) -> Iterator[str]:
        for start in range(0, max(1, len(text) - self._overlap), _PIECE):
            yield text[start : start + _PIECE + self._overlap]


def _carry(positions: Mapping[str, Sequence[int]]) -> dict[str, list[int]]:
    """The literals to look for, with their own positions and those of the literals they carry."""
    ends: defaultdict[str, list[int]] = defaultdict(list)
    for literal, of in positions.items():
        ends[literal[-_LONGEST:]].extend(of)
    carried: dict[str, list[int]] = {}
    carriers: list[str] = []
    for reverse in sorted(end[::-1] for end in ends):
        while carriers and not reverse.startswith(carriers[-1]):
            carriers.pop()
        if len(carriers) < _ENDINGS:
            carriers.append(reverse)
        carried.setdefault(carriers[-1][::-1], []).extend(ends[reverse[::-1]])
    return carried


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

    def __init__(self, matches: Sequence[Match]) -> None:
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


def _places(match: Match) -> list[Place]:
    needs = (need for condition in match.conditions for need in condition.needs)
    places = (Place(need.subject, tuple(map(_atoms, need.conditions))) for need in needs)
    return [place for place in places if all(place.alternatives)]


def _atoms(condition: TextCondition) -> tuple[Atom, ...]:
    ignore_case = condition.ignore_case
    pattern = condition.regex or ""
    literals = (
        condition.part,
        condition.start,
        *required_literals(pattern, ignore_case=ignore_case),
    )
    return (
        *(() if condition.exact is None else (Atom("equals", ignore_case, condition.exact),)),
        *(Atom("contains", ignore_case, literal) for literal in literals if literal),
        *(() if condition.regex is None else (Atom("regex", ignore_case, condition.regex),)),
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


_COUNTED = 20_000


class Words:
    """The words that steps ask for, each with the positions of the steps: near misses are there."""

    def __init__(self, matches: Sequence[Match]) -> None:
        filed: defaultdict[str, list[int]] = defaultdict(list)
        subjects: dict[Subject, None] = {}
        for position, match in enumerate(matches):
            needs = [need for one in match.conditions for need in one.needs]
            subjects.update((need.subject, None) for need in needs)
            conditions = (condition for need in needs for condition in need.conditions)
            for word in {word for condition in conditions for word in condition.words}:
                filed[word].append(position)
        self._filed = dict(filed)
        self._subjects = tuple(subjects)

    def sharing(self, reading: Reading) -> list[int]:
        """The positions of the steps with words in common, those with the most first. The rarest
        words count; common ones only while that touches few enough steps."""
        words = {
            word
            for subject in self._subjects
            for text in reading.texts(subject)
            for word in words_in(text.plain)
        }
        shared: Counter[int] = Counter()
        for word in sorted(words & self._filed.keys(), key=lambda w: (len(self._filed[w]), w)):
            if shared and shared.total() + len(self._filed[word]) > _COUNTED:
                break
            shared.update(self._filed[word][:_COUNTED])
        return sorted(shared, key=lambda position: (-shared[position], position))
