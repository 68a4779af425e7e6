"""Limits of a run in seconds, text bytes and tool calls.

At a limit its provider and tools are closed, and it fails with its text so far."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from chat_app import loop
from chat_app.runs import registry as runs
from chat_app.runs.accept import AcceptedMessage
from chat_app.runs.run import ChatRun
from chat_app.service import StreamHandle
from chat_app.values.events import Complete, Error
from chat_app.values.model_call import (
    CallArguments,
    CallStarted,
    TextPart,
    ThinkingPart,
)
from mockllm_site.kit.database_thread import in_database
from tests.chat.chat_helpers import (
    Chat,
    events_of,
    log_of,
    messages_of,
    scenario,
    script_client,
    text_of,
    trace_of,
)
from tests.chat.clients.test_client_sockets import TEXT_EVENTS
from tests.chat.mock_provider import KEY_VARIABLE
from tests.chat.raw_provider import HEAD, raw_provider
from tests.chat.runs.test_runs_pairs import start_pair
from tests.chat.scripts import ENDLESS, TOOL_CALL
from tests.chat.service.toolboxes import follow_until, patch_toolbox
from traces_app.models import Status, Trace

TEXT_LIMIT_ERROR = Error(
    "The answer has more than 20 bytes of text, the limit of CHAT_RUN_TEXT_BYTES",
    "SERVICE_UNAVAILABLE",
)
CALL_LIMIT_ERROR = Error(
    "The answer called more than 3 tools, the limit of CHAT_RUN_TOOL_CALLS", "SERVICE_UNAVAILABLE"
)
TIME_LIMIT_ERROR = Error(
    "The answer took longer than 900 seconds, the limit of CHAT_RUN_SECONDS", "SERVICE_UNAVAILABLE"
)


class FakeClock:
    """A fake timer of runs that expires when a test calls `expire`."""

    def __init__(self) -> None:
        self.timers: list[tuple[float, Callable[[], None]]] = []
        self.cancelled = 0

    def call_later(self, seconds: float, work: Callable[[], None]) -> "FakeClock":
        self.timers.append((seconds, work))
        return self

    def cancel(self) -> None:
        self.cancelled += 1

    def expire(self, number: int = 0) -> None:
        loop.call_later(0, self.timers[number][1])


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    fake_clock = FakeClock()
    monkeypatch.setattr(runs, "ChatRun", partial(ChatRun, call_later=fake_clock.call_later))
    return fake_clock


@pytest.fixture
def small_limits(settings: Any) -> None:
    settings.CHAT_RUN_TEXT_BYTES = 20
    settings.CHAT_RUN_TOOL_CALLS = 3


async def assert_ended(
    handle: StreamHandle, error: Error, *, text: str, thinking: str = ""
) -> None:
    """Assert that event, log, trace and message have the same end."""
    assert (await events_of(handle))[-1] == error
    log, trace = await log_of(handle.id), await trace_of(handle)
    assert [event.type for event in log].count("error") == 1
    assert log[-1].payload == {"status": 503, "message": error.message, "code": error.code}
    assert (trace.status, trace.code, trace.error) == (Status.FAILED, error.code, error.message)
    answers = (await messages_of(handle))[1:]
    assert [(answer.content, answer.thinking, answer.status) for answer in answers] == [
        (text, thinking, "failed")
    ]
    assert text_of(log) == text


async def test_text_beyond_the_limit_ends_the_run(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, small_limits: None
) -> None:
    script_client(monkeypatch, TextPart("a" * 15), TextPart("b" * 15), "never said")
    handle = await chat.send()
    await assert_ended(handle, TEXT_LIMIT_ERROR, text="a" * 15 + "b" * 5)


async def test_thinking_beyond_the_limit_ends_the_run(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, small_limits: None
) -> None:
    script_client(monkeypatch, *[ThinkingPart("think")] * 5, "never said")
    handle = await chat.send()
    await assert_ended(handle, TEXT_LIMIT_ERROR, text="", thinking="think" * 4)


async def test_text_and_thinking_count_together_over_all_rounds(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    toolbox = patch_toolbox(monkeypatch, add="3")
    settings.CHAT_RUN_TEXT_BYTES = 40
    answer = {"reasoning": "12345", "text": "67890", **TOOL_CALL}
    await chat.script(scenario(answer, answer, answer))
    handle = await chat.send()
    await follow_until(handle, "tool_start")
    toolbox.finish_calls("add")
    last = (await events_of(handle))[-1]
    assert isinstance(last, Error) and last.message.endswith("the limit of CHAT_RUN_TEXT_BYTES")
    assert (await trace_of(handle)).model_calls == 2


async def test_call_arguments_count_as_text(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, small_limits: None
) -> None:
    spaces = [CallArguments("1", " ")] * 12
    script_client(monkeypatch, TextPart("Wait."), CallStarted("1", "add"), *spaces)
    handle = await chat.send()
    await assert_ended(handle, TEXT_LIMIT_ERROR, text="Wait.")
    assert (await trace_of(handle)).tool_calls == 0


async def test_tool_calls_beyond_the_limit_end_the_run(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.CHAT_RUN_TOOL_CALLS = 3
    two = [{"name": "add", "arguments": {"a": 1, "b": 2}}] * 2
    await chat.script(scenario({"text": "One.", "tool_calls": two}, {"tool_calls": two}))
    handle = await chat.send(profile=await chat.profile(mcp_servers=["demo"]))
    await assert_ended(handle, CALL_LIMIT_ERROR, text="One.")
    # No call of the round that exceeded the limit was made.
    assert (await trace_of(handle)).tool_calls == 2


async def test_just_below_the_limits_a_run_completes(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, settings: Any, clock: FakeClock
) -> None:
    settings.CHAT_RUN_TOOL_CALLS = 3
    three = [{"id": f"{n}", "name": "add", "arguments": {"a": 1, "b": 2}} for n in "123"]
    # Each call: its id, its name and its arguments.
    settings.CHAT_RUN_TEXT_BYTES = 3 * (1 + len("add") + len('{"a":1,"b":2}')) + 10
    report = {"tool_calls": three, "reasoning": "12345", "text": "6789"}
    await chat.script(scenario(report, {"text": "0"}))
    handle = await chat.send(profile=await chat.profile(mcp_servers=["demo"]))
    last = (await events_of(handle))[-1]
    assert isinstance(last, Complete) and last.text == "6789\n\n0"
    trace = await trace_of(handle)
    assert (trace.status, trace.tool_calls) == (Status.COMPLETED, 3)
    # No timer wakes an ended run.
    assert clock.cancelled


async def test_time_limit_ends_a_stream(chat: Chat, clock: FakeClock) -> None:
    await chat.script(scenario(ENDLESS))
    handle = await chat.send()
    await follow_until(handle, "chunk")
    clock.expire()
    assert (await events_of(handle))[-1] == TIME_LIMIT_ERROR
    text = text_of(await log_of(handle.id))
    assert text.startswith("word")
    await assert_ended(handle, TIME_LIMIT_ERROR, text=text)
    assert [seconds for seconds, _ in clock.timers] == [900]


async def test_time_limit_cancels_the_tools(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, clock: FakeClock
) -> None:
    toolbox = patch_toolbox(monkeypatch, add="3")
    await chat.script(scenario({"text": "Let me add.", **TOOL_CALL}))
    handle = await chat.send()
    await follow_until(handle, "tool_start")
    clock.expire()
    await assert_ended(handle, TIME_LIMIT_ERROR, text="Let me add.")
    assert toolbox.cancelled == ["add"]
    [end] = [e.payload["status"] for e in await log_of(handle.id) if e.type == "tool_end"]
    assert end == "cancelled"


@pytest.mark.parametrize("limit", ["CHAT_RUN_SECONDS", "CHAT_RUN_TEXT_BYTES"])
async def test_providers_socket_is_closed_at_a_limit(
    chat: Chat, settings: Any, monkeypatch: pytest.MonkeyPatch, clock: FakeClock, limit: str
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "any")
    settings.CHAT_RUN_TEXT_BYTES = 1 if limit == "CHAT_RUN_TEXT_BYTES" else 100
    async with raw_provider(HEAD, TEXT_EVENTS["openai"], hold=True) as provider:
        settings.MOCKLLM_ENV = "dev"
        settings.CHAT_ALLOWED_HOSTS = [provider.address]
        profile = await chat.profile(
            base_url=f"http://{provider.address}/v1", api_key_env=KEY_VARIABLE
        )
        handle = await chat.send(profile=profile)
        if limit == "CHAT_RUN_SECONDS":
            await follow_until(handle, "chunk")
            clock.expire()
        last = (await events_of(handle))[-1]
        assert isinstance(last, Error) and last.message.endswith(f"the limit of {limit}")
        async with asyncio.timeout(30):
            await provider.client_closed.wait()


async def wait_for_branch_ends(accepted: AcceptedMessage) -> list[tuple[str, str]]:
    """Return the status and error of each branch, after all have ended."""
    for trace_id in accepted.trace_ids:
        await log_of(trace_id)
    rows = Trace.objects.order_by("branch").values_list("status", "error")
    return await in_database(lambda: list(rows))


async def test_each_branch_of_a_comparison_has_its_own_text(chat: Chat, settings: Any) -> None:
    settings.CHAT_RUN_TEXT_BYTES = 20
    await chat.script(
        scenario({"text": "a" * 15}),
        {
            "name": "mini",
            "priority": 1,
            "steps": [{"match": {"model": "gpt-4o-mini"}, "produce": {"text": "b" * 25}}],
        },
    )
    assert await wait_for_branch_ends(await start_pair(chat)) == [
        (Status.COMPLETED, ""),
        (Status.FAILED, TEXT_LIMIT_ERROR.message),
    ]


async def test_each_branch_of_a_comparison_has_its_own_time(chat: Chat, clock: FakeClock) -> None:
    await chat.script({"name": "one", "steps": [{"consume": False, "produce": ENDLESS}]})
    accepted = await start_pair(chat)
    assert [seconds for seconds, _ in clock.timers] == [900, 900]
    clock.expire(1)
    assert (await log_of(accepted.trace_ids[1]))[-1].payload["message"] == TIME_LIMIT_ERROR.message
    running = Trace.objects.filter(status=Status.RUNNING).values_list("pk", flat=True)
    assert await in_database(lambda: list(running)) == [accepted.trace_ids[0]]
    clock.expire(0)
    assert await wait_for_branch_ends(accepted) == [(Status.FAILED, TIME_LIMIT_ERROR.message)] * 2
