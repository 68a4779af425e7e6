"""The metrics of the mock count each answer once, with few label values."""

from contextlib import aclosing
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from mockllm_site.pages.metrics import ServingCollector
from scenarios_app.engine.journal_entry import JournalEntry
from scenarios_app.engine.memory import MemoryState
from scenarios_app.journal import ENTRY_BYTES, Journal
from scenarios_app.serving.metrics import BOUNDS, Durations, Tally, labels_of
from scenarios_app.serving.playback import ProcessLimit
from scenarios_app.wire.base import Call
from tests.serving.pipelines import Harness, chat, claude, scenario, text_step
from tests.state.entries import entry

FAULT = {"failures": {"times": 1, "fault": {"kind": "rate_limit"}}}


class Metrics:
    """The metrics of a tally, a journal and a state, by name and labels."""

    def __init__(self) -> None:
        self.tally = Tally()
        self.streams = ProcessLimit(5)
        self.journal = Journal(waiting_bytes=2 * ENTRY_BYTES)
        self.state = MemoryState(2)
        pipeline = SimpleNamespace(streams=self.streams)
        process: Any = SimpleNamespace(tally=self.tally, pipeline=pipeline, state=self.state)
        self._registry = CollectorRegistry()
        self._registry.register(ServingCollector(process, self.journal))

    def value(self, name: str, **labels: str) -> float | None:
        return self._registry.get_sample_value(f"mockllm_{name}", labels)

    def requests(self) -> dict[tuple[str, ...], float]:
        """Return the number of requests by provider, outcome, status and match."""
        return {
            tuple(sample.labels[name] for name in ("provider", "outcome", "status", "match")): (
                sample.value
            )
            for family in self._registry.collect()
            for sample in family.samples
            if sample.name == "mockllm_requests_total"
        }


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


def count_entry(metrics: Metrics, journal_entry: JournalEntry) -> None:
    metrics.tally.count(
        labels_of(journal_entry), journal_entry.duration_ms, journal_entry.timings.get("head_ms")
    )


async def send_and_count(metrics: Metrics, harness: Harness, *calls: Call) -> None:
    for call in calls:
        await harness.ask(call)
    for journal_entry in harness.journal:
        count_entry(metrics, journal_entry)


async def test_requests_are_counted_by_their_outcome_and_match(metrics: Metrics) -> None:
    harness = Harness(scenario("s", text_step("Hi", match={"model": "gpt-4o"})))
    keyless = Call("POST", "/v1/chat/completions", {}, {}, b"{}")
    await send_and_count(metrics, harness, chat(), chat(), claude(), keyless)
    count_entry(metrics, entry(provider="gemini", matched=True, fallback=True))
    assert metrics.requests() == {
        ("openai", "complete", "2xx", "matched"): 2,
        ("anthropic", "unmatched", "4xx", "unmatched"): 1,
        ("openai", "complete", "4xx", "refused"): 1,
        ("gemini", "complete", "2xx", "fallback"): 1,
    }


async def test_names_of_clients_and_scripts_are_no_labels(metrics: Metrics) -> None:
    harness = Harness(scenario("secret-scenario", text_step("Hi")))
    call = chat(model="secret-model", headers={"x-mockllm-session": "secret-session"})
    await send_and_count(metrics, harness, call, Call("GET", "/v1/secret-path", {}, {}, b""))
    assert sum(metrics.requests().values()) == 2
    assert "secret" not in str(metrics.requests())


async def test_faults_are_counted_by_kind(metrics: Metrics) -> None:
    harness = Harness(scenario("s", text_step("Hi", **FAULT)))
    await send_and_count(metrics, harness, chat(), chat())
    assert metrics.value("faults_total", provider="openai", kind="rate_limit") == 1
    assert metrics.requests()["openai", "fault", "4xx", "matched"] == 1


@pytest.mark.parametrize(("stream", "expected"), [(True, 1), (False, None)])
async def test_streams_whose_client_leaves_are_counted(
    metrics: Metrics, stream: bool, expected: float | None
) -> None:
    step: dict[str, Any] = text_step("one two three")
    step["produce"] |= {"pacing": {"chunk_ms": 60_000, "words_per_chunk": 1}, "latency_ms": 0}
    harness = Harness(scenario("s", step))
    answer = await harness.pipeline.answer(chat(stream=stream))
    async with aclosing(answer.pieces()) as pieces:
        await anext(pieces)
    await send_and_count(metrics, harness)
    assert metrics.value("streams_left_total", provider="openai") == expected


async def test_answers_are_timed(metrics: Metrics) -> None:
    await send_and_count(
        metrics, Harness(scenario("s", text_step("Hi"))), chat(), chat(stream=True)
    )
    labels = {"provider": "openai"}
    for stream in ("true", "false"):
        assert metrics.value("answer_seconds_count", stream=stream, **labels) == 1
    assert metrics.value("first_byte_seconds_bucket", le="+Inf", **labels) == 2


def test_a_duration_counts_up_to_every_bound_that_it_is_within() -> None:
    durations = Durations()
    for seconds in (0.0, 0.001, 0.002, 1e9):
        durations.add(seconds)
    buckets = dict(durations.buckets())
    assert [float(bound) for bound in buckets] == [*BOUNDS, float("inf")]
    assert (buckets["0.001"], buckets["0.0025"], buckets["300.0"], buckets["+Inf"]) == (2, 3, 3, 4)
    assert durations.total == pytest.approx(1e9 + 0.003)


def test_open_streams_and_their_limit_are_gauges(metrics: Metrics) -> None:
    metrics.streams.take()
    assert (metrics.value("streams_open"), metrics.value("streams_max")) == (1, 5)


def test_dropped_and_failed_journal_entries_are_counted(
    metrics: Metrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The queue is not read.
    monkeypatch.setattr(metrics.journal, "start", lambda: None)
    for _ in range(3):
        metrics.journal.record(entry(request_body=b"", response_body=()))
    metrics.journal.failed = 7
    assert metrics.value("journal_waiting_bytes") == 2 * ENTRY_BYTES
    assert metrics.value("journal_dropped_total") == 1
    assert metrics.value("journal_failed_total") == 7


async def test_current_and_evicted_sessions_are_counted(metrics: Metrics) -> None:
    assert (metrics.value("sessions"), metrics.value("sessions_max")) == (0, 2)
    for session in ("a", "b", "a", "c", "d"):
        await metrics.state.arrive(session)
    assert (metrics.value("sessions"), metrics.value("sessions_max")) == (2, 2)
    assert metrics.value("sessions_forgotten_total") == 2
