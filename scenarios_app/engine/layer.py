"""The compiled steps of some scenarios, and the ways to the few of them that a request concerns."""

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import TypeAlias

from scenarios_app.engine.checks import Check, TextCheck
from scenarios_app.engine.conditions import compile_text, quote
from scenarios_app.engine.lookup import Lookup
from scenarios_app.engine.match import CompiledMatch, compile_match
from scenarios_app.engine.reading import Reading, Subject
from scenarios_app.engine.scenario import Scenario, Select, Step, TextCondition
from scenarios_app.engine.words import Words

# Round, priority (higher first), scenario name, place in the scenario.
Rank: TypeAlias = tuple[int, int, str, int]
# A scenario of so few steps is tried step by step.
_FEW = 32
# With more steps than this, only those that share words with a request are compared with it.
COMPARED = 100
_DEFAULTS = {"match.provider", "match.path"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One step, compiled, with its rank among all steps."""

    rank: Rank
    scenario: Scenario
    step: Step
    match: CompiledMatch


class Layer:
    """Immutable. Raises RegexError for a pattern that was not checked when it was saved."""

    def __init__(self, scenarios: Sequence[Scenario]) -> None:
        matching = sorted(entries_of(scenarios, "match"), key=lambda entry: entry.rank)
        by_id = sorted(entries_of(scenarios, "first_user_message"), key=lambda entry: entry.rank)
        self._matching = matching
        self._every = [*matching, *by_id]
        self._lookup = Lookup([entry.match for entry in matching])
        self._of_scenario: dict[str, list[int]] = {}
        self._of_id: dict[str, list[int]] = {}
        for position, entry in enumerate(self._every):
            of = self._of_scenario if position < len(matching) else self._of_id
            of.setdefault(entry.scenario.name, []).append(position)
        many = self._every if len(self._every) > COMPARED else []
        self._words = Words([entry.match for entry in many])

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
                rank = (_round(match), -scenario.priority, scenario.name, number)
                if scenario.select == "first_user_message":
                    match = CompiledMatch((_named(scenario), *match.checks), match.group_names)
                yield Entry(rank, scenario, step, match)


def _round(match: CompiledMatch) -> int:
    """0 for a real condition, 1 for a provider's or path's default, 2 for none at all."""
    fields = {check.field for check in match.checks}
    return 0 if fields - _DEFAULTS else 1 if fields else 2


def _named(scenario: Scenario) -> Check:
    name = compile_text(TextCondition(equals=scenario.name))
    expected = f"first user message equals {quote(scenario.name)}"
    return TextCheck("select", Subject("first_user"), (name,), expected)
