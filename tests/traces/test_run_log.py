"""A run's log: numbered events for all, and what they were made of for those who want it whole."""

from collections.abc import AsyncIterator, Callable

import pytest

from traces_app.log import RunLog


@pytest.fixture
def log() -> RunLog[str]:
    """`a` is passed on between two events, the second of which has a source."""
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


@pytest.mark.parametrize("of", [RunLog.follow, RunLog.sources])
async def test_both_end_with_the_terminal_event(
    log: RunLog[str], of: Callable[[RunLog[str]], AsyncIterator[object]]
) -> None:
    assert log.ended
    assert len([one async for one in of(log)]) == 3
