"""Which of many literals occur in a text: one pass of an Aho-Corasick automaton for all of them."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from ahocorasick_rs import AhoCorasick, Implementation

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
            seen.update(hit[0] for hit in hits)
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
