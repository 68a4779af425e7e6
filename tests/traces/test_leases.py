"""Leases: renewed by the owner of a run; a run with an expired lease is ended once."""

import asyncio
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from django.db import connection

from chat_app.models import Message, MessageStatus
from tests.traces.rows import (
    dead_owner,
    event,
    make_trace,
    make_trace_async,
    run_query,
    stored_seqs,
)
from traces_app import leases
from traces_app.leases import (
    LEASE,
    MAX_UNSTORED_EVENTS,
    current_owner,
    end_dead_runs,
    renew_leases,
)
from traces_app.models import ModelCall, Status, Trace
from traces_app.recorder import insert_events

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(seconds=2)
HOUR = timedelta(hours=1)


def reload(trace: Trace) -> Trace:
    return Trace.objects.select_related("message").get(pk=trace.pk)


def store_events(trace: Trace, *entries: tuple[str, dict[str, object]]) -> None:
    events = [
        event(seq, event_type, **payload) for seq, (event_type, payload) in enumerate(entries, 1)
    ]
    insert_events({trace.pk: events})


@pytest.mark.django_db
def test_renewed_lease_lasts_from_now() -> None:
    trace = make_trace(now=NOW)
    assert renew_leases([trace.pk], now=LATER) == {trace.pk: False}
    assert reload(trace).lease_until == LATER + LEASE


@pytest.mark.django_db
def test_all_runs_of_a_process_are_renewed_with_one_update(
    django_assert_num_queries: object,
) -> None:
    traces = [make_trace(now=NOW) for _ in range(20)]
    with django_assert_num_queries(2):
        renew_leases([trace.pk for trace in traces], now=LATER)
    assert {reload(trace).lease_until for trace in traces} == {LATER + LEASE}


@pytest.mark.django_db
def test_renewal_reports_runs_to_be_cancelled() -> None:
    active, to_cancel = make_trace(), make_trace(cancel_requested=True)
    cancelled = {active.pk: False, to_cancel.pk: True}
    assert renew_leases([active.pk, to_cancel.pk], now=NOW) == cancelled


@pytest.mark.django_db
@pytest.mark.parametrize(
    "columns", [{"status": Status.FAILED}, {"owner": "another"}], ids=["ended", "another's"]
)
def test_renewal_reports_lost_runs(columns: dict[str, str]) -> None:
    mine, lost = make_trace(now=NOW), make_trace(now=NOW, **columns)
    assert renew_leases([mine.pk, lost.pk], now=LATER) == {mine.pk: False}
    assert reload(lost).lease_until == NOW + LEASE


class FakeClock:
    """A fake monotonic clock."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    clock = FakeClock()
    monkeypatch.setattr(leases, "lease_watch", leases.LeaseWatch(clock))
    return clock


@pytest.mark.django_db
@pytest.mark.parametrize("jump", [-HOUR, timedelta(0), HOUR], ids=["back", "right", "ahead"])
def test_run_is_alive_while_its_lease_is_renewed(clock: FakeClock, jump: timedelta) -> None:
    """The wall clocks of both processes do not matter."""
    trace = make_trace(now=NOW)
    assert end_dead_runs(now=NOW + jump) == 0
    for beat in range(1, 10):
        renew_leases([trace.pk], now=NOW + jump + beat * timedelta(seconds=1))
        clock.now += LEASE.total_seconds() - 1
        assert end_dead_runs(now=NOW - beat * jump) == 0
    clock.now += LEASE.total_seconds() - 1
    assert end_dead_runs(now=NOW) == 0
    clock.now += 1
    assert end_dead_runs(now=NOW) == 1
    assert reload(trace).status == Status.FAILED


@pytest.mark.django_db
def test_run_of_a_dead_process_of_this_machine_is_ended_immediately(clock: FakeClock) -> None:
    ours, theirs = make_trace(now=NOW), make_trace(now=NOW, owner=dead_owner())
    elsewhere = make_trace(now=NOW, owner="one.of-another-machine.1.1")
    assert end_dead_runs(now=NOW) == 1
    assert reload(theirs).status == Status.FAILED
    assert {reload(trace).status for trace in (ours, elsewhere)} == {Status.RUNNING}


@pytest.mark.django_db
def test_number_of_watched_leases_is_limited(
    clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases.lease_watch._seen, "max_items", 2)
    for _ in range(3):
        make_trace(now=NOW)
    assert end_dead_runs(now=NOW) == 0
    assert len(leases.lease_watch._seen) == 2


def test_owner_name_fits_into_its_column() -> None:
    assert len(current_owner()) <= Trace._meta.get_field("owner").max_length < 100
    assert not leases.has_process_died(current_owner()) and leases.has_process_died(dead_owner())


@pytest.mark.django_db
def test_a_run_without_a_lease_is_dead() -> None:
    """The column may be empty; then no process renews the lease."""
    trace = make_trace(now=NOW, lease_until=None)
    assert end_dead_runs(now=NOW) == 1
    assert reload(trace).status == Status.FAILED


@pytest.mark.django_db
def test_run_of_a_dead_process_fails_as_interrupted() -> None:
    trace = make_trace(now=NOW, owner=dead_owner())
    store_events(trace, ("started", {"trace_id": "t"}), ("chunk", {"content": "Half a"}))
    assert end_dead_runs(now=LATER) == 1
    ended_trace = reload(trace)
    assert (ended_trace.status, ended_trace.code, ended_trace.error, ended_trace.finished_at) == (
        Status.FAILED,
        "SERVICE_UNAVAILABLE",
        "interrupted",
        LATER,
    )
    last = ended_trace.events.get(seq=2 + MAX_UNSTORED_EVENTS)
    assert (last.type, last.payload) == (
        "error",
        {"status": 503, "message": "interrupted", "code": "SERVICE_UNAVAILABLE"},
    )


@pytest.mark.django_db
def test_dead_run_without_stored_events_gets_a_terminal_event() -> None:
    trace = make_trace(now=NOW, owner=dead_owner())
    assert end_dead_runs(now=LATER) == 1
    assert [(row.seq, row.type) for row in trace.events.all()] == [(MAX_UNSTORED_EVENTS, "error")]


@pytest.mark.django_db
def test_partial_answer_of_a_dead_run_is_stored_as_failed() -> None:
    trace = make_trace(
        now=NOW, owner=dead_owner(), provider_id="openai", model_id="gpt-4o", branch="b"
    )
    store_events(
        trace,
        ("started", {"trace_id": "t"}),
        ("thinking", {"content": "Let me"}),
        ("thinking", {"content": " think."}),
        ("chunk", {"content": "I look"}),
        ("tool_start", {"tool_call_id": "1", "tool_name": "add", "tool_args": {"a": 1}}),
        ("tool_start", {"tool_call_id": "2", "tool_name": "sub", "tool_args": "?"}),
        ("tool_output", {"tool_call_id": "1", "output": "Error: no", "is_error": True}),
        ("tool_end", {"tool_call_id": "1", "status": "error", "duration_ms": 1}),
        ("chunk", {"content": " it up"}),
    )
    end_dead_runs(now=LATER)
    message = reload(trace).message
    assert message is not None
    assert message.number == 2
    assert (message.sender, message.status) == ("assistant", MessageStatus.FAILED)
    assert (message.content, message.thinking) == ("I look it up", "Let me think.")
    assert (message.provider_id, message.model_id, message.branch) == ("openai", "gpt-4o", "b")
    assert message.tool_calls == [
        {"id": "1", "name": "add", "arguments": {"a": 1}, "result": "Error: no", "is_error": True},
        {"id": "2", "name": "sub", "arguments": "?", "result": None, "is_error": False},
    ]


@pytest.mark.django_db
def test_dead_run_without_text_stores_no_answer() -> None:
    trace = make_trace(now=NOW, owner=dead_owner())
    store_events(trace, ("started", {"trace_id": "t"}))
    end_dead_runs(now=LATER)
    assert reload(trace).message is None
    assert Message.objects.count() == 1


@pytest.mark.django_db
def test_totals_of_a_dead_run_are_stored() -> None:
    trace = make_trace(now=NOW, owner=dead_owner())
    for number in (1, 2):
        ModelCall.objects.create(trace=trace, number=number, input_tokens=10, output_tokens=number)
    store_events(
        trace,
        ("started", {"trace_id": "t"}),
        ("tool_start", {"tool_call_id": "1", "tool_name": "add", "tool_args": {}}),
        ("chunk", {"content": "Hi"}),
    )
    end_dead_runs(now=LATER)
    ended_trace = reload(trace)
    assert (ended_trace.model_calls, ended_trace.tool_calls) == (2, 1)
    assert (ended_trace.input_tokens, ended_trace.output_tokens) == (20, 3)
    assert ended_trace.first_token_at == ended_trace.events.get(seq=3).at


@pytest.mark.django_db
def test_only_selected_runs_are_ended() -> None:
    selected, other = (make_trace(now=NOW, owner=dead_owner()) for _ in range(2))
    assert end_dead_runs(Trace.objects.filter(pk=selected.pk), now=LATER) == 1
    assert (reload(selected).status, reload(other).status) == (Status.FAILED, Status.RUNNING)


@pytest.mark.django_db
def test_ended_run_of_a_dead_process_is_unchanged() -> None:
    trace = make_trace(now=NOW, owner=dead_owner(), status=Status.CANCELLED)
    assert end_dead_runs(now=LATER) == 0
    assert reload(trace).status == Status.CANCELLED


@pytest.mark.django_db(transaction=True)
async def test_concurrent_finders_end_a_dead_run_once() -> None:
    """Each finder has its own thread, like readers of several processes."""
    trace = await make_trace_async(now=NOW, owner=dead_owner())
    await run_query(partial(store_events, trace, ("chunk", {"content": "Half"})))
    ended_counts = await asyncio.gather(
        *(asyncio.to_thread(_end_and_close, LATER) for _ in range(8))
    )
    assert sum(ended_counts) == 1
    assert await run_query(partial(stored_seqs, trace)) == [1, 1 + MAX_UNSTORED_EVENTS]
    assert await run_query(Message.objects.count) == 2


@pytest.mark.django_db
def test_dead_run_ends_even_if_its_answer_cannot_be_stored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trace = make_trace(now=NOW, owner=dead_owner())
    store_events(trace, ("chunk", {"content": "Half"}))

    def refuse(*_: object, **__: object) -> None:
        Message.objects.create(pk=trace.user_message_id, number=None)

    monkeypatch.setattr("chat_app.runs.store.append_message", refuse)
    assert end_dead_runs(now=LATER) == 1
    assert (reload(trace).status, reload(trace).message) == (Status.FAILED, None)


def _end_and_close(now: datetime) -> int:
    try:
        return end_dead_runs(now=now)
    finally:
        connection.close()
