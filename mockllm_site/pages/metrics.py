"""`/metrics`: the Prometheus metrics of this process, merged with those of other processes."""

import asyncio
import os
import socket
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol, TypeAlias

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry, GCCollector, Info, PlatformCollector
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from chat_app.runs.metrics import METRICS
from mockllm_site import __version__
from mockllm_site.kit.api.locality import FOREIGN, is_foreign, is_open
from mockllm_site.kit.api.tokens import bearer_of, is_token
from scenarios_app.cluster import redis_connections
from scenarios_app.journal import Journal, journal
from scenarios_app.serving.metrics import Durations, Served, Tally
from scenarios_app.serving.playback import Allowance
from scenarios_app.serving.services import services

PLAIN = "text/plain; charset=utf-8"


@require_safe
@never_cache
async def metrics(request: HttpRequest) -> HttpResponse:
    """Return the metrics of every process in the requested format.

    Open to this machine in dev and test; elsewhere it needs the metrics token.
    """
    if refused := _refusal(request):
        return refused
    encode, content_type = choose_encoder(request.headers.get("Accept", ""))
    metrics_registry = registry()
    if redis_connections():
        metrics_registry = merge_metrics(await asyncio.to_thread(services().cluster.all_metrics))
    return HttpResponse(encode(metrics_registry), content_type=content_type)


def _refusal(request: HttpRequest) -> HttpResponse | None:
    if is_foreign(request):
        return HttpResponse(f"{FOREIGN}\n", status=403, content_type=PLAIN)
    if is_open(request):
        return None
    token = settings.MOCKLLM_METRICS_TOKEN
    if not token:
        message = (
            "/metrics is closed: but on loopback in dev and test it needs MOCKLLM_METRICS_TOKEN, "
            "which is not set.\n"
        )
        return HttpResponse(message, status=403, content_type=PLAIN)
    if is_token(bearer_of(request) or "", token):
        return None
    message = "Send the metrics token (MOCKLLM_METRICS_TOKEN) as Authorization: Bearer …\n"
    headers = {"WWW-Authenticate": "Bearer"}
    return HttpResponse(message, status=401, content_type=PLAIN, headers=headers)


@cache
def registry() -> CollectorRegistry:
    """Return this process's registry, separate from the library's global one, which any package may
    use."""
    metrics_registry = CollectorRegistry()
    process = services()
    metrics_registry.register(
        ServingFigures(
            lambda: process.tally, process.pipeline.streams, journal, state=process.state
        )
    )
    for collector in METRICS:
        metrics_registry.register(collector)
    build = Info("mockllm_build", "The version that runs.", registry=metrics_registry)
    build.info({"version": __version__})
    ProcessCollector(registry=metrics_registry)
    PlatformCollector(registry=metrics_registry)
    GCCollector(registry=metrics_registry)
    return metrics_registry


def labelled_metrics() -> str:
    """Return this process's metrics as text, each with the label `worker`."""
    return generate_latest(
        _registry_of(_WorkerCollector(f"{socket.gethostname()}:{os.getpid()}"))
    ).decode()


def merge_metrics(every: Collection[str]) -> CollectorRegistry:
    """Merge the texts of several processes into one registry."""
    return _registry_of(_TextCollector(every))


def _registry_of(collector: Collector) -> CollectorRegistry:
    metrics_registry = CollectorRegistry()
    metrics_registry.register(collector)
    return metrics_registry


@dataclass(frozen=True, eq=False)
class _WorkerCollector(Collector):
    worker: str

    def collect(self) -> Iterable[Metric]:
        for family in registry().collect():
            family.samples = [
                sample._replace(labels={**sample.labels, "worker": self.worker})
                for sample in family.samples
            ]
            yield family


@dataclass(frozen=True, eq=False)
class _TextCollector(Collector):
    every: Collection[str]

    def collect(self) -> Iterable[Metric]:
        families: dict[str, Metric] = {}
        for text in self.every:
            for family in text_string_to_metric_families(text):
                first = families.setdefault(family.name, family)
                if first is not family:
                    first.samples += family.samples
        return families.values()


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
        self, tally: Callable[[], Tally], streams: Allowance, journal: Journal, *, state: Sessions
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
