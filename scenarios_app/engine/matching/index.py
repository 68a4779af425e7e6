"""The index of enabled scenarios: built once per change and searched for every request."""

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
from scenarios_app.engine.conditions.subjects import RequestReader
from scenarios_app.engine.matching.lookup import StepLookup, WordIndex
from scenarios_app.engine.producing.faults import REFUSE_UPGRADE
from scenarios_app.engine.scenario import Expect, RawAnswer, Scenario, Select, Step

# What a step expects that expects nothing.
NO_EXPECTATIONS = Expect()
# A scenario with at most this many steps is tried step by step, without the lookup.
_MAX_TRIED_STEPS = 32
# Beyond this number, near misses are sought only among steps that share words with the request.
MAX_COMPARED_STEPS = 100


class Particularity(IntEnum):
    """The specificity of a step's `match`, most specific first: a real condition, only `provider`
    and `path` (a default for these), or nothing."""

    CONDITION = 0
    DEFAULT = 1
    EMPTY = 2


class Rank(NamedTuple):
    """Sort key of entries, smallest first. `place` is the step's index in its scenario."""

    negated_priority: int
    particularity: Particularity
    scenario: str
    place: int


class Entry(msgspec.Struct, frozen=True):
    """One step with its rank and all its conditions. `ref` is scenario and key, by which sessions
    remember consumed steps. `recorded` marks a step for a recorded request."""

    rank: Rank
    scenario: Scenario
    step: Step
    match: Match
    ref: tuple[str, str]
    recorded: bool = False


class Layer:
    """The steps of a set of scenarios with the lookups over them; immutable."""

    def __init__(self, scenarios: Sequence[Scenario], *, previous: "Layer | None" = None) -> None:
        matching = sorted(entries_of(scenarios, "match"), key=lambda entry: entry.rank)
        by_id = sorted(
            map(_with_select_condition, entries_of(scenarios, "first_user_message")),
            key=lambda entry: entry.rank,
        )
        self._matching = matching
        self._entries = [*matching, *by_id]
        self._matches = [entry.match for entry in self._entries]
        reused = (
            previous
            if previous and previous._has_same_matches(self._matches, len(matching))
            else None
        )
        self._lookup: StepLookup = (
            reused._lookup if reused else StepLookup(self._matches[: len(matching)])
        )
        self._match_positions: dict[str, list[int]] = {}
        self._by_id_positions: dict[str, list[int]] = {}
        for position, entry in enumerate(self._entries):
            of = self._match_positions if position < len(matching) else self._by_id_positions
            of.setdefault(entry.scenario.name, []).append(position)
        # By scenario, the default steps that come before a more specific one.
        self._defaults: dict[str, list[Entry]] = {}
        for name, positions in self._match_positions.items():
            steps = sorted((matching[at] for at in positions), key=lambda entry: entry.rank.place)
            if defaults := _blocking_defaults(steps):
                self._defaults[name] = defaults
        self.recorded = any(entry.recorded for entry in matching)
        self.refuses_upgrades = any(refuses_upgrade(entry.step) for entry in matching)
        many = self._matches if len(self._entries) > MAX_COMPARED_STEPS else []
        self._words: WordIndex = reused._words if reused else WordIndex(many)

    def offers(
        self, reader: RequestReader, eligible: Callable[[Entry], bool], scenario: str | None = None
    ) -> Iterator[Entry]:
        """Yield, by rank, the eligible entries that match, except those behind a less particular
        entry of their scenario that also matches. The first is the best of all scenarios'
        offers."""
        for entry in self.possible_entries(reader, scenario):
            if entry.match.holds(reader) and eligible(entry):
                defaults = self._defaults.get(entry.scenario.name)
                if defaults is None or not any(
                    eligible(default) and default.match.holds(reader)
                    for default in defaults
                    if _comes_before(default, entry)
                ):
                    yield entry

    def first(self, reader: RequestReader, eligible: Callable[[Entry], bool]) -> Entry | None:
        """Return the first of `offers` over all scenarios, or None."""
        if self._defaults:
            return next(self.offers(reader, eligible), None)
        matching = self._matching
        for position in self._lookup.positions(reader):
            entry = matching[position]
            if eligible(entry) and entry.match.holds(reader):
                return entry
        return None

    @property
    def has_blocking_defaults(self) -> bool:
        """True if a step comes before a more specific one of its scenario and holds it back."""
        return bool(self._defaults)

    def possible_entries(
        self, reader: RequestReader, scenario: str | None = None
    ) -> Iterator[Entry]:
        """Yield, by rank, the entries of one scenario or of all that match, and maybe others."""
        positions: Sequence[int] = self._match_positions.get(scenario or "", ())
        if scenario is None:
            positions = self._lookup.positions(reader)
        elif len(positions) > _MAX_TRIED_STEPS:
            candidates = set(self._lookup.positions(reader))
            positions = [position for position in positions if position in candidates]
        return (self._matching[position] for position in positions)

    def near(self, reader: RequestReader, scenario: str | None = None) -> Iterator[Entry]:
        """Yield the entries to compare for near misses, at most MAX_COMPARED_STEPS, including those
        selected by id. If there are more: first those that match (their steps were consumed), then
        those that share words with the request, then the first ones."""
        positions: Sequence[int] = range(len(self._entries))
        if scenario is not None:
            by_id = self._by_id_positions.get(scenario, [])
            positions = self._match_positions.get(scenario, by_id)
        if len(positions) > MAX_COMPARED_STEPS:
            inside: Container[int] = positions if scenario is None else set(positions)
            likely = chain(
                self._matching_positions(reader), self._words.positions_sharing_words(reader)
            )
            best = islice((p for p in likely if p in inside), 2 * MAX_COMPARED_STEPS)
            positions = list(dict.fromkeys([*best, *positions[:MAX_COMPARED_STEPS]]))[
                :MAX_COMPARED_STEPS
            ]
        return (self._entries[position] for position in positions)

    def _has_same_matches(self, matches: Sequence[Match], matching: int) -> bool:
        """Return True if `matches`, the first `matching` not by id, equal this layer's: its lookups
        can be reused. They are compared as text too, because True equals 1."""
        return (matching, len(matches)) == (len(self._matching), len(self._matches)) and all(
            match is other or (match == other and repr(match) == repr(other))
            for match, other in zip(matches, self._matches, strict=True)
        )

    def _matching_positions(self, reader: RequestReader) -> Iterator[int]:
        """Yield, in order, the positions of the steps whose `match` holds."""
        positions = self._lookup.positions(reader)
        return (p for p in positions if self._matching[p].match.holds(reader))


def entries_of(scenarios: Sequence[Scenario], select: Select) -> Iterator[Entry]:
    """Yield the steps of the scenarios with this `select`."""
    for scenario in scenarios:
        if scenario.select == select:
            for number, step in enumerate(scenario.steps):
                match = step.match.with_turn(step.turn)
                rank = Rank(-scenario.priority, _particularity(match), scenario.name, number)
                recorded = bool(match.of(RecordedCondition))
                ref = (scenario.name, step.key)
                yield Entry(rank, scenario, step, match, ref, recorded)


def _blocking_defaults(steps: Sequence[Entry]) -> list[Entry]:
    """Return the steps of one scenario that come before a more specific one."""
    blocking, lowest = [], Particularity.EMPTY
    for entry in reversed(steps):
        if entry.rank.particularity > lowest:
            blocking.append(entry)
        lowest = min(lowest, entry.rank.particularity)
    return blocking


def _comes_before(default: Entry, entry: Entry) -> bool:
    """Return True if `default`, of the same scenario, is less particular and comes before."""
    rank, default_rank = entry.rank, default.rank
    return default_rank.particularity > rank.particularity and default_rank.place < rank.place


def _particularity(match: Match) -> Particularity:
    """Return how particular a match is, which orders steps of the same priority."""
    if any(condition.is_particular for condition in match.conditions):
        return Particularity.CONDITION
    return Particularity.DEFAULT if match.conditions else Particularity.EMPTY


def _with_select_condition(entry: Entry) -> Entry:
    """Return a by-id entry that requires its scenario's name as the first user message."""
    select_conditions = SelectCondition.compile(entry.scenario.name, "select")
    return replace(entry, match=Match((*select_conditions, *entry.match.conditions)))


class Candidate(msgspec.Struct, frozen=True):
    """A step that a request matches; `groups` are the named groups of its conditions."""

    scenario: Scenario
    step: Step
    groups: Mapping[str, str] = {}


class Index(msgspec.Struct, frozen=True, eq=False, weakref=True):
    """All enabled scenarios, immutable and safe to share between threads. Each layer comes with the
    names of scenarios that a later layer replaces."""

    by_name: Mapping[str, Scenario]
    layers: tuple[tuple[Layer, frozenset[str]], ...]

    def candidates(
        self,
        request: CanonicalRequest,
        only: Callable[[Step], bool] | None = None,
        *,
        scenario: str | None = None,
        consumed: Container[tuple[str, str]] = frozenset(),
    ) -> Iterator[Candidate]:
        """Yield the steps that can answer a request, best first, of one scenario or of all; with
        `only`, just those for which it is true.

        Order: priority; then each scenario offers its first step, in step order, that matches and
        is not consumed; among offers of one priority a real condition precedes a default for a
        provider or path, and that precedes an empty match; then the scenario's name.

        `consumed` holds scenario and key of the session's consumed steps. Taking the next candidate
        means that the last was consumed by a concurrent request: its scenario then offers the step
        after it.
        """
        reader = RequestReader(request)
        offered_refs: set[tuple[str, str]] = set()

        def eligible(entry: Entry) -> bool:
            """Return True if a step can answer: not consumed, not yielded before, and passed by
            `only`."""
            step, ref = entry.step, entry.ref
            is_unavailable = (step.consume and ref in consumed) or ref in offered_refs
            return not is_unavailable and (only is None or only(step))

        offers = self._merge_offers(reader, eligible, scenario)
        while (best := next(offers, None)) is not None:
            offered = best
            if best.recorded:
                best = self._prefer_exact_recording(reader, eligible, best)
            yield Candidate(best.scenario, best.step, best.match.groups(reader))
            offered_refs.add(best.ref)
            if best is not offered or self._has_blocking_defaults:
                offers = self._merge_offers(reader, eligible, scenario)

    def first(
        self, request: CanonicalRequest, consumed: Container[tuple[str, str]]
    ) -> Entry | None:
        """Return the entry of the first candidate, or None. It prefers no exact recording."""
        reader = RequestReader(request)

        def eligible(entry: Entry) -> bool:
            """Return True if a step is not consumed."""
            return not (entry.step.consume and entry.ref in consumed)

        if len(self.layers) == 1:
            return self.layers[0][0].first(reader, eligible)
        return next(self._merge_offers(reader, eligible, None), None)

    @property
    def recorded(self) -> bool:
        """True if there are steps for recorded requests."""
        return any(layer.recorded for layer, _ in self.layers)

    @property
    def refuses_upgrades(self) -> bool:
        """True if there are steps that refuse a WebSocket."""
        return any(layer.refuses_upgrades for layer, _ in self.layers)

    @property
    def _has_blocking_defaults(self) -> bool:
        return any(layer.has_blocking_defaults for layer, _ in self.layers)

    def near(self, reader: RequestReader, *, scenario: str | None = None) -> Iterator[Entry]:
        """Yield the entries to compare for near misses."""
        for layer, hidden in self.layers:
            for entry in layer.near(reader, scenario):
                if entry.scenario.name not in hidden:
                    yield entry

    def _merge_offers(
        self, reader: RequestReader, eligible: Callable[[Entry], bool], scenario: str | None
    ) -> Iterator[Entry]:
        """Return the offers of all layers in the order of their ranks, without scenarios that a
        later layer hides."""
        if len(self.layers) == 1:
            return self.layers[0][0].offers(reader, eligible, scenario)
        offers = (
            _without_hidden(layer.offers(reader, eligible, scenario), hidden)
            for layer, hidden in self.layers
        )
        return merge(*offers, key=attrgetter("rank"))

    def _prefer_exact_recording(
        self, reader: RequestReader, eligible: Callable[[Entry], bool], best: Entry
    ) -> Entry:
        """Return the recorded step of the scenario that equals the request without any rule, if
        `best` matches only through rules; else `best`."""
        if _holds_exactly(best, reader):
            return best
        every = (
            entry
            for layer, hidden in self.layers
            if best.scenario.name not in hidden
            for entry in layer.possible_entries(reader, best.scenario.name)
        )
        return next(
            (
                entry
                for entry in every
                if eligible(entry) and _holds_exactly(entry, reader) and entry.match.holds(reader)
            ),
            best,
        )


def build_index(scenarios: Iterable[Scenario], *, previous: Index | None = None) -> Index:
    """Return the index of enabled scenarios, whose names are unique. Lookups of `previous` are
    reused if the matches are the same."""
    all_scenarios = tuple(scenarios)
    previous_layer = previous.layers[0][0] if previous else None
    return Index(
        {s.name: s for s in all_scenarios},
        ((Layer(all_scenarios, previous=previous_layer), frozenset()),),
    )


def overlay(index: Index, scenarios: Iterable[Scenario]) -> Index:
    """Return the index with a session's scenarios in front, replacing those of the same name."""
    session_scenarios = {s.name: s for s in scenarios}
    layers = tuple((layer, hidden | session_scenarios.keys()) for layer, hidden in index.layers)
    return Index(
        {**index.by_name, **session_scenarios},
        (*layers, (Layer(tuple(session_scenarios.values())), frozenset())),
    )


def _holds_exactly(entry: Entry, reader: RequestReader) -> bool:
    """Return True if the step has recorded requests and all equal this one in compared fields."""
    recorded = entry.match.of(RecordedCondition)
    return bool(recorded) and all(step.holds_exactly(reader) for step in recorded)


def names_path(step: Step) -> bool:
    """Return True if a step's match names a path, so that it can replace a computed answer."""
    return bool(step.match.alternatives("path"))


def replays_recording(step: Step) -> bool:
    """Return True if a step replays a recording or sends a raw answer for one, also to requests
    that nothing else can answer."""
    produced = step.produce
    raw = isinstance(produced.streaming, RawAnswer)
    return bool(step.match.of(RecordedCondition)) and (produced.recorded is not None or raw)


def refuses_upgrade(step: Step) -> bool:
    """Return True if a step refuses a WebSocket at its handshake."""
    return step.produce.fault is not None and step.produce.fault.kind == REFUSE_UPGRADE


def _without_hidden(entries: Iterator[Entry], hidden: frozenset[str]) -> Iterator[Entry]:
    return (entry for entry in entries if entry.scenario.name not in hidden)
