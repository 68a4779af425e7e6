"""What this process has answered, counted for /metrics by labels of which there are few."""

from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate
from threading import RLock
from typing import Literal, NamedTuple, TypeAlias

from scenarios_app.journal_entry import JournalEntry

Match: TypeAlias = Literal["matched", "fallback", "unmatched", "refused"]

# Seconds: of an answer that is not held back, and of streams that are.
BOUNDS = (
    *(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5),
    *(1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0),
)


class Served(NamedTuple):
    """What requests that are counted together have in common; `hundreds` are those of the status,
    `fault` is the kind of the one that was acted out, or empty."""

    provider: str
    outcome: str
    hundreds: int
    match: Match
    streamed: bool
    fault: str


class Durations:
    """How many took up to each of the bounds, and how long all took together, in seconds."""

    def __init__(self) -> None:
        self.total = 0.0
        self._counts = [0] * (len(BOUNDS) + 1)

    def add(self, seconds: float) -> None:
        self._counts[bisect_left(BOUNDS, seconds)] += 1
        self.total += seconds

    def buckets(self) -> Iterator[tuple[str, int]]:
        """Each bound with the number of those up to it, as Prometheus has it."""
        return zip((*map(str, BOUNDS), "+Inf"), accumulate(self._counts), strict=True)


class Tally:
    """One per process. Counting costs the event loop about two microseconds."""

    def __init__(self) -> None:
        # An answer that nobody played ends when it is collected as garbage, which may be in the
        # middle of counting another: the lock lets its own thread in again.
        self._lock = RLock()
        self._served: dict[Served, int] = {}
        self._answers: dict[tuple[str, bool], Durations] = {}
        self._heads: dict[str, Durations] = {}

    def count(self, entry: JournalEntry) -> None:
        """Count an answer that has ended."""
        provider, streamed = entry.provider, entry.streamed
        match = match_of(entry)
        served = Served(provider, entry.outcome, entry.status // 100, match, streamed, entry.fault)
        head_ms = entry.timings.get("head_ms")
        with self._lock:
            self._served[served] = self._served.get(served, 0) + 1
            if (answers := self._answers.get((provider, streamed))) is None:
                answers = self._answers[provider, streamed] = Durations()
            answers.add(entry.duration_ms / 1000)
            if head_ms is not None:
                if (heads := self._heads.get(provider)) is None:
                    heads = self._heads[provider] = Durations()
                heads.add(head_ms / 1000)

    def served(self) -> dict[Served, int]:
        with self._lock:
            return dict(self._served)

    def answers(self) -> dict[tuple[str, bool], Durations]:
        """From a request's arrival to its answer's end, by provider and whether it streamed."""
        with self._lock:
            return dict(self._answers)

    def heads(self) -> dict[str, Durations]:
        """From a request's arrival to the first byte of its answer, by provider."""
        with self._lock:
            return dict(self._heads)


def match_of(entry: JournalEntry) -> Match:
    """What the request found; `refused` is one for which no step was looked for."""
    if entry.fallback:
        return "fallback"
    if entry.matched:
        return "matched"
    return "unmatched" if entry.way else "refused"
