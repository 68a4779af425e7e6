"""The index: every enabled scenario, filed once per change and asked for every request."""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from heapq import merge
from itertools import chain, islice
from operator import attrgetter
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.conditions.match import Match
from scenarios_app.engine.conditions.recorded import RecordedCondition
from scenarios_app.engine.conditions.request import SelectCondition
from scenarios_app.engine.conditions.subjects import Reading
from scenarios_app.engine.matching.lookup import Lookup, Words
from scenarios_app.engine.scenario import RawAnswer, Scenario, Select, Step

# A scenario of so few steps is tried step by step.
_FEW = 32
# With more steps than this, only those that share words with a request are compared with it.
COMPARED = 100


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


class Entry(msgspec.Struct, frozen=True):
    """One step with its rank among all steps and all conditions on it. `ref` is its scenario and
    key: what a session remembers of a step that it has consumed. It is `recorded` if it is for a
    request that was."""

    rank: Rank
    scenario: Scenario
    step: Step
    match: Match
    ref: tuple[str, str]
    recorded: bool = False


class Layer:
    """The steps of some scenarios, and the ways to the few of them that a request concerns;
    immutable."""

    def __init__(self, scenarios: Sequence[Scenario], *, known: "Layer | None" = None) -> None:
        matching = sorted(entries_of(scenarios, "match"), key=lambda entry: entry.rank)
        by_id = sorted(
            map(_asked_for, entries_of(scenarios, "first_user_message")),
            key=lambda entry: entry.rank,
        )
        self._matching = matching
        self._every = [*matching, *by_id]
        self._matches = [entry.match for entry in self._every]
        same = known if known and known._finds(self._matches, len(matching)) else None
        self._lookup: Lookup = same._lookup if same else Lookup(self._matches[: len(matching)])
        self._of_scenario: dict[str, list[int]] = {}
        self._of_id: dict[str, list[int]] = {}
        for position, entry in enumerate(self._every):
            of = self._of_scenario if position < len(matching) else self._of_id
            of.setdefault(entry.scenario.name, []).append(position)
        # Of each scenario the defaults that come before something more particular.
        self._defaults: dict[str, list[Entry]] = {}
        for name, positions in self._of_scenario.items():
            steps = sorted((matching[at] for at in positions), key=lambda entry: entry.rank.place)
            if defaults := _in_the_way(steps):
                self._defaults[name] = defaults
        self.recorded = any(entry.recorded for entry in matching)
        many = self._matches if len(self._every) > COMPARED else []
        self._words: Words = same._words if same else Words(many)

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

    @property
    def frees(self) -> bool:
        """Whether an entry that is gone may let another be offered that goes before it."""
        return bool(self._defaults)

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

    def _finds(self, matches: Sequence[Match], matching: int) -> bool:
        """Whether these are its own matches, of which so many are not chosen by id. As text too:
        1 is not true."""
        return (matching, len(matches)) == (len(self._matching), len(self._matches)) and all(
            one is other or (one == other and repr(one) == repr(other))
            for one, other in zip(matches, self._matches, strict=True)
        )

    def _holding(self, reading: Reading) -> Iterator[int]:
        positions = self._lookup.positions(reading)
        return (p for p in positions if self._matching[p].match.holds(reading))


def entries_of(scenarios: Sequence[Scenario], select: Select) -> Iterator[Entry]:
    """The steps of the scenarios that are chosen in this way."""
    for scenario in scenarios:
        if scenario.select == select:
            for number, step in enumerate(scenario.steps):
                match = step.match.with_turn(step.turn)
                rank = Rank(-scenario.priority, _particularity(match), scenario.name, number)
                recorded = bool(match.of(RecordedCondition))
                yield Entry(rank, scenario, step, match, (scenario.name, step.key), recorded)


def _in_the_way(steps: Sequence[Entry]) -> list[Entry]:
    """Of a scenario's steps, in their order, those after which comes a more particular one."""
    found, most = [], Particularity.EMPTY
    for entry in reversed(steps):
        if entry.rank.particularity > most:
            found.append(entry)
        most = min(most, entry.rank.particularity)
    return found


def _comes_before(default: Entry, entry: Entry) -> bool:
    """Whether a less particular step of the same scenario comes first there."""
    ours, theirs = entry.rank, default.rank
    return theirs.particularity > ours.particularity and theirs.place < ours.place


def _particularity(match: Match) -> Particularity:
    if any(condition.particular for condition in match.conditions):
        return Particularity.CONDITION
    return Particularity.DEFAULT if match.conditions else Particularity.EMPTY


def _asked_for(entry: Entry) -> Entry:
    """A step chosen by id with the name, by which its scenario is asked for, as a condition."""
    asked = SelectCondition.compiled(entry.scenario.name, "select")
    return replace(entry, match=Match((*asked, *entry.match.conditions)))


class Candidate(msgspec.Struct, frozen=True):
    """A step that a request matches. `groups` holds the named groups of its conditions."""

    scenario: Scenario
    step: Step
    groups: Mapping[str, str] = {}


class Index(msgspec.Struct, frozen=True, eq=False, weakref=True):
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
        name. `consumed` holds scenario and key of the steps that the session has consumed. One
        who asks for the next has lost the last to somebody else: its scenario then offers the
        step after it.
        """
        return self._candidates(request, scenario, consumed)

    def candidates_naming_path(
        self,
        request: CanonicalRequest,
        *,
        scenario: str | None = None,
        consumed: Container[tuple[str, str]] = frozenset(),
    ) -> Iterator[Candidate]:
        """The same, of the steps alone whose match names a path: what may answer in place of a
        computed answer."""
        return self._candidates(request, scenario, consumed, allowed=_names_path)

    def candidates_recorded(
        self,
        request: CanonicalRequest,
        *,
        scenario: str | None = None,
        consumed: Container[tuple[str, str]] = frozenset(),
    ) -> Iterator[Candidate]:
        """The same, of the steps alone that answer as they were recorded: what may answer what
        nothing else can."""
        return self._candidates(request, scenario, consumed, allowed=_as_recorded)

    @property
    def recorded(self) -> bool:
        """Whether there are steps for what was recorded."""
        return any(layer.recorded for layer, _ in self.layers)

    @property
    def steady(self) -> bool:
        """Whether what is offered first to who has consumed nothing is offered first to all who
        have not consumed it."""
        return not self.recorded and not self._frees

    @property
    def _frees(self) -> bool:
        return any(layer.frees for layer, _ in self.layers)

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
        allowed: Callable[[Step], bool] | None = None,
    ) -> Iterator[Candidate]:
        reading = Reading(request)
        lost: set[tuple[str, str]] = set()

        def eligible(entry: Entry) -> bool:
            step, ref = entry.step, entry.ref
            gone = (step.consume and ref in consumed) or ref in lost
            return not gone and (allowed is None or allowed(step))

        offers = self._offers(reading, eligible, scenario)
        while (best := next(offers, None)) is not None:
            offered = best
            if best.recorded:
                best = self._exactly(reading, eligible, best)
            yield Candidate(best.scenario, best.step, best.match.groups(reading))
            lost.add(best.ref)
            if best is not offered or self._frees:
                offers = self._offers(reading, eligible, scenario)

    def _offers(
        self, reading: Reading, eligible: Callable[[Entry], bool], scenario: str | None
    ) -> Iterator[Entry]:
        if len(self.layers) == 1:
            return self.layers[0][0].offers(reading, eligible, scenario)
        offers = (
            _unhidden(layer.offers(reading, eligible, scenario), hidden)
            for layer, hidden in self.layers
        )
        return merge(*offers, key=attrgetter("rank"))

    def _exactly(self, reading: Reading, eligible: Callable[[Entry], bool], best: Entry) -> Entry:
        """Of the recorded steps of a scenario that a request matches, the one that holds just this
        request, if the best matches only because rules leave something out."""
        if _holds_exactly(best, reading):
            return best
        every = (
            entry
            for layer, hidden in self.layers
            if best.scenario.name not in hidden
            for entry in layer.possible(reading, best.scenario.name)
        )
        return next(
            (
                entry
                for entry in every
                if eligible(entry) and _holds_exactly(entry, reading) and entry.match.holds(reading)
            ),
            best,
        )


def build_index(scenarios: Iterable[Scenario], *, known: Index | None = None) -> Index:
    """The index of the enabled scenarios, whose names are unique. Where they ask for the same as
    those of a `known` one, steps are found by what was made for that."""
    every = tuple(scenarios)
    before = known.layers[0][0] if known else None
    return Index({s.name: s for s in every}, ((Layer(every, known=before), frozenset()),))


def overlay(index: Index, scenarios: Iterable[Scenario]) -> Index:
    """The index with a session's own scenarios before those of the same name, at the cost of
    compiling the session's alone."""
    own = {s.name: s for s in scenarios}
    layers = tuple((layer, hidden | own.keys()) for layer, hidden in index.layers)
    return Index({**index.by_name, **own}, (*layers, (Layer(tuple(own.values())), frozenset())))


def _holds_exactly(entry: Entry, reading: Reading) -> bool:
    recorded = entry.match.of(RecordedCondition)
    return bool(recorded) and all(one.holds_exactly(reading) for one in recorded)


def _names_path(step: Step) -> bool:
    return bool(step.match.path)


def _as_recorded(step: Step) -> bool:
    """Whether a step answers as it was recorded, or with what needs no request to be made."""
    produced = step.produce
    raw = isinstance(produced.streaming, RawAnswer)
    return bool(step.match.of(RecordedCondition)) and (produced.recorded is not None or raw)


def _unhidden(entries: Iterator[Entry], hidden: frozenset[str]) -> Iterator[Entry]:
    return (entry for entry in entries if entry.scenario.name not in hidden)
