"""What /metrics tells of the mock: each answer counted once, by labels that stay few."""

from contextlib import aclosing
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from mockllm_site.pages.metrics import ServingCollector
from scenarios_app.engine.memory import MemoryState
from scenarios_app.journal import ENTRY_BYTES, Journal
from scenarios_app.journal.entry import JournalEntry
from scenarios_app.serving.metrics import BOUNDS, Durations, Tally, labels_of
from scenarios_app.serving.playback import Allowance
from scenarios_app.wire.base import Call
from tests.serving.pipelines import Playing, chat, claude, says, scenario
from tests.state.entries import entry

FAULT = {"failures": {"times": 1, "fault": {"kind": "rate_limit"}}}


class Figures:
    """The figures of a tally, by name and labels."""

    def __init__(self) -> None:
        self.tally = Tally()
        self.streams = Allowance(5)
        self.journal = Journal(waiting_bytes=2 * ENTRY_BYTES)
        self.state = MemoryState(2)
        pipeline = SimpleNamespace(streams=self.streams)
        process: Any = SimpleNamespace(tally=self.tally, pipeline=pipeline, state=self.state)
        self._registry = CollectorRegistry()
        self._registry.register(ServingCollector(process, self.journal))

    def value(self, name: str, **labels: str) -> float | None:
        return self._registry.get_sample_value(f"mockllm_{name}", labels)

    def requests(self) -> dict[tuple[str, ...], float]:
        """Provider, outcome, status and match of all requests, with their number."""
        return {
            tuple(sample.labels[name] for name in ("provider", "outcome", "status", "match")): (
                sample.value
            )
            for family in self._registry.collect()
            for sample in family.samples
            if sample.name == "mockllm_requests_total"
        }


@pytest.fixture
def figures() -> Figures:
    return Figures()


def count(figures: Figures, ended: JournalEntry) -> None:
    figures.tally.count(labels_of(ended), ended.duration_ms, ended.timings.get("head_ms"))


async def asked(figures: Figures, playing: Playing, *calls: Call) -> None:
    for call in calls:
        await playing.ask(call)
    for told in playing.journal:
        count(figures, told)


async def test_requests_are_counted_by_what_they_found(figures: Figures) -> None:
    playing = Playing(scenario("s", says("Hi", match={"model": "gpt-4o"})))
    keyless = Call("POST", "/v1/chat/completions", {}, {}, b"{}")
    await asked(figures, playing, chat(), chat(), claude(), keyless)
    count(figures, entry(provider="gemini", matched=True, fallback=True))
    assert figures.requests() == {
        ("openai", "complete", "2xx", "matched"): 2,
        ("anthropic", "unmatched", "4xx", "unmatched"): 1,
        ("openai", "complete", "4xx", "refused"): 1,
        ("gemini", "complete", "2xx", "fallback"): 1,
    }


async def test_nothing_that_a_client_or_a_script_names_is_a_label(figures: Figures) -> None:
    playing = Playing(scenario("secret-scenario", says("Hi")))
    named = chat(model="secret-model", headers={"x-mockllm-session": "secret-session"})
    await asked(figures, playing, named, Call("GET", "/v1/secret-path", {}, {}, b""))
    assert sum(figures.requests().values()) == 2
    assert "secret" not in str(figures.requests())


async def test_faults_are_counted_by_kind(figures: Figures) -> None:
    playing = Playing(scenario("s", says("Hi", **FAULT)))
    await asked(figures, playing, chat(), chat())
    assert figures.value("faults_total", provider="openai", kind="rate_limit") == 1
    assert figures.requests()["openai", "fault", "4xx", "matched"] == 1


@pytest.mark.parametrize(("stream", "left"), [(True, 1), (False, None)])
async def test_streams_whose_client_leaves_are_counted(
    figures: Figures, stream: bool, left: float | None
) -> None:
    step: dict[str, Any] = says("one two three")
    step["produce"] |= {"pacing": {"chunk_ms": 60_000, "words_per_chunk": 1}, "latency_ms": 0}
    playing = Playing(scenario("s", step))
    answer = await playing.pipeline.answer(chat(stream=stream))
    async with aclosing(answer.pieces()) as pieces:
        await anext(pieces)
    await asked(figures, playing)
    assert figures.value("streams_left_total", provider="openai") == left


async def test_answers_are_timed(figures: Figures) -> None:
    await asked(figures, Playing(scenario("s", says("Hi"))), chat(), chat(stream=True))
    labels = {"provider": "openai"}
    for stream in ("true", "false"):
        assert figures.value("answer_seconds_count", stream=stream, **labels) == 1
    assert figures.value("first_byte_seconds_bucket", le="+Inf", **labels) == 2


def test_a_duration_counts_up_to_every_bound_that_it_is_within() -> None:
    found = Durations()
    for seconds in (0.0, 0.001, 0.002, 1e9):
        found.add(seconds)
    buckets = dict(found.buckets())
    assert [float(bound) for bound in buckets] == [*BOUNDS, float("inf")]
    assert (buckets["0.001"], buckets["0.0025"], buckets["300.0"], buckets["+Inf"]) == (2, 3, 3, 4)
    assert found.total == pytest.approx(1e9 + 0.003)


def test_open_streams_are_told_with_their_limit(figures: Figures) -> None:
    figures.streams.take()
    assert (figures.value("streams_open"), figures.value("streams_max")) == (1, 5)


def test_the_journals_losses_are_told(figures: Figures, monkeypatch: pytest.MonkeyPatch) -> None:
    # The queue is not read.
    monkeypatch.setattr(figures.journal, "start", lambda: None)
    for _ in range(3):
        figures.journal.record(entry(request_body=b"", response_body=()))
    figures.journal.failed = 7
    assert figures.value("journal_waiting_bytes") == 2 * ENTRY_BYTES
    assert figures.value("journal_dropped_total") == 1
    assert figures.value("journal_failed_total") == 7


async def test_sessions_are_counted_and_those_that_were_forgotten(figures: Figures) -> None:
    assert (figures.value("sessions"), figures.value("sessions_max")) == (0, 2)
    for session in ("a", "b", "a", "c", "d"):
        await figures.state.arrive(session)
    assert (figures.value("sessions"), figures.value("sessions_max")) == (2, 2)
    assert figures.value("sessions_forgotten_total") == 2
