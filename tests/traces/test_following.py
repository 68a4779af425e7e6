"""Following a run to its end: live in its process, from the database elsewhere."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest

from mockllm_site.kit.database_thread import in_database
from tests.traces.rows import dead_owner, event, make_trace_async, run_query
from traces_app import follow as follow_module
from traces_app import log as logs
from traces_app.follow import follow, terminal_number
from traces_app.leases import MAX_UNSTORED_EVENTS
from traces_app.log import LoggedEvent, RunLog
from traces_app.models import Status, Trace
from traces_app.recorder import insert_events

pytestmark = pytest.mark.django_db(transaction=True)
DONE_PAYLOAD = {"message_id": "m"}


async def seqs_of(trace_id: Any, *, after: int = 0) -> list[int]:
    return [event.seq async for event in follow(trace_id, after=after)]


def store_events(trace: Trace, *events: LoggedEvent) -> None:
    insert_events({trace.pk: events})


async def make_trace_with_events(*events: LoggedEvent, **columns: Any) -> Trace:
    trace = await make_trace_async(**columns)
    await run_query(partial(store_events, trace, *events))
    return trace


async def make_ended_trace() -> Trace:
    return await make_trace_with_events(
        event(1, "started"), event(2), event(3, "done", **DONE_PAYLOAD), status=Status.COMPLETED
    )


@pytest.fixture
async def live_run() -> AsyncIterator[tuple[Trace, RunLog]]:
    """A live run of this process whose first event is published and stored."""
    trace, log = await make_trace_with_events(event(1, "started")), RunLog()
    logs.live_logs[trace.pk] = log
    log.publish(log.next_event("started", {}))
    yield trace, log
    logs.live_logs.pop(trace.pk, None)


async def test_ended_run_is_followed_from_its_rows() -> None:
    trace = await make_ended_trace()
    events = [logged async for logged in follow(trace.pk)]
    assert [(logged.seq, logged.type) for logged in events] == [
        (1, "started"),
        (2, "chunk"),
        (3, "done"),
    ]
    assert events[1].payload == {"content": "piece 2 "}


@pytest.mark.parametrize(
    ("after", "seqs"),
    [
        pytest.param(1, [2, 3], id="in the middle"),
        pytest.param(3, [], id="at its end"),
        pytest.param(4, [3], id="beyond its end"),
        pytest.param(10**19, [3], id="beyond all ends"),
    ],
)
async def test_ended_run_is_followed_after_a_number(after: int, seqs: list[int]) -> None:
    assert await seqs_of((await make_ended_trace()).pk, after=after) == seqs


async def test_live_run_is_followed_as_it_goes_on(live_run: tuple[Trace, RunLog]) -> None:
    trace, log = live_run
    follower = asyncio.create_task(seqs_of(trace.pk))
    await asyncio.sleep(0)
    log.publish(log.next_event("chunk", {"content": "Hi"}))
    log.publish(log.next_event("done", DONE_PAYLOAD))
    assert await follower == [1, 2, 3]


async def test_unstored_events_of_a_live_run_are_followed(
    live_run: tuple[Trace, RunLog],
) -> None:
    trace, log = live_run
    log.publish(log.next_event("chunk", {"content": "Hi"}))
    assert await run_query(trace.events.count) == 1
    follower = follow(trace.pk, after=1)
    assert (await anext(follower)).payload == {"content": "Hi"}
    await follower.aclose()


@pytest.mark.parametrize("after", [3, 50])
async def test_follower_ahead_of_a_live_run_gets_its_terminal_event(
    live_run: tuple[Trace, RunLog], after: int
) -> None:
    trace, log = live_run
    follower = asyncio.create_task(seqs_of(trace.pk, after=after))
    await asyncio.sleep(0)
    log.publish(log.next_event("chunk", {"content": "Hi"}))
    log.publish(log.next_event("done", DONE_PAYLOAD))
    assert await follower == [3]


async def test_a_live_run_is_followed_from_another_event_loop(
    live_run: tuple[Trace, RunLog],
) -> None:
    trace, log = live_run
    follower = asyncio.create_task(asyncio.to_thread(asyncio.run, seqs_of(trace.pk)))
    log.publish(log.next_event("chunk", {"content": "Hi"}))
    await asyncio.sleep(0)
    log.publish(log.next_event("done", DONE_PAYLOAD))
    assert await follower == [1, 2, 3]


async def test_run_of_another_process_is_polled_until_it_ends() -> None:
    trace = await make_trace_with_events(event(1, "started"), owner="another")
    follower = follow(trace.pk)
    assert (await anext(follower)).seq == 1
    await run_query(partial(store_events, trace, event(2)))
    assert (await anext(follower)).seq == 2
    await run_query(partial(store_events, trace, event(3, "done", **DONE_PAYLOAD)))
    await run_query(partial(Trace.objects.filter(pk=trace.pk).update, status=Status.COMPLETED))
    assert [logged.seq async for logged in follower] == [3]


async def test_deletion_of_another_process_run_ends_its_stream_with_an_error() -> None:
    trace = await make_trace_with_events(event(1, "started"), owner="another")
    follower = follow(trace.pk)
    assert (await anext(follower)).seq == 1
    await run_query(trace.delete)
    (end,) = [logged async for logged in follower]
    assert (end.seq, end.type, end.payload["code"]) == (2, "error", "NOT_FOUND")


async def test_a_run_that_ends_between_two_reads_ends_once(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = await make_trace_with_events(
        event(1, "started"), event(2, "done", **DONE_PAYLOAD), owner="another"
    )
    end = partial(Trace.objects.filter(pk=trace.pk).update, status=Status.COMPLETED)
    has_ended, calls = follow_module._has_ended, 0

    def end_after_check(trace_id: uuid.UUID) -> bool:
        nonlocal calls
        calls += 1
        had_ended = has_ended(trace_id)
        end()
        return had_ended

    monkeypatch.setattr(follow_module, "_has_ended", end_after_check)
    assert await seqs_of(trace.pk) == [1, 2]
    assert calls == 1


async def test_follower_ends_the_run_of_a_dead_process() -> None:
    trace = await make_trace_with_events(event(1, "started"), event(2), owner=dead_owner())
    events = [logged async for logged in follow(trace.pk)]
    assert [(logged.seq, logged.type) for logged in events] == [
        (1, "started"),
        (2, "chunk"),
        (2 + MAX_UNSTORED_EVENTS, "error"),
    ]
    assert events[-1].payload["message"] == "interrupted"


@pytest.mark.parametrize("after", [2, 3, 40, 10_000])
async def test_client_of_a_dead_process_gets_the_terminal_event_after_any_sent_number(
    after: int,
) -> None:
    """The dead process may have sent more events than the two that it stored."""
    trace = await make_trace_with_events(event(1, "started"), event(2), owner=dead_owner())
    terminal = 2 + MAX_UNSTORED_EVENTS
    assert await in_database(partial(terminal_number, trace.pk)) == terminal
    assert await seqs_of(trace.pk, after=after) == [terminal]
    assert await seqs_of(trace.pk, after=terminal) == []


@pytest.mark.parametrize("after", [2, 3])
async def test_follower_of_a_dying_process_gets_the_terminal_event(
    after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The follower may know numbers that the dead process sent and did not store."""
    trace = await make_trace_with_events(event(1, "started"), event(2), owner="dying")
    mark_dead = partial(Trace.objects.filter(pk=trace.pk).update, owner=dead_owner())
    has_ended, results = follow_module._has_ended, []

    def die_after_check(trace_id: uuid.UUID) -> bool:
        results.append(has_ended(trace_id))
        mark_dead()
        return results[-1]

    monkeypatch.setattr(follow_module, "_has_ended", die_after_check)
    assert await seqs_of(trace.pk, after=after) == [2 + MAX_UNSTORED_EVENTS]
    assert results == [False, True]


async def test_following_an_unknown_run_raises() -> None:
    with pytest.raises(Trace.DoesNotExist):
        await seqs_of(uuid.uuid4())
    with pytest.raises(Trace.DoesNotExist):
        await in_database(partial(terminal_number, uuid.uuid4()))


async def test_terminal_number_of_an_ended_run_is_its_last() -> None:
    assert await in_database(partial(terminal_number, (await make_ended_trace()).pk)) == 3


async def test_live_run_has_no_terminal_number(live_run: tuple[Trace, RunLog]) -> None:
    assert await in_database(partial(terminal_number, live_run[0].pk)) is None
    other_trace = await make_trace_with_events(event(1, "started"), owner="another")
    assert await in_database(partial(terminal_number, other_trace.pk)) is None


async def test_terminal_number_ends_a_dead_run() -> None:
    trace = await make_trace_with_events(event(1, "started"), owner=dead_owner())
    assert await in_database(partial(terminal_number, trace.pk)) == 1 + MAX_UNSTORED_EVENTS
