"""A run's log: numbered events, and the sources that they were made from."""

from collections.abc import AsyncIterator, Callable

import pytest

from traces_app.log import RunLog


@pytest.fixture
def log() -> RunLog[str]:
    """A log with a source between two events, and a source of the second event."""
    run_log: RunLog[str] = RunLog()
    run_log.publish(run_log.next_event("started", {}))
    run_log.publish_source("a")
    run_log.publish(run_log.next_event("chunk", {"content": "b…"}), "b, whole")
    run_log.publish(run_log.next_event("done", {}), "end")
    return run_log


async def test_sources_without_an_event_get_no_number(log: RunLog[str]) -> None:
    events = [(event.seq, event.type) async for event in log.follow()]
    assert events == [(1, "started"), (2, "chunk"), (3, "done")]


async def test_sources_come_in_order_up_to_the_last(log: RunLog[str]) -> None:
    assert [source async for source in log.sources()] == ["a", "b, whole", "end"]


@pytest.mark.parametrize("read", [RunLog.follow, RunLog.sources])
async def test_events_and_sources_end_with_the_terminal_event(
    log: RunLog[str], read: Callable[[RunLog[str]], AsyncIterator[object]]
) -> None:
    assert log.ended
    assert len([item async for item in read(log)]) == 3
