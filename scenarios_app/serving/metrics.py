"""Counts this process's answers for /metrics, by labels with few values."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from operator import add
from threading import RLock
from typing import Literal, NamedTuple, Protocol, TypeAlias

from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from scenarios_app.journal import Journal
from scenarios_app.journal.entry import JournalEntry
from scenarios_app.serving.playback import Streams

# `refused`: no step was looked for.
Match: TypeAlias = Literal["matched", "fallback", "unmatched", "refused"]
# The fields of `Served`; making one for each answer would take longer.
AnswerLabels: TypeAlias = tuple[str, str, int, Match, bool, str]

# Seconds: of an answer that is not held back, and of streams that are.
BOUNDS = (
    *(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5),
    *(1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0),
)


class Served(NamedTuple):
    """The labels of answers that are counted together. `hundreds` is the class of the status;
    `fault` is the kind acted out, or empty."""

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
        """Each bound with the number of those up to it, as Prometheus has it."""
        return zip((*map(str, BOUNDS), "+Inf"), accumulate(self._counts), strict=True)


class Counted:
    """Of requests that are counted together how long their answers took, and the heads of these."""

    __slots__ = ("answers", "heads")

    def __init__(self) -> None:
        self.answers = Durations()
        self.heads = Durations()


class Tally:
    """One per process. Counting costs the event loop about two microseconds."""

    def __init__(self) -> None:
        # An answer that nobody played ends when it is collected as garbage, which may be in the
        # middle of counting another: the lock lets its own thread in again.
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
        return {served: counted.answers.count for served, counted in self._all()}

    def answers(self) -> dict[tuple[str, bool], Durations]:
        """From a request's arrival to its answer's end, by provider and whether it streamed."""
        durations: defaultdict[tuple[str, bool], Durations] = defaultdict(Durations)
        for served, counted in self._all():
            durations[served.provider, served.streamed].add_all(counted.answers)
        return durations

    def heads(self) -> dict[str, Durations]:
        """From a request's arrival to the first byte of its answer, by provider."""
        durations: defaultdict[str, Durations] = defaultdict(Durations)
        for served, counted in self._all():
            durations[served.provider].add_all(counted.heads)
        return {provider: heads for provider, heads in durations.items() if heads.count}

    def _all(self) -> list[tuple[Served, Counted]]:
        with self._lock:
            return [(Served(*key), counted) for key, counted in self._counted.items()]


def labels_of(entry: JournalEntry) -> AnswerLabels:
    """Return the labels of a journaled answer."""
    match: Match = "matched" if entry.matched else "unmatched" if entry.way else "refused"
    if entry.fallback:
        match = "fallback"
    hundreds = entry.status // 100
    return entry.provider, entry.outcome, hundreds, match, entry.streamed, entry.fault


Labels: TypeAlias = tuple[str, ...]


class Sessions(Protocol):
    """The number of remembered sessions, its maximum, and how many were evicted."""

    most: int
    left: int

    @property
    def kept(self) -> int: ...


class ServingFigures(Collector):
    """Asks no database, and keeps the event loop waiting for nothing."""

    def __init__(
        self, tally: Callable[[], Tally], streams: Streams, journal: Journal, *, state: Sessions
    ) -> None:
        self._tally = tally
        self._state = state
        self._streams = streams
        self._journal = journal

    def collect(self) -> Iterator[Metric]:
        yield from self._requests(self._tally().served())
        yield from self._durations()
        yield GaugeMetricFamily(
            "mockllm_streams_open", "Provider streams that are open.", self._streams.open
        )
        yield GaugeMetricFamily(
            "mockllm_streams_max", "The most of them that may be open.", self._streams.most
        )
        yield from self._sessions()
        yield from self._journal_figures()

    def _sessions(self) -> Iterator[Metric]:
        yield GaugeMetricFamily(
            "mockllm_sessions", "Sessions that are remembered.", self._state.kept
        )
        yield GaugeMetricFamily(
            "mockllm_sessions_max", "The most of them that can be.", self._state.most
        )
        yield CounterMetricFamily(
            "mockllm_sessions_forgotten",
            "Sessions that were forgotten because there were too many.",
            self._state.left,
        )

    def _requests(self, served: dict[Served, int]) -> Iterator[Metric]:
        yield _counted(
            "mockllm_requests",
            "Requests to the providers' routes that were answered.",
            ("provider", "outcome", "status", "match"),
            served,
            lambda s: (s.provider, s.outcome, f"{s.hundreds}xx", s.match),
        )
        yield _counted(
            "mockllm_streams_left",
            "Streams whose client left before the end.",
            ("provider",),
            served,
            lambda s: (s.provider,) if s.streamed and s.outcome == "client_gone" else None,
        )
        yield _counted(
            "mockllm_faults",
            "Scripted faults that were acted out.",
            ("provider", "kind"),
            served,
            lambda s: (s.provider, s.fault) if s.fault else None,
        )

    def _durations(self) -> Iterator[Metric]:
        answers = HistogramMetricFamily(
            "mockllm_answer_seconds",
            "From a request's arrival to the end of its answer, scripted waits among it.",
            labels=("provider", "stream"),
        )
        for (provider, streamed), durations in self._tally().answers().items():
            _add(answers, (provider, "true" if streamed else "false"), durations)
        yield answers
        heads = HistogramMetricFamily(
            "mockllm_first_byte_seconds",
            "From a request's arrival to the first byte of its answer.",
            labels=("provider",),
        )
        for provider, durations in self._tally().heads().items():
            _add(heads, (provider,), durations)
        yield heads

    def _journal_figures(self) -> Iterator[Metric]:
        yield GaugeMetricFamily(
            "mockllm_journal_waiting_bytes",
            "What waits to be written into the journal.",
            self._journal.waiting_bytes,
        )
        yield CounterMetricFamily(
            "mockllm_journal_dropped",
            "Requests that the journal had no room for.",
            self._journal.dropped,
        )
        yield CounterMetricFamily(
            "mockllm_journal_failed",
            "Requests that the database refused.",
            self._journal.failed,
        )


def _counted(
    name: str,
    meaning: str,
    labels: Sequence[str],
    served: dict[Served, int],
    labelled: Callable[[Served], Labels | None],
) -> Metric:
    """A counter of what has labels at all, summed over everything that they do not tell apart."""
    sums: Counter[Labels] = Counter()
    for what, count in served.items():
        if (values := labelled(what)) is not None:
            sums[values] += count
    family = CounterMetricFamily(name, meaning, labels=labels)
    for values, count in sums.items():
        family.add_metric(values, count)
    return family


def _add(family: HistogramMetricFamily, labels: Labels, durations: Durations) -> None:
    family.add_metric(labels, list(durations.buckets()), durations.total)
