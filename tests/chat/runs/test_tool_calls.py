"""The tool calls of a round: events as they happen, and the remaining ones after a cancel."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from typing import Any

import pytest

from chat_app.runs.tool_calls import ToolCalls
from chat_app.stream import StreamPipeline
from chat_app.tools import ToolOutcome, failed_outcome
from chat_app.values.events import RunEvent, ToolCall, ToolEnded, ToolResult, ToolStarted
from chat_app.values.model_call import Tool, ToolOutput

SLOW, QUICK = ToolCall("s", "slow", "{}"), ToolCall("q", "quick", "{}")


class SlowToolbox:
    """A toolbox whose `slow` ends once `may_end` is set; every other tool fails immediately."""

    def __init__(self) -> None:
        self.may_end = asyncio.Event()
        self.cancelled = False

    async def available_tools(self, servers: Sequence[str]) -> tuple[Tool, ...]:
        return ()

    async def call(
        self, servers: Sequence[str], name: str, *, arguments: str | Mapping[str, Any]
    ) -> ToolOutcome:
        if name != "slow":
            return failed_outcome("no")
        try:
            await self.may_end.wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        return ToolOutcome("yes")

    async def close(self) -> None: ...


def summarize(event: RunEvent) -> tuple[str, str]:
    match event:
        case ToolStarted(call):
            return "started", call.id
        case ToolResult(call_id, result):
            return result, call_id
        case ToolEnded(call_id, status):
            return status, call_id
    raise AssertionError(event)


async def test_events_of_calls_come_as_they_happen() -> None:
    tools, calls = SlowToolbox(), ToolCalls(StreamPipeline(), [])
    summaries = []
    async with aclosing(calls.events((SLOW, QUICK), tools)) as events:
        async for event in events:
            summaries.append(summarize(event))
            if summaries[-1] == ("error", "q"):
                tools.may_end.set()
    assert summaries == [
        *(("started", "s"), ("started", "q"), ("Error: no", "q"), ("error", "q")),
        *(("yes", "s"), ("success", "s")),
    ]
    assert calls.results((SLOW, QUICK)) == (
        ToolOutput("s", "slow", "yes"),
        ToolOutput("q", "quick", "Error: no", is_error=True),
    )
    assert list(calls.remaining_events()) == []


@pytest.mark.parametrize("event_count", [1, 4])
async def test_cancelled_calls_get_their_remaining_events(event_count: int) -> None:
    """Including events that happened while nothing was read."""
    tools, calls = SlowToolbox(), ToolCalls(StreamPipeline(), [])
    summaries = []

    async def read_events() -> None:
        async with aclosing(calls.events((SLOW, QUICK), tools)) as events:
            async for event in events:
                summaries.append(summarize(event))
                if len(summaries) == event_count:
                    await asyncio.Event().wait()

    task = asyncio.create_task(read_events())
    while len(summaries) < event_count:
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait({task})
    assert tools.cancelled
    summaries += map(summarize, calls.remaining_events())
    assert summaries == [
        *(("started", "s"), ("started", "q"), ("Error: no", "q"), ("error", "q")),
        ("cancelled", "s"),
    ]
    assert calls.rows["s"]["result"] is None


async def test_results_are_cleaned() -> None:
    class Dirty(SlowToolbox):
        async def call(self, *_: Any, **__: Any) -> ToolOutcome:
            return failed_outcome("\x1b[1m no\ud83d ␄\r\n\x00", "NOT_FOUND")

    calls = ToolCalls(StreamPipeline(), ["demo"])
    async with aclosing(calls.events([QUICK], Dirty())) as events:
        results = [event async for event in events if isinstance(event, ToolResult)]
    assert results == [ToolResult("q", "Error: [1m no \n", is_error=True, code="NOT_FOUND")]
    assert calls.rows["q"]["result"] == "Error: [1m no \n"
