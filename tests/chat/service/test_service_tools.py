"""Tools in an answer: offered, called together, shown as they go, and their results sent back."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from chat_app import loop
from chat_app.service import StreamHandle, cancel
from chat_app.tools import Outcome
from chat_app.values.events import (
    Complete,
    Error,
    ToolCall,
    ToolCallDelta,
    ToolCallStart,
    ToolResult,
)
from chat_app.values.model_call import Tool
from mockllm_site.kit.database_thread import in_database
from tests.chat.chatting import Chat, events_of, log_of, messages_of, scenario, trace_of
from tests.chat.scripts import calls
from traces_app.follow import follow
from traces_app.log import LoggedEvent
from traces_app.models import Status

ADD = {"id": "call_1", "name": "add", "arguments": {"a": 2, "b": 3}}


class Tools:
    """A toolbox whose calls end when the test says so."""

    def __init__(self, outcomes: Mapping[str, Outcome]) -> None:
        self.called: list[tuple[str, str]] = []
        self.cancelled: list[str] = []
        self._outcomes = outcomes
        self._going = {name: asyncio.Event() for name in outcomes}

    async def available(self, servers: Sequence[str]) -> tuple[Tool, ...]:
        return tuple(Tool(name, f"{name} of {servers}", {}) for name in self._outcomes)

    async def call(self, servers: Sequence[str], name: str, *, arguments: Any) -> Outcome:
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


def tools(monkeypatch: pytest.MonkeyPatch, **outcomes: str | Outcome) -> Tools:
    made = Tools(
        {
            name: Outcome(value) if isinstance(value, str) else value
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


def shown(log: Sequence[LoggedEvent]) -> list[tuple[str, Any]]:
    """What a log says of tools and text, without times."""
    keys = {"chunk": "content", "tool_start": "tool_args", "tool_output": "output"}
    return [
        (event.type, event.payload[keys.get(event.type, "status")])
        for event in log
        if event.type in {*keys, "tool_end"}
    ]


async def test_ch_t9_the_profiles_tools_are_offered(chat: Chat) -> None:
    await chat.script(
        {
            "name": "tools",
            "steps": [
                {"match": {"tools": ["add", "echo", "slow"]}, "produce": {"text": "I have tools."}}
            ],
        }
    )
    handle = await chat.send(profile=await chat.profile(mcp_servers=["demo"]))
    assert (await events_of(handle))[-1] == Complete("I have tools.")
    row = await in_database((await trace_of(handle)).calls.get)
    assert {"add", "echo", "slow", "fail"} <= set(row.tools)


async def test_a_profile_without_servers_offers_none(chat: Chat) -> None:
    await chat.says("Hi.")
    handle = await chat.send(profile=await chat.profile(mcp_servers=[]))
    await events_of(handle)
    assert (await in_database((await trace_of(handle)).calls.get)).tools == []


async def test_a_tool_is_called_and_its_result_sent_back(chat: Chat) -> None:
    await chat.script(
        scenario({"text": "Let me add.", "tool_calls": [ADD]}),
        {
            "name": "after",
            "priority": 1,
            "steps": [
                {
                    "match": {"tool_results": [{"tool_call_id": "call_1", "equals": "5"}]},
                    "produce": {"text": "It is 5."},
                }
            ],
        },
    )
    handle = await chat.send("2 + 3?", profile=await chat.profile(mcp_servers=["demo"]))
    said = await events_of(handle)
    assert said[-1] == Complete(
        "Let me add.\n\nIt is 5.", None, (ToolCall("call_1", "add", '{"a":2,"b":3}'),)
    )
    assert ToolCallStart("call_1", "add") in said
    pieces = [event.arguments for event in said if isinstance(event, ToolCallDelta)]
    assert json.loads("".join(pieces)) == {"a": 2, "b": 3}
    assert ToolResult("call_1", "5") in said


async def test_the_log_keeps_true_order(chat: Chat) -> None:
    await chat.script(scenario({"text": "Let me add.", "tool_calls": [ADD]}, {"text": "Five."}))
    handle = await chat.send(profile=await chat.profile(mcp_servers=["demo"]))
    log = await log_of(handle.id)
    assert shown(log) == [
        ("chunk", "Let me add."),
        ("tool_start", {"a": 2, "b": 3}),
        ("tool_output", "5"),
        ("tool_end", "success"),
        ("chunk", "\n\nFive."),
    ]
    start, output, end = (event.payload for event in log if event.type.startswith("tool_"))
    assert (start["tool_call_id"], start["tool_name"]) == ("call_1", "add")
    assert start["timestamp"].endswith("Z")
    assert output == {
        "tool_call_id": "call_1",
        "output": "5",
        "truncated": False,
        "full_length": 1,
        "is_error": False,
        "code": None,
    }
    assert end["tool_call_id"] == "call_1" and end["duration_ms"] >= 0


async def test_what_was_called_is_stored_with_the_answer(chat: Chat) -> None:
    await chat.script(scenario({"text": "Let me add.", "tool_calls": [ADD]}, {"text": "Five."}))
    handle = await chat.send(profile=await chat.profile(mcp_servers=["demo"]))
    await events_of(handle)
    answer, trace = (await messages_of(handle))[1], await trace_of(handle)
    assert answer.tool_calls == [
        {
            "id": "call_1",
            "name": "add",
            "arguments": {"a": 2, "b": 3},
            "result": "5",
            "is_error": False,
        }
    ]
    call = {"id": "call_1", "name": "add", "arguments": '{"a":2,"b":3}'}
    result = {"tool_call_id": "call_1", "name": "add", "content": "5", "is_error": False}
    assert answer.rounds == [
        {"parts": [{"text": "Let me add."}, {"tool_call": call}], "results": [result]},
        {"parts": [{"text": "Five."}], "results": []},
    ]
    assert (trace.model_calls, trace.tool_calls) == (2, 1)
    rows = await in_database(lambda: list(trace.calls.order_by("number")))
    assert [row.finish_reason for row in rows] == ["tool_calls", "stop"]
    assert [row.request["turns"] for row in rows] == [1, 3]


async def test_the_next_prompt_knows_what_tools_said(chat: Chat) -> None:
    await chat.script(
        scenario({"tool_calls": [ADD]}, {"text": "Five."}),
        {
            "name": "later",
            "priority": 1,
            "steps": [
                {
                    "match": {
                        "messages": [{"role": "user", "equals": "Again?"}],
                        "tool_calls": [{"name": "add", "arguments": {"a": 2}}],
                        "tool_results": [{"equals": "5"}],
                    },
                    "produce": {"text": "Still five."},
                }
            ],
        },
    )
    profile = await chat.profile(mcp_servers=["demo"])
    first = await chat.send(profile=profile)
    await events_of(first)
    second = await chat.send("Again?", profile=profile, conversation_id=first.conversation_id)
    assert (await events_of(second))[-1] == Complete("Still five.")


@pytest.mark.parametrize(
    ("tool", "text", "status", "code"),
    [
        (calls("fail", message="Out of order."), "Out of order.", "error", None),
        (calls("nosuch"), "there is no tool nosuch", "error", "NOT_FOUND"),
    ],
    ids=["it fails", "it is not there"],
)
async def test_ch_t6_a_tool_that_fails_does_not_stop_the_answer(
    chat: Chat, tool: dict[str, Any], text: str, status: str, code: str | None
) -> None:
    await chat.script(scenario(tool, {"text": "I could not."}))
    handle = await chat.send(profile=await chat.profile(mcp_servers=["demo"]))
    said = await events_of(handle)
    [result] = [event for event in said if isinstance(event, ToolResult)]
    assert (result.is_error, result.code) == (True, code)
    assert result.result.startswith("Error: ") and result.result.endswith(text)
    assert isinstance(said[-1], Complete) and said[-1].text == "I could not."
    log = await log_of(handle.id)
    assert [event.payload["status"] for event in log if event.type == "tool_end"] == [status]
    assert (await messages_of(handle))[1].tool_calls[0]["is_error"] is True


async def test_a_tool_that_takes_too_long(chat: Chat, settings: Any) -> None:
    settings.MCP_CALL_SECONDS = 0.3
    await chat.script(scenario(calls("slow", seconds=600), {"text": "It was slow."}))
    handle = await chat.send(profile=await chat.profile(mcp_servers=["demo"]))
    said = await events_of(handle)
    [result] = [event for event in said if isinstance(event, ToolResult)]
    assert (result.is_error, result.code) == (True, "SERVICE_UNAVAILABLE")
    assert isinstance(said[-1], Complete)
    log = await log_of(handle.id)
    assert [event.payload["status"] for event in log if event.type == "tool_end"] == ["timeout"]


async def test_a_long_result_is_cut_where_it_is_shown_and_nowhere_else(chat: Chat) -> None:
    await chat.script(scenario(calls("long", length=20_000), {"text": "Long."}))
    handle = await chat.send(profile=await chat.profile(mcp_servers=["demo"]))
    said = await events_of(handle)
    [result] = [event for event in said if isinstance(event, ToolResult)]
    assert len(result.result) == 20_000
    [output] = [event.payload for event in await log_of(handle.id) if event.type == "tool_output"]
    assert (len(output["output"]), output["truncated"]) == (16_384, True)
    assert output["full_length"] == 20_000
    assert len((await messages_of(handle))[1].tool_calls[0]["result"]) == 20_000


async def test_calls_of_one_round_run_at_the_same_time(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tools(monkeypatch, first="one", second="two")
    both = [
        {"id": "1", "name": "first", "arguments": {}},
        {"id": "2", "name": "second", "arguments": {}},
    ]
    await chat.script(scenario({"tool_calls": both}, {"text": "Both."}))
    handle = await chat.send()
    await until(handle, "tool_start", "tool_start")
    made.go_on("second")
    await until(handle, "tool_end")
    made.go_on("first")
    said = await events_of(handle)
    assert isinstance(said[-1], Complete) and said[-1].text == "Both."
    log = await log_of(handle.id)
    # Shown as they ended; sent back, and stored, in the order of the calls.
    assert [e.payload["output"] for e in log if e.type == "tool_output"] == ["two", "one"]
    answer = (await messages_of(handle))[1]
    assert [one["content"] for one in answer.rounds[0]["results"]] == ["one", "two"]
    assert [one["result"] for one in answer.tool_calls] == ["one", "two"]


async def test_arguments_that_are_no_json_are_shown_as_they_came(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tools(monkeypatch, add="?")
    broken = {"id": "1", "name": "add", "arguments": '{"a": 1'}
    await chat.script(scenario({"tool_calls": [broken]}, {"text": "Hm."}))
    handle = await chat.send()
    await until(handle, "tool_start")
    made.go_on("add")
    await events_of(handle)
    assert made.called == [("add", '{"a": 1')]
    assert ("tool_start", '{"a": 1') in shown(await log_of(handle.id))


async def test_a_model_that_calls_tools_for_ever_is_stopped(chat: Chat, settings: Any) -> None:
    settings.CHAT_MAX_ROUNDS = 3
    await chat.script(
        {
            "name": "loop",
            "steps": [{"consume": False, "produce": {"tool_calls": [{**ADD, "id": None}]}}],
        }
    )
    handle = await chat.send(profile=await chat.profile(mcp_servers=["demo"]))
    said = await events_of(handle)
    assert said[-1] == Error(
        "The model called tools 3 times and did not come to an end", "SERVICE_UNAVAILABLE"
    )
    trace = await trace_of(handle)
    # What could not be told to the model is not done either.
    assert (trace.status, trace.model_calls, trace.tool_calls) == (Status.FAILED, 3, 2)


async def test_a_cancelled_run_ends_its_tools(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    made = tools(monkeypatch, first="one", second="two")
    both = [
        {"id": "1", "name": "first", "arguments": {}},
        {"id": "2", "name": "second", "arguments": {}},
    ]
    await chat.script(scenario({"text": "Wait.", "tool_calls": both}))
    handle = await chat.send()
    await until(handle, "tool_start", "tool_start")
    made.go_on("second")
    await until(handle, "tool_end")
    await cancel(handle)
    assert made.cancelled == ["first"]
    log = await log_of(handle.id)
    ends = [event.payload for event in log if event.type == "tool_end"]
    assert [(end["tool_call_id"], end["status"]) for end in ends] == [
        ("2", "success"),
        ("1", "cancelled"),
    ]
    assert (log[-1].type, log[-1].payload["cancelled"]) == ("done", True)
    answer = (await messages_of(handle))[1]
    assert [one["result"] for one in answer.tool_calls] == [None, "two"]


async def test_a_real_call_is_cancelled_with_its_run(chat: Chat) -> None:
    await chat.script(scenario(calls("slow", seconds=600), {"text": "Ready again."}))
    profile = await chat.profile(mcp_servers=["demo"])
    first = await chat.send(profile=profile)
    await until(first, "tool_start")
    await cancel(first)
    assert (await log_of(first.id))[-1].payload["cancelled"] is True
    # The server is not busy with the old call.
    await chat.script(scenario(calls("echo", text="here"), {"text": "Ready."}, name="next"))
    second = await chat.send(profile=profile)
    assert (await events_of(second))[-1] == Complete(
        "Ready.", None, (ToolCall("call_echo", "echo", '{"text":"here"}'),)
    )
