"""A run that is cancelled lets go of its provider and its tools before its end is stored, and
`cancel` returns after both: each is looked at while the end waits to be stored."""

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
from tests.chat.chatting import Chat, log_of, scenario, trace_of
from tests.chat.clients.test_client_sockets import SAYS
from tests.chat.gates import GIVEN_UP_SECONDS, Gate
from tests.chat.raw_provider import HEAD, raw_provider
from tests.chat.scripts import calls
from tests.chat.service.test_service_cancel import after
from tests.chat.service.toolboxes import until
from tests.chat.tools.tool_servers import forked
from tests.chat.ways import FAMILIES, KEY_VARIABLE
from traces_app.models import Status

SERVERS = ["tools"]


class End(Gate):
    """Where a run waits that has only its end to store; `order` says what came before what."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.order: list[str] = []
        events, finish = runs.AnswerGenerator.events, runs.finish_run

        async def answered(answer: runs.AnswerGenerator) -> AsyncIterator[AnswerEvent]:
            try:
                async for event in events(answer):
                    yield event
            finally:
                self.order.append("let go")

        async def finished(*given: Any, **named: Any) -> bool:
            self.order.append("to be stored")
            await asyncio.to_thread(self.wait)
            return await finish(*given, **named)

        monkeypatch.setattr(runs.AnswerGenerator, "events", answered)
        monkeypatch.setattr(runs, "finish_run", finished)


@pytest.fixture
async def end(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[End]:
    gate = End(monkeypatch)
    yield gate
    gate.open()


@pytest.fixture
async def tools(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[McpToolbox]:
    """The tools of a server that is a process, called on the chat's event loop."""
    server = forked()
    made = McpToolbox(servers=lambda: {"tools": server})
    monkeypatch.setattr("chat_app.runs.answer.toolbox", lambda: made)
    yield made
    await run_on_loop(made.close())


async def cancelled(
    handle: StreamHandle, end: End, closed: Callable[[], Awaitable[object]]
) -> None:
    """Cancel, and see that it is closed before the end is stored, and that before `cancel`
    returns."""
    cancelling = asyncio.create_task(cancel(handle))
    await end.reached()
    assert end.order == ["let go", "to be stored"]
    await asyncio.wait_for(closed(), GIVEN_UP_SECONDS)
    assert not cancelling.done()
    assert (await trace_of(handle)).status == Status.RUNNING
    end.open()
    await cancelling
    assert (await trace_of(handle)).status == Status.CANCELLED
    assert [event.type for event in await log_of(handle.id) if event.is_terminal] == ["done"]


@pytest.mark.parametrize("family", FAMILIES)
async def test_the_providers_stream_is_closed(
    chat: Chat, settings: Any, monkeypatch: pytest.MonkeyPatch, end: End, family: str
) -> None:
    async with raw_provider(HEAD, SAYS[family], hold=True) as provider:
        settings.MOCKLLM_ENV = "dev"
        settings.CHAT_ALLOWED_HOSTS = [provider.place]
        monkeypatch.setenv(KEY_VARIABLE, "sk-a-key")
        profile = await chat.profile(
            provider_id=family, base_url=f"http://{provider.place}", api_key_env=KEY_VARIABLE
        )
        handle = await chat.send(profile=profile)
        await after(handle, 1)
        assert not provider.gone.is_set()
        await cancelled(handle, end, provider.gone.wait)


async def test_a_provider_that_says_nothing_yet_is_left_too(
    chat: Chat, settings: Any, monkeypatch: pytest.MonkeyPatch, end: End
) -> None:
    async with raw_provider(hold=True) as provider:
        settings.MOCKLLM_ENV = "dev"
        settings.CHAT_ALLOWED_HOSTS = [provider.place]
        monkeypatch.setenv(KEY_VARIABLE, "sk-a-key")
        base_url = f"http://{provider.place}/v1"
        profile = await chat.profile(base_url=base_url, api_key_env=KEY_VARIABLE)
        handle = await chat.send(profile=profile)
        await asyncio.wait_for(provider.asked.wait(), GIVEN_UP_SECONDS)
        await cancelled(handle, end, provider.gone.wait)


async def test_a_running_tool_sees_the_cancellation(
    chat: Chat, tools: McpToolbox, end: End, settings: Any
) -> None:
    # Only the cancellation may end the call.
    settings.MCP_CALL_SECONDS = 600.0

    async def seen(what: str) -> ToolOutcome:
        return await run_on_loop(tools.call(SERVERS, "until", arguments=json.dumps({"what": what})))

    async def told() -> None:
        assert await seen("cancelled") == ToolOutcome("cancelled")

    await chat.script(scenario(calls("hang"), {"text": "never"}))
    handle = await chat.send(profile=await chat.profile(mcp_servers=SERVERS))
    await until(handle, "tool_start")
    assert await seen("started") == ToolOutcome("started")
    await cancelled(handle, end, told)
    ends = [event.payload for event in await log_of(handle.id) if event.type == "tool_end"]
    assert [tool_end["status"] for tool_end in ends] == ["cancelled"]
