"""The mock's figures for /metrics, read from what it counts anyway when somebody asks."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from scenarios_app.journal import Journal
from scenarios_app.serving.streams import Streams
from scenarios_app.serving.tally import Durations, Served, Tally

Labels: TypeAlias = tuple[str, ...]


class ServingFigures(Collector):
    """Asks no database, and keeps the event loop waiting for nothing."""

    def __init__(self, tally: Tally, streams: Streams, journal: Journal) -> None:
        self._tally = tally
        self._streams = streams
        self._journal = journal

    def collect(self) -> Iterator[Metric]:
        yield from self._requests(self._tally.served())
        yield from self._durations()
        yield GaugeMetricFamily(
            "mockllm_streams_open", "Provider streams that are open.", self._streams.open
        )
        yield GaugeMetricFamily(
            "mockllm_streams_max", "The most of them that may be open.", self._streams.most
        )
        yield from self._journal_figures()

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
        for (provider, streamed), found in self._tally.answers().items():
            _add(answers, (provider, "true" if streamed else "false"), found)
        yield answers
        heads = HistogramMetricFamily(
            "mockllm_first_byte_seconds",
            "From a request's arrival to the first byte of its answer.",
            labels=("provider",),
        )
        for provider, found in self._tally.heads().items():
            _add(heads, (provider,), found)
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


def _add(family: HistogramMetricFamily, labels: Labels, found: Durations) -> None:
    family.add_metric(labels, list(found.buckets()), found.total)
