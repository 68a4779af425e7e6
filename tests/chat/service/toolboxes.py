"""Toolboxes whose calls end when a test says so, and what is shown of them."""

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


class Tools:
    """A toolbox whose calls end when the test says so."""

    def __init__(self, outcomes: Mapping[str, ToolOutcome]) -> None:
        self.called: list[tuple[str, str]] = []
        self.cancelled: list[str] = []
        self._outcomes = outcomes
        self._going = {name: asyncio.Event() for name in outcomes}

    async def available_tools(self, servers: Sequence[str]) -> tuple[Tool, ...]:
        return tuple(Tool(name, f"{name} of {servers}", {}) for name in self._outcomes)

    async def call(self, servers: Sequence[str], name: str, *, arguments: Any) -> ToolOutcome:
        self.called.append((name, arguments))
        try:
            await self._going[name].wait()
        except asyncio.CancelledError:
            self.cancelled.append(name)
            raise
        return self._outcomes[name]

    def go_on(self, *names: str) -> None:
        for name in names:
            loop.call_later(0, self._going[name].set)


def tools(monkeypatch: pytest.MonkeyPatch, **outcomes: str | ToolOutcome) -> Tools:
    made = Tools(
        {
            name: ToolOutcome(value) if isinstance(value, str) else value
            for name, value in outcomes.items()
        }
    )
    monkeypatch.setattr("chat_app.runs.answer.toolbox", lambda: made)
    return made


async def until(handle: StreamHandle, *types: str) -> list[LoggedEvent]:
    """The log up to as many events of these types, in whatever order."""
    left, seen = list(types), []
    async for event in follow(handle.id):
        seen.append(event)
        if event.type in left:
            left.remove(event.type)
        if not left:
            break
    return seen


def tool_events(log: Sequence[LoggedEvent]) -> list[tuple[str, Any]]:
    """Return a log's events of tools and text, without times."""
    keys = {"chunk": "content", "tool_start": "tool_args", "tool_output": "output"}
    return [
        (event.type, event.payload[keys.get(event.type, "status")])
        for event in log
        if event.type in {*keys, "tool_end"}
    ]
