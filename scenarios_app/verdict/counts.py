"""What one process has served, step by step, counted beside the journal, which forgets."""

import time
from collections import Counter, OrderedDict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from threading import RLock
from typing import TypeAlias, TypedDict

from scenarios_app.engine.scenario import Scenario
from scenarios_app.verdict.session import StepKey

# A condition by its step and its place in it, a fault by its step and its kind.
Named: TypeAlias = tuple[str, str, str]

# So many steps are told apart; of sessions, and of their scenarios, so many of the latest.
MOST_STEPS, MOST_SESSIONS, MOST_SCENARIOS = 100_000, 10_000, 1_000


@dataclass(frozen=True, slots=True)
class Seen:
    """What a run has come by: how often each step answered, faults that were acted out, and
    conditions that held."""

    served: Mapping[StepKey, int] = field(default_factory=dict)
    faults: Collection[Named] = frozenset()
    met: Collection[Named] = frozenset()


class Told(TypedDict):
    """What one process tells others of a run, as JSON can say it."""

    served: list[tuple[str, str, int]]
    faults: list[Named]
    met: list[Named]
    requests: int
    observed: int
    whole: bool


@dataclass(frozen=True, slots=True)
class Run:
    """What all processes have counted. `observed` of the requests were looked at before the
    journal forgot them; `whole` says whether there was room for all steps."""

    seen: Seen
    requests: int
    observed: int
    whole: bool


class StepCounts:
    """One per process. Counting costs the event loop about a microsecond."""

    def __init__(self) -> None:
        # An answer that nobody played ends as garbage, in the middle of anything.
        self._lock = RLock()
        self._by_session: OrderedDict[str, set[StepKey]] = OrderedDict()
        self._scenarios: OrderedDict[str, Scenario] = OrderedDict()
        self.begin()

    def begin(self) -> None:
        """Begin anew; `since` is now, in Unix seconds."""
        with self._lock:
            self.since = time.time()
            # Requests, and those of them that were looked at before the journal forgot them.
            self.requests = self.observed = 0
            # Whether there was room for all steps.
            self.whole = True
            self._served: Counter[StepKey] = Counter()
            self._faults: set[Named] = set()
            self._met: set[Named] = set()

    def count(self, session: str, step: StepKey, *, fault: str, refused: bool) -> None:
        """Count an answer that has ended; one without a step has an empty key."""
        with self._lock:
            self.requests += 1
            if not step[1] or refused:
                return
            if len(self._served) >= MOST_STEPS and step not in self._served:
                self.whole = False
            else:
                self._served[step] += 1
                if fault:
                    self._faults.add((*step, fault))
            if (of := self._by_session.get(session)) is None:
                of = self._by_session[session] = set()
                if len(self._by_session) > MOST_SESSIONS:
                    self._by_session.popitem(last=False)
            of.add(step)

    def served_in(self, session: str) -> frozenset[StepKey]:
        """The steps that answered a session since its last reset."""
        with self._lock:
            return frozenset(self._by_session.get(session, ()))

    def forget(self, session: str | None) -> None:
        """A session, or every one, begins anew; what was served in the run stays."""
        with self._lock:
            if session is None:
                self._by_session.clear()
            else:
                self._by_session.pop(session, None)

    def know(self, scenario: Scenario) -> None:
        """A session has got a scenario of its own; of one name the latest is known."""
        with self._lock:
            self._scenarios.pop(scenario.name, None)
            self._scenarios[scenario.name] = scenario
            if len(self._scenarios) > MOST_SCENARIOS:
                self._scenarios.popitem(last=False)

    def known(self) -> dict[str, Scenario]:
        """The scenarios that sessions had as their own, by name."""
        with self._lock:
            return dict(self._scenarios)

    def meet(self, conditions: Iterable[Named]) -> None:
        """These conditions have held."""
        with self._lock:
            self._met.update(conditions)

    def observe(self, requests: int) -> None:
        """So many requests were looked at, and leave the journal."""
        with self._lock:
            self.observed += requests

    def seen(self) -> Seen:
        """All that was counted here."""
        with self._lock:
            return Seen(dict(self._served), frozenset(self._faults), frozenset(self._met))

    def told(self) -> Told:
        """The same for others."""
        with self._lock:
            return Told(
                served=[(*step, count) for step, count in self._served.items()],
                faults=list(self._faults),
                met=list(self._met),
                requests=self.requests,
                observed=self.observed,
                whole=self.whole,
            )


def together(every: Collection[Told], also: Collection[StepKey] = ()) -> Run:
    """What processes have counted; of steps that nobody counts any more at least one answer."""
    served: Counter[StepKey] = Counter()
    for told in every:
        for scenario, key, count in told["served"]:
            served[scenario, key] += count
    return Run(
        Seen(
            {**dict.fromkeys(also, 1), **served},
            frozenset(_named(one) for told in every for one in told["faults"]),
            frozenset(_named(one) for told in every for one in told["met"]),
        ),
        requests=sum(told["requests"] for told in every),
        observed=sum(told["observed"] for told in every),
        whole=all(told["whole"] for told in every),
    )


def _named(told: Iterable[str]) -> Named:
    scenario, key, what = told
    return scenario, key, what
