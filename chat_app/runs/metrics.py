"""The chat's metrics for /metrics; the number of label values does not grow with profiles."""

from collections.abc import Sequence
from datetime import timedelta
from functools import partial

from prometheus_client import Counter, Gauge, Histogram
from prometheus_client.registry import Collector

from chat_app.clients.providers import PROVIDERS

CUSTOM = "custom"
# In no registry: /metrics collects METRICS.
_counter, _gauge = partial(Counter, registry=None), partial(Gauge, registry=None)

_started = _counter("mockllm_chat_runs_started", "Answers that were begun.", ("provider",))
_ended = _counter("mockllm_chat_runs_ended", "Answers that have ended.", ("provider", "status"))
_live = _gauge("mockllm_chat_runs_live", "Answers that are being given.")
_first_token = Histogram(
    "mockllm_chat_first_token_seconds",
    "From the start of a model call to its first token.",
    ("provider",),
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0),
    registry=None,
)
_tool_calls = _counter("mockllm_chat_tool_calls", "Calls of tools that have ended.", ("status",))
# Set by `api/event_stream`.
STREAMS_OPEN = _gauge("mockllm_chat_streams_open", "Event streams that clients of the chat follow.")
METRICS: Sequence[Collector] = (_started, _ended, _live, _first_token, _tool_calls, STREAMS_OPEN)


def count_run_start(provider_id: str) -> None:
    """Count a started run, also as a live one."""
    _started.labels(_provider_label(provider_id)).inc()
    _live.inc()


def count_run_end(provider_id: str, status: str) -> None:
    """Count an ended run by its status; it is no longer a live one."""
    _ended.labels(_provider_label(provider_id), status).inc()
    _live.dec()


def record_first_token(provider_id: str, after: timedelta) -> None:
    """Record the time from the start of a model call to its first token."""
    _first_token.labels(_provider_label(provider_id)).observe(after.total_seconds())


def count_tool_call_end(status: str) -> None:
    """Count an ended tool call by its status."""
    _tool_calls.labels(status).inc()


def _provider_label(provider_id: str) -> str:
    """Return the label of a provider: its id, or CUSTOM for any custom one."""
    return provider_id if provider_id in PROVIDERS else CUSTOM
