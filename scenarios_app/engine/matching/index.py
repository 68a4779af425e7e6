"""The index: every enabled scenario, compiled once per change and asked for every request."""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.matching.layer import Entry, Layer
from scenarios_app.engine.matching.request_view import Reading
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
        self,
        request: CanonicalRequest,
        *,
        scenario: str | None = None,
        consumed: Container[tuple[str, str]] = frozenset(),
    ) -> Iterator[Candidate]:
        """What may answer a request, the best first, of one scenario or of all.

        By priority, which nothing overrides; each scenario offers its first step, in step order,
        that matches and is not consumed; among the offers of one priority a real condition goes
        before a default for a provider or path, that before an empty match; then the scenario's
        name. `consumed` holds scenario and key of the steps that the session has consumed. Whoever
        asks for the next one has lost the last one to somebody else: its scenario then offers the
        step after it.
        """
        return self._candidates(request, scenario, consumed)

    def candidates_naming_path(
        self, request: CanonicalRequest, *, consumed: Container[tuple[str, str]] = frozenset()
    ) -> Iterator[Candidate]:
        """The same, of the steps alone whose match names a path: what may answer in place of a
        computed answer."""
        return self._candidates(request, None, consumed, naming_path=True)

    def near(self, reading: Reading, *, scenario: str | None = None) -> Iterator[Entry]:
        """The steps among which near misses are sought."""
        for layer, hidden in self.layers:
            for entry in layer.near(reading, scenario):
                if entry.scenario.name not in hidden:
                    yield entry

    def _candidates(
        self,
        request: CanonicalRequest,
        scenario: str | None,
        consumed: Container[tuple[str, str]],
        *,
        naming_path: bool = False,
    ) -> Iterator[Candidate]:
        reading = Reading(request)
        lost: set[tuple[str, str]] = set()

        def eligible(entry: Entry) -> bool:
            step, ref = entry.step, entry.ref
            gone = (step.consume and ref in consumed) or ref in lost
            return not gone and (not naming_path or bool(step.match.path))

        while (best := self._best(reading, eligible, scenario)) is not None:
            yield Candidate(best.scenario, best.step, best.match.groups(reading))
            lost.add(best.ref)

    def _best(
        self, reading: Reading, eligible: Callable[[Entry], bool], scenario: str | None
    ) -> Entry | None:
        if len(self.layers) == 1:
            return next(self.layers[0][0].offers(reading, eligible, scenario), None)
        offers = (
            _unhidden(layer.offers(reading, eligible, scenario), hidden)
            for layer, hidden in self.layers
        )
        best = (entry for entry in (next(of, None) for of in offers) if entry is not None)
        return min(best, key=lambda entry: entry.rank, default=None)


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


def _unhidden(entries: Iterator[Entry], hidden: frozenset[str]) -> Iterator[Entry]:
    return (entry for entry in entries if entry.scenario.name not in hidden)
