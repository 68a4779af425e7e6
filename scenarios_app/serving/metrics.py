"""Counts this process's answers for /metrics, by labels with few values."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from itertools import accumulate
from operator import add
from threading import RLock
from typing import Literal, NamedTuple, TypeAlias

from scenarios_app.engine.journal_entry import RawEntry

# `refused`: no step was searched for.
Match: TypeAlias = Literal["matched", "fallback", "unmatched", "refused"]
# The fields of `Served` as a tuple, which is created faster.
AnswerLabels: TypeAlias = tuple[str, str, int, Match, bool, str]

# Histogram bounds in seconds, for immediate answers and for slow streams.
BOUNDS = (
    *(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5),
    *(1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0),
)


class Served(NamedTuple):
    """The labels by which answers are counted. `hundreds` is the first digit of the status; `fault`
    is the kind of the fault, or empty."""

    provider: str
    outcome: str
    hundreds: int
    match: Match
    streamed: bool
    fault: str


class Durations:
    """A histogram of durations in seconds: the number up to each bound, and their sum."""

    def __init__(self) -> None:
        self.total = 0.0
        self._counts = [0] * (len(BOUNDS) + 1)

    @property
    def count(self) -> int:
        return sum(self._counts)

    def add(self, seconds: float) -> None:
        self._counts[bisect_left(BOUNDS, seconds)] += 1
        self.total += seconds

    def add_all(self, others: "Durations") -> None:
        self._counts = list(map(add, self._counts, others._counts))
        self.total += others.total

    def buckets(self) -> Iterator[tuple[str, int]]:
        """Yield each bound with the cumulative count, in Prometheus's format."""
        return zip((*map(str, BOUNDS), "+Inf"), accumulate(self._counts), strict=True)


class Counted:
    """Two histograms of answers with the same labels: to the last byte, and to the first
    (`heads`)."""

    __slots__ = ("answers", "heads")

    def __init__(self) -> None:
        self.answers = Durations()
        self.heads = Durations()


class Tally:
    """The counts of this process's answers by their labels; thread-safe."""

    def __init__(self) -> None:
        # Reentrant: an answer that was never sent is counted when it is garbage-collected, which
        # may happen while this thread holds the lock.
        self._lock = RLock()
        self._counted: defaultdict[AnswerLabels, Counted] = defaultdict(Counted)

    def count(self, labels: AnswerLabels, duration_ms: float, head_ms: float | None) -> None:
        """Count an ended answer, with the milliseconds to its end and to its first byte."""
        with self._lock:
            counted = self._counted[labels]
            counted.answers.add(duration_ms / 1000)
            if head_ms is not None:
                counted.heads.add(head_ms / 1000)

    def served(self) -> dict[Served, int]:
        """Return the number of answers by their labels."""
        return {served: counted.answers.count for served, counted in self._counted_responses()}

    def answers(self) -> dict[tuple[str, bool], Durations]:
        """Return the durations from a request's arrival to its answer's end, by provider and
        stream."""
        durations: defaultdict[tuple[str, bool], Durations] = defaultdict(Durations)
        for served, counted in self._counted_responses():
            durations[served.provider, served.streamed].add_all(counted.answers)
        return durations

    def heads(self) -> dict[str, Durations]:
        """Return the durations from a request's arrival to its answer's first byte, by provider."""
        durations: defaultdict[str, Durations] = defaultdict(Durations)
        for served, counted in self._counted_responses():
            durations[served.provider].add_all(counted.heads)
        return {provider: heads for provider, heads in durations.items() if heads.count}

    def _counted_responses(self) -> list[tuple[Served, Counted]]:
        """Return all labels with their histograms, which go on counting."""
        with self._lock:
            return [(Served(*key), counted) for key, counted in self._counted.items()]


def labels_of(entry: RawEntry) -> AnswerLabels:
    """Return the labels by which a journaled answer is counted."""
    match: Match = "matched" if entry.matched else "unmatched" if entry.way else "refused"
    if entry.fallback:
        match = "fallback"
    hundreds = entry.status // 100
    return entry.provider, entry.outcome, hundreds, match, entry.streamed, entry.fault
