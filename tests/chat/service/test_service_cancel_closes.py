"""A cancelled run closes its provider and tools, then stores its end, then `cancel` returns.

A gate holds the run before its end is stored."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from chat_app.loop import run_on_loop
from chat_app.runs import run as runs
from chat_app.runs.answer import AnswerEvent
from chat_app.service import StreamHandle, cancel
from chat_app.tools import ToolOutcome
from chat_app.tools.toolbox import McpToolbox
from tests.chat.chat_helpers import Chat, log_of, scenario, trace_of
from tests.chat.clients.test_client_sockets import TEXT_EVENTS
from tests.chat.gates import TIMEOUT_SECONDS, Gate
from tests.chat.mock_provider import FAMILIES, KEY_VARIABLE
from tests.chat.raw_provider import HEAD, raw_provider
from tests.chat.scripts import call_tool
from tests.chat.service.test_service_cancel import wait_for_chunks
from tests.chat.service.toolboxes import follow_until
from tests.chat.tools.tool_servers import forked_server
from traces_app.models import Status

SERVERS = ["tools"]


class EndGate(Gate):
    """A gate before a run stores its end; `order` records the steps of ending."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.order: list[str] = []
        events, finish = runs.AnswerGenerator.events, runs.finish_run

        async def recorded_events(answer: runs.AnswerGenerator) -> AsyncIterator[AnswerEvent]:
            try:
                async for event in events(answer):
                    yield event
            finally:
                self.order.append("let go")

        async def gated_finish(*args: Any, **kwargs: Any) -> bool:
            self.order.append("to be stored")
            await asyncio.to_thread(self.wait)
            return await finish(*args, **kwargs)

        monkeypatch.setattr(runs.AnswerGenerator, "events", recorded_events)
        monkeypatch.setattr(runs, "finish_run", gated_finish)


@pytest.fixture
async def end_gate(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[EndGate]:
    gate = EndGate(monkeypatch)
    yield gate
    gate.open()


@pytest.fixture
async def toolbox(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[McpToolbox]:
    """A toolbox of a server process, called on the chat's event loop."""
    server = forked_server()
    box = McpToolbox(servers=lambda: {"tools": server})
    monkeypatch.setattr("chat_app.runs.answer.toolbox", lambda: box)
    yield box
    await run_on_loop(box.close())


async def assert_closed_before_end(
    handle: StreamHandle, end_gate: EndGate, closed: Callable[[], Awaitable[object]]
) -> None:
    """Cancel and assert that `closed` happens before the end is stored and `cancel` returns."""
    cancel_task = asyncio.create_task(cancel(handle))
    await end_gate.wait_until_reached()
    assert end_gate.order == ["let go", "to be stored"]
    await asyncio.wait_for(closed(), TIMEOUT_SECONDS)
    assert not cancel_task.done()
    assert (await trace_of(handle)).status == Status.RUNNING
    end_gate.open()
    await cancel_task
    assert (await trace_of(handle)).status == Status.CANCELLED
    assert [event.type for event in await log_of(handle.id) if event.is_terminal] == ["done"]


@pytest.mark.parametrize("family", FAMILIES)
async def test_providers_stream_is_closed_before_the_end_is_stored(
    chat: Chat, settings: Any, monkeypatch: pytest.MonkeyPatch, end_gate: EndGate, family: str
) -> None:
    async with raw_provider(HEAD, TEXT_EVENTS[family], hold=True) as provider:
        settings.MOCKLLM_ENV = "dev"
        settings.CHAT_ALLOWED_HOSTS = [provider.address]
        monkeypatch.setenv(KEY_VARIABLE, "sk-a-key")
        profile = await chat.profile(
            provider_id=family, base_url=f"http://{provider.address}", api_key_env=KEY_VARIABLE
        )
        handle = await chat.send(profile=profile)
        await wait_for_chunks(handle, 1)
        assert not provider.client_closed.is_set()
        await assert_closed_before_end(handle, end_gate, provider.client_closed.wait)


async def test_silent_providers_connection_is_closed(
    chat: Chat, settings: Any, monkeypatch: pytest.MonkeyPatch, end_gate: EndGate
) -> None:
    async with raw_provider(hold=True) as provider:
        settings.MOCKLLM_ENV = "dev"
        settings.CHAT_ALLOWED_HOSTS = [provider.address]
        monkeypatch.setenv(KEY_VARIABLE, "sk-a-key")
        base_url = f"http://{provider.address}/v1"
        profile = await chat.profile(base_url=base_url, api_key_env=KEY_VARIABLE)
        handle = await chat.send(profile=profile)
        await asyncio.wait_for(provider.request_received.wait(), TIMEOUT_SECONDS)
        await assert_closed_before_end(handle, end_gate, provider.client_closed.wait)


async def test_running_tool_is_cancelled_before_the_end_is_stored(
    chat: Chat, toolbox: McpToolbox, end_gate: EndGate, settings: Any
) -> None:
    # Only the cancellation may end the call.
    settings.MCP_CALL_SECONDS = 600.0

    async def wait_for_tool(state: str) -> ToolOutcome:
        return await run_on_loop(
            toolbox.call(SERVERS, "wait_for_hang", arguments=json.dumps({"state": state}))
        )

    async def tool_was_cancelled() -> None:
        assert await wait_for_tool("cancelled") == ToolOutcome("cancelled")

    await chat.script(scenario(call_tool("hang"), {"text": "never"}))
    handle = await chat.send(profile=await chat.profile(mcp_servers=SERVERS))
    await follow_until(handle, "tool_start")
    assert await wait_for_tool("started") == ToolOutcome("started")
    await assert_closed_before_end(handle, end_gate, tool_was_cancelled)
    ends = [event.payload for event in await log_of(handle.id) if event.type == "tool_end"]
    assert [tool_end["status"] for tool_end in ends] == ["cancelled"]
