"""`/metrics`: the Prometheus metrics of this process, merged with those of other processes."""

import asyncio
import os
import socket
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

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
from mockllm_site.kit.api.locality import FOREIGN_PAGE, is_foreign, is_open
from mockllm_site.kit.api.tokens import bearer_of, matches_token
from scenarios_app.cluster import redis_connections
from scenarios_app.journal import Journal, journal
from scenarios_app.serving.metrics import Served, Tally
from scenarios_app.serving.services import Services, services

TEXT_TYPE = "text/plain; charset=utf-8"


@require_safe
@never_cache
async def metrics(request: HttpRequest) -> HttpResponse:
    """Return the metrics of all processes, as text or OpenMetrics by the Accept header."""
    if refused := _access_refusal(request):
        return refused
    encode, content_type = choose_encoder(request.headers.get("Accept", ""))
    collector: Collector = registry()
    if redis_connections():
        collector = merge_metrics(await asyncio.to_thread(services().cluster.all_metrics))
    return HttpResponse(encode(collector), content_type=content_type)


def _access_refusal(request: HttpRequest) -> HttpResponse | None:
    """Return the error for a request without access, None for one from this machine in dev and
    test or with the metrics token."""
    if is_foreign(request, is_page=True):
        return HttpResponse(f"{FOREIGN_PAGE}\n", status=403, content_type=TEXT_TYPE)
    if is_open(request):
        return None
    token = settings.MOCKLLM_METRICS_TOKEN
    if not token:
        message = (
            "/metrics is closed: set MOCKLLM_METRICS_TOKEN and send it as a bearer token, or use "
            "loopback in dev or test.\n"
        )
        return HttpResponse(message, status=403, content_type=TEXT_TYPE)
    if matches_token(bearer_of(request) or "", token):
        return None
    message = "Send the metrics token (MOCKLLM_METRICS_TOKEN) as Authorization: Bearer …\n"
    headers = {"WWW-Authenticate": "Bearer"}
    return HttpResponse(message, status=401, content_type=TEXT_TYPE, headers=headers)


@cache
def registry() -> CollectorRegistry:
    """Return the registry of this process's metrics; any package may add to the library's own."""
    metrics_registry = CollectorRegistry()
    for collector in (ServingCollector(services(), journal), *METRICS):
        metrics_registry.register(collector)
    build = Info("mockllm_build", "The version that runs.", registry=metrics_registry)
    build.info({"version": __version__})
    ProcessCollector(registry=metrics_registry)
    PlatformCollector(registry=metrics_registry)
    GCCollector(registry=metrics_registry)
    return metrics_registry


def labelled_metrics() -> str:
    """Return this process's metrics as text, each with the label `worker`."""
    worker = f"{socket.gethostname()}:{os.getpid()}"
    families = list(registry().collect())
    for family in families:
        family.samples = [
            sample._replace(labels={**sample.labels, "worker": worker}) for sample in family.samples
        ]
    return generate_latest(CollectedMetrics(families)).decode()


def merge_metrics(texts: Iterable[str]) -> Collector:
    """Return a collector of the metrics in texts that `labelled_metrics` returned."""
    families: dict[str, Metric] = {}
    for text in texts:
        for family in text_string_to_metric_families(text):
            first = families.setdefault(family.name, family)
            if first is not family:
                first.samples += family.samples
    return CollectedMetrics(families.values())


@dataclass(frozen=True, eq=False)
class CollectedMetrics(Collector):
    """A collector that returns metrics which were collected before."""

    families: Iterable[Metric]

    def collect(self) -> Iterable[Metric]:
        return self.families


Labels: TypeAlias = tuple[str, ...]


class ServingCollector(Collector):
    """Collects the metrics of requests, streams, sessions and the journal, from memory."""

    def __init__(self, process: Services, journal: Journal) -> None:
        self._process = process
        self._journal = journal

    def collect(self) -> Iterator[Metric]:
        tally = self._process.tally
        yield from _request_counters(tally.served())
        yield from _duration_histograms(tally)
        yield from self._streams_and_sessions()
        yield from self._journal_metrics()

    def _streams_and_sessions(self) -> Iterator[Metric]:
        streams, state = self._process.pipeline.streams, self._process.state
        yield GaugeMetricFamily(
            "mockllm_streams_open", "Provider streams that are open.", streams.taken
        )
        yield GaugeMetricFamily(
            "mockllm_streams_max", "Maximum of open provider streams.", streams.maximum
        )
        yield GaugeMetricFamily("mockllm_sessions", "Sessions that are kept.", state.session_count)
        yield GaugeMetricFamily(
            "mockllm_sessions_max", "Maximum of kept sessions.", state.max_sessions
        )
        yield CounterMetricFamily(
            "mockllm_sessions_forgotten",
            "Sessions that were forgotten because there were too many.",
            state.evicted_count,
        )

    def _journal_metrics(self) -> Iterator[Metric]:
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


def _request_counters(served: dict[Served, int]) -> Iterator[Metric]:
    yield _labelled_counter(
        "mockllm_requests",
        "Requests to the providers' routes that were answered.",
        ("provider", "outcome", "status", "match"),
        served,
        lambda s: (s.provider, s.outcome, f"{s.hundreds}xx", s.match),
    )
    yield _labelled_counter(
        "mockllm_streams_left",
        "Streams whose client left before the end.",
        ("provider",),
        served,
        lambda s: (s.provider,) if s.streamed and s.outcome == "client_gone" else None,
    )
    yield _labelled_counter(
        "mockllm_faults",
        "Scripted faults that were acted out.",
        ("provider", "kind"),
        served,
        lambda s: (s.provider, s.fault) if s.fault else None,
    )


def _duration_histograms(tally: Tally) -> Iterator[Metric]:
    answers = HistogramMetricFamily(
        "mockllm_answer_seconds",
        "From a request's arrival to the end of its answer, scripted waits among it.",
        labels=("provider", "stream"),
    )
    for (provider, streamed), durations in tally.answers().items():
        values = (provider, "true" if streamed else "false")
        answers.add_metric(values, list(durations.buckets()), durations.total)
    yield answers
    heads = HistogramMetricFamily(
        "mockllm_first_byte_seconds",
        "From a request's arrival to the first byte of its answer.",
        labels=("provider",),
    )
    for provider, durations in tally.heads().items():
        heads.add_metric((provider,), list(durations.buckets()), durations.total)
    yield heads


def _labelled_counter(
    name: str,
    meaning: str,
    labels: Sequence[str],
    served: dict[Served, int],
    labelled: Callable[[Served], Labels | None],
) -> Metric:
    """Return a counter summed by the labels that `labelled` returns, None to leave out an entry."""
    sums: Counter[Labels] = Counter()
    for what, count in served.items():
        if (values := labelled(what)) is not None:
            sums[values] += count
    family = CounterMetricFamily(name, meaning, labels=labels)
    for values, count in sums.items():
        family.add_metric(values, count)
    return family
