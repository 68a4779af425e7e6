"""One run has so many seconds, so much text and so many tool calls: at the end of them its provider
and its tools are let go, and it ends as failed with what it had said."""

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
from tests.chat.chatting import (
    Chat,
    events_of,
    log_of,
    messages_of,
    scenario,
    scripted,
    text_of,
    trace_of,
)
from tests.chat.clients.test_client_sockets import SAYS
from tests.chat.raw_provider import HEAD, raw_provider
from tests.chat.runs.test_runs_pairs import pair
from tests.chat.scripts import ENDLESS, TOOL_CALL
from tests.chat.service.toolboxes import tools, until
from tests.chat.ways import KEY_VARIABLE
from traces_app.models import Status, Trace

TEXT_SPENT = Error(
    "The answer has more than 20 bytes of text, the limit of CHAT_RUN_TEXT_BYTES",
    "SERVICE_UNAVAILABLE",
)
CALLS_SPENT = Error(
    "The answer called more than 3 tools, the limit of CHAT_RUN_TOOL_CALLS", "SERVICE_UNAVAILABLE"
)
TIME_SPENT = Error(
    "The answer took longer than 900 seconds, the limit of CHAT_RUN_SECONDS", "SERVICE_UNAVAILABLE"
)


class Clock:
    """The time of runs: it ends when a test says so."""

    def __init__(self) -> None:
        self.set: list[tuple[float, Callable[[], None]]] = []
        self.cancelled = 0

    def later(self, seconds: float, work: Callable[[], None]) -> "Clock":
        self.set.append((seconds, work))
        return self

    def cancel(self) -> None:
        self.cancelled += 1

    def strike(self, number: int = 0) -> None:
        loop.call_later(0, self.set[number][1])


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(runs, "ChatRun", partial(ChatRun, call_later=made.later))
    return made


@pytest.fixture
def small(settings: Any) -> None:
    settings.CHAT_RUN_TEXT_BYTES = 20
    settings.CHAT_RUN_TOOL_CALLS = 3


async def assert_ended(
    handle: StreamHandle, error: Error, *, text: str, thinking: str = ""
) -> None:
    """The event, the log, the trace and the message say the same."""
    assert (await events_of(handle))[-1] == error
    log, trace = await log_of(handle.id), await trace_of(handle)
    assert [event.type for event in log].count("error") == 1
    assert log[-1].payload == {"status": 503, "message": error.message, "code": error.code}
    assert (trace.status, trace.code, trace.error) == (Status.FAILED, error.code, error.message)
    answers = (await messages_of(handle))[1:]
    assert [(one.content, one.thinking, one.status) for one in answers] == [
        (text, thinking, "failed")
    ]
    assert text_of(log) == text


async def test_text_beyond_the_limit_ends_the_run(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, small: None
) -> None:
    scripted(monkeypatch, TextPart("a" * 15), TextPart("b" * 15), "never said")
    handle = await chat.send()
    await assert_ended(handle, TEXT_SPENT, text="a" * 15 + "b" * 5)


async def test_thinking_beyond_the_limit_ends_the_run(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, small: None
) -> None:
    scripted(monkeypatch, *[ThinkingPart("think")] * 5, "never said")
    handle = await chat.send()
    await assert_ended(handle, TEXT_SPENT, text="", thinking="think" * 4)


async def test_text_and_thinking_count_together_over_all_rounds(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    made = tools(monkeypatch, add="3")
    settings.CHAT_RUN_TEXT_BYTES = 40
    said = {"reasoning": "12345", "text": "67890", **TOOL_CALL}
    await chat.script(scenario(said, said, said))
    handle = await chat.send()
    await until(handle, "tool_start")
    made.go_on("add")
    last = (await events_of(handle))[-1]
    assert isinstance(last, Error) and last.message.endswith("the limit of CHAT_RUN_TEXT_BYTES")
    assert (await trace_of(handle)).model_calls == 2


async def test_the_arguments_of_calls_are_text_too(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, small: None
) -> None:
    spaces = [CallArguments("1", " ")] * 12
    scripted(monkeypatch, TextPart("Wait."), CallStarted("1", "add"), *spaces)
    handle = await chat.send()
    await assert_ended(handle, TEXT_SPENT, text="Wait.")
    assert (await trace_of(handle)).tool_calls == 0


async def test_tool_calls_beyond_the_limit_end_the_run(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.CHAT_RUN_TOOL_CALLS = 3
    two = [{"name": "add", "arguments": {"a": 1, "b": 2}}] * 2
    await chat.script(scenario({"text": "One.", "tool_calls": two}, {"tool_calls": two}))
    handle = await chat.send(profile=await chat.profile(mcp_servers=["demo"]))
    await assert_ended(handle, CALLS_SPENT, text="One.")
    # No call of the round that exceeded the limit was made.
    assert (await trace_of(handle)).tool_calls == 2


async def test_just_below_the_limits_a_run_completes(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, settings: Any, clock: Clock
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


async def test_the_time_that_is_over_ends_a_stream(chat: Chat, clock: Clock) -> None:
    await chat.script(scenario(ENDLESS))
    handle = await chat.send()
    await until(handle, "chunk")
    clock.strike()
    assert (await events_of(handle))[-1] == TIME_SPENT
    said = text_of(await log_of(handle.id))
    assert said.startswith("word")
    await assert_ended(handle, TIME_SPENT, text=said)
    assert [seconds for seconds, _ in clock.set] == [900]


async def test_the_time_that_is_over_ends_the_tools(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    made = tools(monkeypatch, add="3")
    await chat.script(scenario({"text": "Let me add.", **TOOL_CALL}))
    handle = await chat.send()
    await until(handle, "tool_start")
    clock.strike()
    await assert_ended(handle, TIME_SPENT, text="Let me add.")
    assert made.cancelled == ["add"]
    [end] = [e.payload["status"] for e in await log_of(handle.id) if e.type == "tool_end"]
    assert end == "cancelled"


@pytest.mark.parametrize("limit", ["CHAT_RUN_SECONDS", "CHAT_RUN_TEXT_BYTES"])
async def test_the_providers_socket_is_closed(
    chat: Chat, settings: Any, monkeypatch: pytest.MonkeyPatch, clock: Clock, limit: str
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "any")
    settings.CHAT_RUN_TEXT_BYTES = 1 if limit == "CHAT_RUN_TEXT_BYTES" else 100
    async with raw_provider(HEAD, SAYS["openai"], hold=True) as provider:
        settings.MOCKLLM_ENV = "dev"
        settings.CHAT_ALLOWED_HOSTS = [provider.place]
        profile = await chat.profile(
            base_url=f"http://{provider.place}/v1", api_key_env=KEY_VARIABLE
        )
        handle = await chat.send(profile=profile)
        if limit == "CHAT_RUN_SECONDS":
            await until(handle, "chunk")
            clock.strike()
        last = (await events_of(handle))[-1]
        assert isinstance(last, Error) and last.message.endswith(f"the limit of {limit}")
        async with asyncio.timeout(30):
            await provider.gone.wait()


async def ends(begun: AcceptedMessage) -> list[tuple[str, str]]:
    """How each branch ended."""
    for trace_id in begun.trace_ids:
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
    assert await ends(await pair(chat)) == [
        (Status.COMPLETED, ""),
        (Status.FAILED, TEXT_SPENT.message),
    ]


async def test_each_branch_of_a_comparison_has_its_own_time(chat: Chat, clock: Clock) -> None:
    await chat.script({"name": "one", "steps": [{"consume": False, "produce": ENDLESS}]})
    begun = await pair(chat)
    assert [seconds for seconds, _ in clock.set] == [900, 900]
    clock.strike(1)
    assert (await log_of(begun.trace_ids[1]))[-1].payload["message"] == TIME_SPENT.message
    running = Trace.objects.filter(status=Status.RUNNING).values_list("pk", flat=True)
    assert await in_database(lambda: list(running)) == [begun.trace_ids[0]]
    clock.strike(0)
    assert await ends(begun) == [(Status.FAILED, TIME_SPENT.message)] * 2
