"""The tool calls of a round: told as they happen, and to the end also where they are cut short."""

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


class Tools:
    """`slow` ends when it is let, every other tool at once."""

    def __init__(self) -> None:
        self.let = asyncio.Event()
        self.cancelled = False

    async def available_tools(self, servers: Sequence[str]) -> tuple[Tool, ...]:
        return ()

    async def call(
        self, servers: Sequence[str], name: str, *, arguments: str | Mapping[str, Any]
    ) -> ToolOutcome:
        if name != "slow":
            return failed_outcome("no")
        try:
            await self.let.wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        return ToolOutcome("yes")

    async def close(self) -> None: ...


def short(event: RunEvent) -> tuple[str, str]:
    match event:
        case ToolStarted(call):
            return "started", call.id
        case ToolResult(call_id, result):
            return result, call_id
        case ToolEnded(call_id, status):
            return status, call_id
    raise AssertionError(event)


async def test_each_call_is_told_as_it_goes() -> None:
    tools, calls = Tools(), ToolCalls(StreamPipeline(), [])
    seen = []
    async with aclosing(calls.events((SLOW, QUICK), tools)) as events:
        async for event in events:
            seen.append(short(event))
            if seen[-1] == ("error", "q"):
                tools.let.set()
    assert seen == [
        *(("started", "s"), ("started", "q"), ("Error: no", "q"), ("error", "q")),
        *(("yes", "s"), ("success", "s")),
    ]
    assert calls.results((SLOW, QUICK)) == (
        ToolOutput("s", "slow", "yes"),
        ToolOutput("q", "quick", "Error: no", is_error=True),
    )
    assert list(calls.remaining_events()) == []


@pytest.mark.parametrize("read", [1, 4])
async def test_cancelled_calls_get_their_remaining_events(read: int) -> None:
    """Also what happened while nobody read."""
    tools, calls = Tools(), ToolCalls(StreamPipeline(), [])
    seen = []

    async def reading() -> None:
        async with aclosing(calls.events((SLOW, QUICK), tools)) as events:
            async for event in events:
                seen.append(short(event))
                if len(seen) == read:
                    await asyncio.Event().wait()

    task = asyncio.create_task(reading())
    while len(seen) < read:
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait({task})
    assert tools.cancelled
    seen += map(short, calls.remaining_events())
    assert seen == [
        *(("started", "s"), ("started", "q"), ("Error: no", "q"), ("error", "q")),
        ("cancelled", "s"),
    ]
    assert calls.rows["s"]["result"] is None


async def test_a_result_is_told_clean() -> None:
    class Dirty(Tools):
        async def call(self, *_: Any, **__: Any) -> ToolOutcome:
            return failed_outcome("\x1b[1m no\ud83d ␄\r\n\x00", "NOT_FOUND")

    calls = ToolCalls(StreamPipeline(), ["demo"])
    async with aclosing(calls.events([QUICK], Dirty())) as events:
        results = [event async for event in events if isinstance(event, ToolResult)]
    assert results == [ToolResult("q", "Error: [1m no \n", is_error=True, code="NOT_FOUND")]
    assert calls.rows["q"]["result"] == "Error: [1m no \n"
