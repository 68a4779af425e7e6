"""Finds the few steps of many that a request can match or that share words with it.

Each step is filed under one of its needs: the rarest literal or regex that some text of the request
must meet. Steps without such a need are always tried.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import re2
from ahocorasick_rs import AhoCorasick, Implementation

from scenarios_app.engine.conditions.match import Match
from scenarios_app.engine.conditions.subjects import ComparedText, RequestReader, Subject
from scenarios_app.engine.conditions.texts import TextCondition, regex_options, words_in

AtomKind: TypeAlias = Literal["equals", "contains", "regex"]


class Atom(NamedTuple):
    """One literal or pattern that a text must contain; literals are folded if case is ignored."""

    kind: AtomKind
    ignore_case: bool
    text: str


class _FilterGroup(NamedTuple):
    """An RE2 filter, and for each of its patterns the positions of its steps."""

    regexes: re2.Filter
    positions: tuple[Sequence[int], ...]


class RegexSet:
    """An immutable set of patterns, each with the positions of the steps filed under it.

    An RE2 filter has limited room. Patterns that exceed it are spread over several filters; a
    pattern too large for a filter has its positions in `unfiltered`.
    """

    def __init__(self, positions: Mapping[Atom, Sequence[int]]) -> None:
        self.unfiltered: list[int] = []
        self._groups = tuple(self._build(list(positions.items())))

    def find(self, text: str) -> set[int]:
        """Return the positions of all matching patterns, without the unfiltered ones."""
        return {
            position
            for group in self._groups
            for match in group.regexes.Match(text) or ()
            for position in group.positions[match]
        }

    def _build(self, patterns: list[tuple[Atom, Sequence[int]]]) -> Iterator[_FilterGroup]:
        """Yield filters of the patterns, halved until they compile; one that is too large alone
        goes to `unfiltered`."""
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
            yield _FilterGroup(regexes, tuple(positions for _, positions in patterns))


# A repeated letter matches every literal of that letter at every position. So at most this many
# literals that end in one another are searched; longer ones are filed with these.
_MAX_NESTED_ENDINGS = 4
# Only the end of a long literal is searched, since long texts often begin alike.
_MAX_LITERAL_CHARS = 200
# Hits are collected for one piece of text at a time to bound memory.
_PIECE_CHARS = 16_384


class LiteralSet:
    """An immutable set of literals, each with the positions of the steps filed under it."""

    def __init__(self, positions: Mapping[str, Sequence[int]]) -> None:
        """Build the automaton; no literal may be empty."""
        merged = _merge_endings(positions)
        self._positions = tuple(merged.values())
        # The default implementation takes quadratic time for few literals that repeat.
        self._automaton = AhoCorasick(
            list(merged), implementation=Implementation.ContiguousNFA, store_patterns=False
        )
        self._overlap = max(map(len, merged)) - 1

    def find(self, text: str) -> set[int]:
        """Return the positions of all literals in the text, and possibly a few others."""
        seen: set[int] = set()
        for piece in self._pieces(text):
            hits = self._automaton.find_matches_as_indexes(piece, overlapping=True)
            seen.update([hit[0] for hit in hits])
            if len(seen) == len(self._positions):
                break
        return {position for literal in seen for position in self._positions[literal]}

    def _pieces(self, text: str) -> Iterator[str]:
        """Yield pieces of limited length that overlap, so that every literal is whole in one."""
        for start in range(0, max(1, len(text) - self._overlap), _PIECE_CHARS):
            yield text[start : start + _PIECE_CHARS + self._overlap]


def _merge_endings(positions: Mapping[str, Sequence[int]]) -> dict[str, list[int]]:
    """Return the literals to search with their positions; long ones and nested endings are cut."""
    ends: defaultdict[str, list[int]] = defaultdict(list)
    for literal, steps in positions.items():
        ends[literal[-_MAX_LITERAL_CHARS:]].extend(steps)
    merged: dict[str, list[int]] = {}
    kept_endings: list[str] = []
    for reverse in sorted(end[::-1] for end in ends):
        while kept_endings and not reverse.startswith(kept_endings[-1]):
            kept_endings.pop()
        if len(kept_endings) < _MAX_NESTED_ENDINGS:
            kept_endings.append(reverse)
        merged.setdefault(kept_endings[-1][::-1], []).extend(ends[reverse[::-1]])
    return merged


# Shorter literals are in nearly every text.
_MIN_LITERAL_CHARS = 3
# One piece of a pattern at a time. Groups and repeated pieces are skipped whole.
_PATTERN_PIECE = re.compile(
    r"""
      (?P<nothing> \\[dDwWsSbBAzZ] | [.^$] | \[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\] )
    | (?P<optional> [*?] | \{\d*,?\d*\} )
    | (?P<again> \+ )
    | (?P<open> \((?:\?:|\?P?<\w+>|(?!\?)) )
    | (?P<close> \) )
    | (?P<other> \| )
    | (?P<unknown> \\\w | \(\? )
    | \\?(?P<literal> . )
    """,
    re.VERBOSE | re.DOTALL,
)


def required_literals(pattern: str, *, ignore_case: bool = False) -> tuple[str, ...]:
    """Return the literals that every text matched by an RE2 pattern contains, casefolded if case is
    ignored.

    A wrong literal would lose a step, so a pattern that is not understood gives none.
    """
    runs = tuple(_literal_runs(pattern))
    if "" in runs:
        return ()
    if ignore_case:
        # RE2 and Python can fold other letters differently.
        runs = tuple(run.casefold() for run in runs if run.isascii())
    return tuple(dict.fromkeys(run for run in runs if len(run) >= _MIN_LITERAL_CHARS))


def _literal_runs(pattern: str) -> Iterator[str]:
    """Yield the literal runs outside groups, and an empty one at `|` or an unknown escape."""
    run, depth = "", 0
    for piece in _PATTERN_PIECE.finditer(pattern):
        kind = piece.lastgroup
        if kind == "unknown" or (kind == "other" and not depth):
            yield ""
        depth += (kind == "open") - (kind == "close")
        if kind == "literal" and not depth:
            run += piece["literal"]
            continue
        if kind == "optional":
            run = run[:-1]
        if run:
            yield run
        run = ""
    if run:
        yield run


Positions: TypeAlias = dict[str, list[int]]
AtomCost: TypeAlias = tuple[int, bool, int]


class SubjectAtoms(NamedTuple):
    """A subject with the atoms of each alternative, of which one must be met."""

    subject: Subject
    alternatives: tuple[tuple[Atom, ...], ...]


@dataclass(frozen=True, slots=True)
class _Table:
    """The positions of steps by the text that they need at one subject: whole, part or regex."""

    equals: Mapping[str, Sequence[int]]
    folded_equals: Mapping[str, Sequence[int]]
    contains: LiteralSet | None
    folded_contains: LiteralSet | None
    regexes: RegexSet | None

    def find(self, text: ComparedText) -> set[int]:
        """Return the positions of the atoms that a text contains or equals."""
        positions = set(self.equals.get(text.plain, ()))
        if self.folded_equals:
            positions.update(self.folded_equals.get(text.folded, ()))
        if self.contains:
            positions |= self.contains.find(text.plain)
        if self.folded_contains:
            positions |= self.folded_contains.find(text.folded)
        if self.regexes:
            positions |= self.regexes.find(text.plain)
        return positions


class StepLookup:
    """Lookup of steps by the texts of a request; positions are indexes into `matches`."""

    def __init__(self, matches: Sequence[Match]) -> None:
        atoms_of_steps = [_subject_atoms(match) for match in matches]
        frequencies = Counter(
            (need.subject, atom)
            for needs in atoms_of_steps
            for need in needs
            for atoms in need.alternatives
            for atom in atoms
        )
        by_subject: defaultdict[Subject, list[tuple[Atom, int]]] = defaultdict(list)
        always: list[int] = []
        for position, needs in enumerate(atoms_of_steps):
            if needs:
                rarest = (_rarest_atoms(need, frequencies) for need in needs)
                _, subject, atoms = min(rarest, key=lambda option: option[0])
                by_subject[subject].extend((atom, position) for atom in atoms)
            else:
                always.append(position)
        self._tables = {subject: _build_table(atoms) for subject, atoms in by_subject.items()}
        for table in self._tables.values():
            if table.regexes:
                always.extend(table.regexes.unfiltered)
        self._always = sorted(set(always))

    def positions(self, reader: RequestReader) -> list[int]:
        """Return, in order, the positions of all steps that can match; some may not match."""
        positions: set[int] = set()
        for subject, table in self._tables.items():
            for text in reader.texts(subject):
                positions |= table.find(text)
        return sorted(positions.union(self._always)) if positions else self._always


def _subject_atoms(match: Match) -> list[SubjectAtoms]:
    """Return a match's needs as atoms; a need with an alternative without atoms is left out, since
    no lookup can rule it out."""
    needs = (need for condition in match.conditions for need in condition.needs)
    places = (
        SubjectAtoms(need.subject, tuple(map(_atoms_of_condition, need.conditions)))
        for need in needs
    )
    return [place for place in places if all(place.alternatives)]


def _atoms_of_condition(condition: TextCondition) -> tuple[Atom, ...]:
    """Return the literals and the regex that a text must contain or equal to pass a condition."""
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


def _rarest_atoms(
    need: SubjectAtoms, frequencies: Mapping[tuple[Subject, Atom], int]
) -> tuple[AtomCost, Subject, list[Atom]]:
    """Return the rarest atom of each alternative with the highest cost among them.

    Rare atoms are cheap; then literals come before regexes, and long ones before short ones.
    """

    def cost(atom: Atom) -> AtomCost:
        """Return how costly an atom is: frequent ones, regexes and short ones cost more."""
        return frequencies[need.subject, atom], atom.kind == "regex", -len(atom.text)

    rarest = [min(atoms, key=cost) for atoms in need.alternatives]
    return max(map(cost, rarest)), need.subject, rarest


def _build_table(atoms: Iterable[tuple[Atom, int]]) -> _Table:
    """Return a table that finds the positions of those atoms that a text contains or equals."""
    by_kind: dict[tuple[AtomKind, bool], Positions] = defaultdict(lambda: defaultdict(list))
    for atom, position in atoms:
        by_kind[atom.kind, atom.ignore_case][atom.text].append(position)
    patterns = {
        Atom("regex", ignore_case, text): positions
        for ignore_case in (False, True)
        for text, positions in by_kind["regex", ignore_case].items()
    }
    contains, folded_contains = by_kind["contains", False], by_kind["contains", True]
    return _Table(
        equals=dict(by_kind["equals", False]),
        folded_equals=dict(by_kind["equals", True]),
        contains=LiteralSet(contains) if contains else None,
        folded_contains=LiteralSet(folded_contains) if folded_contains else None,
        regexes=RegexSet(patterns) if patterns else None,
    )


_MAX_COUNTED_STEPS = 20_000


class WordIndex:
    """The words that steps ask for, each with the positions of the steps, to find near misses."""

    def __init__(self, matches: Sequence[Match]) -> None:
        by_word: defaultdict[str, list[int]] = defaultdict(list)
        subjects: dict[Subject, None] = {}
        for position, match in enumerate(matches):
            needs = [need for condition in match.conditions for need in condition.needs]
            subjects.update((need.subject, None) for need in needs)
            conditions = (condition for need in needs for condition in need.conditions)
            for word in {word for condition in conditions for word in condition.words}:
                by_word[word].append(position)
        self._filed = dict(by_word)
        self._subjects = tuple(subjects)

    def positions_sharing_words(self, reader: RequestReader) -> list[int]:
        """Return the positions of steps with words in common, those with most first.

        Rare words are counted first; common words only while they touch few enough steps.
        """
        words = {
            word
            for subject in self._subjects
            for text in reader.texts(subject)
            for word in words_in(text.plain)
        }
        shared: Counter[int] = Counter()
        for word in sorted(words & self._filed.keys(), key=lambda w: (len(self._filed[w]), w)):
            if shared and shared.total() + len(self._filed[word]) > _MAX_COUNTED_STEPS:
                break
            shared.update(self._filed[word][:_MAX_COUNTED_STEPS])
        return sorted(shared, key=lambda position: (-shared[position], position))
