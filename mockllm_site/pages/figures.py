"""The figures of this process, and those of all that share its state."""

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

from chat_app.runs.metrics import FIGURES
from mockllm_site import __version__
from scenarios_app.journal import journal
from scenarios_app.serving.metrics import ServingFigures
from scenarios_app.serving.services import services


@cache
def registry() -> CollectorRegistry:
    """Not the library's own, which any package in the process may write into."""
    found = CollectorRegistry()
    here = services()
    found.register(ServingFigures(here.tally, here.pipeline.streams, journal, state=here.state))
    for figure in FIGURES:
        found.register(figure)
    build = Info("mockllm_build", "The version that runs.", registry=found)
    build.info({"version": __version__})
    ProcessCollector(registry=found)
    PlatformCollector(registry=found)
    GCCollector(registry=found)
    return found


def figures() -> str:
    """Those of this process as others read them, each with its `worker`."""
    return generate_latest(_registry_of(_Named(f"{socket.gethostname()}:{os.getpid()}"))).decode()


def together(every: Collection[str]) -> CollectorRegistry:
    """Those of several processes, as each wrote them."""
    return _registry_of(_Written(every))


def _registry_of(collector: Collector) -> CollectorRegistry:
    found = CollectorRegistry()
    found.register(collector)
    return found


@dataclass(frozen=True, eq=False)
class _Named(Collector):
    worker: str

    def collect(self) -> Iterable[Metric]:
        for family in registry().collect():
            family.samples = [
                sample._replace(labels={**sample.labels, "worker": self.worker})
                for sample in family.samples
            ]
            yield family


@dataclass(frozen=True, eq=False)
class _Written(Collector):
    every: Collection[str]

    def collect(self) -> Iterable[Metric]:
        found: dict[str, Metric] = {}
        for text in self.every:
            for family in text_string_to_metric_families(text):
                known = found.setdefault(family.name, family)
                if known is not family:
                    known.samples += family.samples
        return found.values()
