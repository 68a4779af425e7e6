"""A run's log: numbered events for all, and what they were made of for those who want it whole."""

from collections.abc import AsyncIterator, Callable

import pytest

from traces_app.log import RunLog


@pytest.fixture
def log() -> RunLog[str]:
    """`a` is passed on between two events, the second of which has a source."""
    made: RunLog[str] = RunLog()
    made.publish(made.next_event("started", {}))
    made.publish_source("a")
    made.publish(made.next_event("chunk", {"content": "b…"}), "b, whole")
    made.publish(made.next_event("done", {}), "end")
    return made


async def test_what_is_passed_on_has_no_number(log: RunLog[str]) -> None:
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
