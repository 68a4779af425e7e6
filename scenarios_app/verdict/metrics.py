"""Counts of served steps per process, kept beside the journal, whose rows are deleted."""

import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from threading import RLock
from typing import TypeAlias, TypedDict

from mockllm_site.kit.bounded_dict import BoundedDict
from scenarios_app.engine.scenario import Scenario
from scenarios_app.verdict.session import StepKey

# Scenario and step key, then the field of a condition or the kind of a fault.
CoverageKey: TypeAlias = tuple[str, str, str]

MAX_STEPS, MAX_SESSIONS, MAX_SCENARIOS = 100_000, 10_000, 1_000


class CountsMessage(TypedDict):
    """The counts of one process as JSON for the other processes of a cluster."""

    served: list[tuple[str, str, int]]
    faults: list[CoverageKey]
    met: list[CoverageKey]
    requests: int
    observed: int
    whole: bool


@dataclass(frozen=True, slots=True)
class RunCounts:
    """The merged counts of all processes: answers per step, triggered faults, and conditions that
    held at least once. `observed` requests were checked against the conditions before their journal
    rows were deleted. `whole` is false if a process exceeded MAX_STEPS."""

    served: Mapping[StepKey, int]
    faults: Collection[CoverageKey]
    met: Collection[CoverageKey]
    requests: int
    observed: int
    whole: bool


class StepCounts:
    """Counts answers per step and session in one process; thread-safe."""

    def __init__(self) -> None:
        # Reentrant: a reply that was never sent is counted when it is garbage-collected, which
        # may happen while this thread holds the lock.
        self._lock = RLock()
        self._by_session = BoundedDict[str, set[StepKey]](MAX_SESSIONS)
        self._scenarios = BoundedDict[str, Scenario](MAX_SCENARIOS)
        self.restart_run()

    def restart_run(self) -> None:
        """Set the counts of the run to zero and `since` to now (Unix seconds)."""
        with self._lock:
            self.since = time.time()
            self.requests = self.observed = 0
            self.whole = True
            self._served: Counter[StepKey] = Counter()
            self._faults: set[CoverageKey] = set()
            self._met: set[CoverageKey] = set()

    def count_answer(self, session: str, step: StepKey, *, fault: str, refused: bool) -> None:
        """Count an ended answer in the run; count it for its step too, unless the step's key is
        empty or the request was refused. `fault` is the kind that was sent, or empty."""
        with self._lock:
            self.requests += 1
            if not step[1] or refused:
                return
            if len(self._served) >= MAX_STEPS and step not in self._served:
                self.whole = False
            else:
                self._served[step] += 1
                if fault:
                    self._faults.add((*step, fault))
            self._by_session.setdefault(session, set()).add(step)

    def served_in(self, session: str) -> frozenset[StepKey]:
        """Return the steps that answered a session since its last reset."""
        with self._lock:
            return frozenset(self._by_session.get(session, ()))

    def forget_session(self, session: str | None) -> None:
        """Forget the steps of a session, or of all for None; the counts of the run stay."""
        with self._lock:
            if session is None:
                self._by_session.clear()
            else:
                self._by_session.pop(session, None)

    def add_session_scenario(self, scenario: Scenario) -> None:
        """Keep a scenario that was loaded into one session; it replaces one of the same name."""
        with self._lock:
            self._scenarios[scenario.name] = scenario

    def session_scenarios(self) -> dict[str, Scenario]:
        """Return the scenarios that were loaded into single sessions, by name."""
        with self._lock:
            return dict(self._scenarios)

    def add_met_conditions(self, conditions: Iterable[CoverageKey]) -> None:
        """Record that these conditions have held."""
        with self._lock:
            self._met.update(conditions)

    def count_observed(self, requests: int) -> None:
        """Count requests that were checked against conditions and now leave the journal."""
        with self._lock:
            self.observed += requests

    def to_message(self) -> CountsMessage:
        """Return a snapshot for the other processes."""
        with self._lock:
            return CountsMessage(
                served=[(*step, count) for step, count in self._served.items()],
                faults=list(self._faults),
                met=list(self._met),
                requests=self.requests,
                observed=self.observed,
                whole=self.whole,
            )


def merge_counts(
    messages: Collection[CountsMessage], journaled: Collection[StepKey] = ()
) -> RunCounts:
    """Add up the counts of all processes. Steps in `journaled` that no process counts (it has
    ended) get one answer."""
    served: Counter[StepKey] = Counter()
    for message in messages:
        for scenario, key, count in message["served"]:
            served[scenario, key] += count
    return RunCounts(
        served={**dict.fromkeys(journaled, 1), **served},
        faults=frozenset((a, b, c) for message in messages for a, b, c in message["faults"]),
        met=frozenset((a, b, c) for message in messages for a, b, c in message["met"]),
        requests=sum(message["requests"] for message in messages),
        observed=sum(message["observed"] for message in messages),
        whole=all(message["whole"] for message in messages),
    )
