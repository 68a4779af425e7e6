"""The figures of this process for Prometheus: the mock's, the chat's, and the process's own."""

from functools import cache

from prometheus_client import CollectorRegistry, GCCollector, Info, PlatformCollector
from prometheus_client.process_collector import ProcessCollector

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
