"""A fake toolbox whose calls end when a test says so, and helpers to read its events."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from chat_app import loop
from chat_app.service import StreamHandle
from chat_app.tools import ToolOutcome
from chat_app.values.model_call import Tool
from traces_app.follow import follow
from traces_app.log import LoggedEvent

ADD = {"id": "call_1", "name": "add", "arguments": {"a": 2, "b": 3}}


class FakeToolbox:
    """A toolbox whose calls block until `finish_calls`; it records calls and cancellations."""

    def __init__(self, outcomes: Mapping[str, ToolOutcome]) -> None:
        self.calls: list[tuple[str, str]] = []
        self.cancelled: list[str] = []
        self._outcomes = outcomes
        self._may_end = {name: asyncio.Event() for name in outcomes}

    async def available_tools(self, servers: Sequence[str]) -> tuple[Tool, ...]:
        return tuple(Tool(name, f"{name} of {servers}", {}) for name in self._outcomes)

    async def call(self, servers: Sequence[str], name: str, *, arguments: Any) -> ToolOutcome:
        self.calls.append((name, arguments))
        try:
            await self._may_end[name].wait()
        except asyncio.CancelledError:
            self.cancelled.append(name)
            raise
        return self._outcomes[name]

    def finish_calls(self, *names: str) -> None:
        for name in names:
            loop.call_later(0, self._may_end[name].set)


def patch_toolbox(monkeypatch: pytest.MonkeyPatch, **outcomes: str | ToolOutcome) -> FakeToolbox:
    toolbox = FakeToolbox(
        {
            name: ToolOutcome(value) if isinstance(value, str) else value
            for name, value in outcomes.items()
        }
    )
    monkeypatch.setattr("chat_app.runs.answer.toolbox", lambda: toolbox)
    return toolbox


async def follow_until(handle: StreamHandle, *types: str) -> list[LoggedEvent]:
    """Follow the run until one event of each given type came; return the events so far."""
    missing, events = list(types), []
    async for event in follow(handle.id):
        events.append(event)
        if event.type in missing:
            missing.remove(event.type)
        if not missing:
            break
    return events


def tool_events(log: Sequence[LoggedEvent]) -> list[tuple[str, Any]]:
    """Return a log's events of tools and text, without times."""
    keys = {"chunk": "content", "tool_start": "tool_args", "tool_output": "output"}
    return [
        (event.type, event.payload[keys.get(event.type, "status")])
        for event in log
        if event.type in {*keys, "tool_end"}
    ]
