"""Collects the Prometheus metrics of this process, and merges those of all processes."""

import os
import socket
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cache

from prometheus_client import CollectorRegistry, GCCollector, Info, PlatformCollector
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from chat_app.runs.metrics import METRICS
from mockllm_site import __version__
from scenarios_app.journal import journal
from scenarios_app.serving.metrics import ServingFigures
from scenarios_app.serving.services import services


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
