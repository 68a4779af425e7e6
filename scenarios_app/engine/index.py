"""The index: every enabled scenario, compiled once per change and asked for every request."""

import heapq
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.layer import Entry, Layer
from scenarios_app.engine.reading import Reading
from scenarios_app.engine.scenario import Scenario, Step


@dataclass(frozen=True, slots=True)
class Candidate:
    """A step that a request matches. `groups` holds the named groups of its conditions."""

    scenario: Scenario
    step: Step
    groups: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Index:
    """Immutable; threads may share it. Of each layer the names given with it are hidden: a later
    layer has scenarios of those names."""

    by_name: Mapping[str, Scenario]
    layers: tuple[tuple[Layer, frozenset[str]], ...]

    def candidates(
        self, request: CanonicalRequest, *, scenario: str | None = None
    ) -> Iterator[Candidate]:
        """The steps that a request matches, of one scenario or of all, in the order of choosing:
        real conditions, then defaults for a provider or path, then empty ones; in each round by
        priority, scenario name, place. Worked out one by one, as far as they are asked for."""
        reading = Reading(request)
        return _holding(self._possible(reading, scenario), reading)

    def candidates_naming_path(self, request: CanonicalRequest) -> Iterator[Candidate]:
        """The same, of the steps alone whose match names a path: what may answer in place of a
        computed answer."""
        reading = Reading(request)
        entries = (e for e in self._possible(reading, None) if e.step.match.path)
        return _holding(entries, reading)

    def near(self, reading: Reading, *, scenario: str | None = None) -> Iterator[Entry]:
        """The steps among which near misses are sought."""
        for layer, hidden in self.layers:
            for entry in layer.near(reading, scenario):
                if entry.scenario.name not in hidden:
                    yield entry

    def _possible(self, reading: Reading, scenario: str | None) -> Iterator[Entry]:
        if len(self.layers) == 1:
            return self.layers[0][0].possible(reading, scenario)
        layers = [
            _unhidden(layer.possible(reading, scenario), hidden) for layer, hidden in self.layers
        ]
        return heapq.merge(*layers, key=lambda entry: entry.rank)


def build_index(scenarios: Iterable[Scenario]) -> Index:
    """Compile the enabled scenarios, whose names are unique. Raises RegexError."""
    every = tuple(scenarios)
    return Index({s.name: s for s in every}, ((Layer(every), frozenset()),))


def overlay(index: Index, scenarios: Iterable[Scenario]) -> Index:
    """The index with a session's own scenarios before those of the same name, at the cost of
    compiling the session's alone."""
    own = {s.name: s for s in scenarios}
    layers = tuple((layer, hidden | own.keys()) for layer, hidden in index.layers)
    return Index({**index.by_name, **own}, (*layers, (Layer(tuple(own.values())), frozenset())))


def _holding(entries: Iterable[Entry], reading: Reading) -> Iterator[Candidate]:
    for entry in entries:
        if entry.match.holds(reading):
            yield Candidate(entry.scenario, entry.step, entry.match.groups(reading))


def _unhidden(entries: Iterator[Entry], hidden: frozenset[str]) -> Iterator[Entry]:
    return (entry for entry in entries if entry.scenario.name not in hidden)
