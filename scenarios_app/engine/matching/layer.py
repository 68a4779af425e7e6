"""The compiled steps of some scenarios, and the ways to the few of them that a request concerns."""

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import chain, islice
from typing import NamedTuple

from scenarios_app.engine.matching.checks import TextCheck
from scenarios_app.engine.matching.conditions import compile_text, quote
from scenarios_app.engine.matching.lookup import Lookup
from scenarios_app.engine.matching.match import CompiledMatch, compile_match
from scenarios_app.engine.matching.request_view import Reading, Subject
from scenarios_app.engine.matching.words import Words
from scenarios_app.engine.scenario import Scenario, Select, Step, TextCondition

# A scenario of so few steps is tried step by step.
_FEW = 32
# With more steps than this, only those that share words with a request are compared with it.
COMPARED = 100
_DEFAULTS = {"match.provider", "match.path"}


class Particularity(IntEnum):
    """What a step's `match` holds, the most particular first: a real condition, nothing but
    `provider` and `path` (a default for these), or nothing."""

    CONDITION = 0
    DEFAULT = 1
    EMPTY = 2


class Rank(NamedTuple):
    """What goes first among the offers of scenarios: the smaller one. The first is the priority,
    negated; the place, from 0, tells the steps of one scenario apart."""

    below: int
    particularity: Particularity
    scenario: str
    place: int


@dataclass(frozen=True, slots=True)
class Entry:
    """One step, compiled, with its rank among all steps. `ref` is its scenario and key: what a
    session remembers of a step that it has consumed."""

    rank: Rank
    scenario: Scenario
    step: Step
    match: CompiledMatch
    ref: tuple[str, str]


class Layer:
    """Immutable. Raises RegexError for a pattern that was not checked when it was saved."""

    def __init__(self, scenarios: Sequence[Scenario]) -> None:
        matching = sorted(entries_of(scenarios, "match"), key=lambda entry: entry.rank)
        by_id = sorted(
            map(_asked_for, entries_of(scenarios, "first_user_message")),
            key=lambda entry: entry.rank,
        )
        self._matching = matching
        self._every = [*matching, *by_id]
        self._lookup = Lookup([entry.match for entry in matching])
        self._of_scenario: dict[str, list[int]] = {}
        self._of_id: dict[str, list[int]] = {}
        for position, entry in enumerate(self._every):
            of = self._of_scenario if position < len(matching) else self._of_id
            of.setdefault(entry.scenario.name, []).append(position)
        self._defaults: dict[str, list[Entry]] = {}
        for entry in matching:
            if entry.rank.particularity:
                self._defaults.setdefault(entry.scenario.name, []).append(entry)
        many = self._every if len(self._every) > COMPARED else []
        self._words = Words([entry.match for entry in many])

    def offers(
        self, reading: Reading, eligible: Callable[[Entry], bool], scenario: str | None = None
    ) -> Iterator[Entry]:
        """Of the eligible entries that the request matches, by rank, those before which no less
        particular one stands in their scenario. The first is the best of what the scenarios offer,
        each its first step that is eligible and matches."""

        for entry in self.possible(reading, scenario):
            if entry.match.holds(reading) and eligible(entry):
                defaults = self._defaults.get(entry.scenario.name)
                if defaults is None or not any(
                    eligible(default) and default.match.holds(reading)
                    for default in defaults
                    if _comes_before(default, entry)
                ):
                    yield entry

    def possible(self, reading: Reading, scenario: str | None = None) -> Iterator[Entry]:
        """The entries that the request can match, of one scenario or of all, by rank."""
        positions: Sequence[int] = self._of_scenario.get(scenario or "", ())
        if scenario is None:
            positions = self._lookup.positions(reading)
        elif len(positions) > _FEW:
            found = set(self._lookup.positions(reading))
            positions = [position for position in positions if position in found]
        return (self._matching[position] for position in positions)

    def near(self, reading: Reading, scenario: str | None = None) -> Iterator[Entry]:
        """The entries among which near misses are sought, those chosen by id too. Of many, as many
        as can be compared: the ones that match (and were served), then the ones that share words
        with the request, then the first ones."""
        every: Sequence[int] = range(len(self._every))
        if scenario is not None:
            by_id = self._of_id.get(scenario, [])
            every = self._of_scenario.get(scenario, by_id)
        if len(every) > COMPARED:
            inside: Container[int] = every if scenario is None else set(every)
            likely = chain(self._holding(reading), self._words.sharing(reading))
            best = islice((p for p in likely if p in inside), 2 * COMPARED)
            every = list(dict.fromkeys([*best, *every[:COMPARED]]))[:COMPARED]
        return (self._every[position] for position in every)

    def _holding(self, reading: Reading) -> Iterator[int]:
        positions = self._lookup.positions(reading)
        return (p for p in positions if self._matching[p].match.holds(reading))


def entries_of(scenarios: Sequence[Scenario], select: Select) -> Iterator[Entry]:
    """The steps of the scenarios that are chosen in this way, compiled; raises RegexError."""
    for scenario in scenarios:
        if scenario.select == select:
            for number, step in enumerate(scenario.steps):
                match = compile_match(step.match, turn=step.turn)
                rank = Rank(-scenario.priority, _particularity(match), scenario.name, number)
                yield Entry(rank, scenario, step, match, (scenario.name, step.key))


def _comes_before(default: Entry, entry: Entry) -> bool:
    """Whether a less particular step of the same scenario comes first there."""
    ours, theirs = entry.rank, default.rank
    return theirs.particularity > ours.particularity and theirs.place < ours.place


def _particularity(match: CompiledMatch) -> Particularity:
    fields = {check.field for check in match.checks}
    if fields - _DEFAULTS:
        return Particularity.CONDITION
    return Particularity.DEFAULT if fields else Particularity.EMPTY


def _asked_for(entry: Entry) -> Entry:
    """A step chosen by id with the name, by which its scenario is asked for, as a condition."""
    name = entry.scenario.name
    condition = compile_text(TextCondition(equals=name))
    expected = f"first user message equals {quote(name)}"
    check = TextCheck("select", Subject("first_user"), (condition,), expected)
    match = CompiledMatch((check, *entry.match.checks), entry.match.group_names)
    return replace(entry, match=match)
