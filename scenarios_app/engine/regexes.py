"""Which of many regexes match a text: RE2's filter tries only those whose literals occur in it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import re2

from scenarios_app.engine.conditions import regex_options


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
