"""Tools that fail, time out, return too much, are called endlessly, or run when a run ends."""

from typing import Any

import pytest

from chat_app.service import cancel
from chat_app.values.events import (
    Complete,
    Error,
    ToolCall,
    ToolResult,
)
from tests.chat.chat_helpers import Chat, events_of, log_of, messages_of, scenario, trace_of
from tests.chat.scripts import call_tool
from tests.chat.service.toolboxes import ADD, follow_until, patch_toolbox, tool_events
from traces_app.models import Status


@pytest.mark.parametrize(
    ("tool", "text", "status", "code"),
    [
        (call_tool("fail", message="Out of order."), "Out of order.", "error", None),
        (call_tool("nosuch"), "there is no tool nosuch", "error", "NOT_FOUND"),
    ],
    ids=["it fails", "it is not there"],
)
async def test_ch_t6_a_tool_that_fails_does_not_stop_the_answer(
    chat: Chat, tool: dict[str, Any], text: str, status: str, code: str | None
) -> None:
    await chat.script(scenario(tool, {"text": "I could not."}))
    handle = await chat.send(profile=await chat.profile(mcp_servers=["demo"]))
    events = await events_of(handle)
    [result] = [event for event in events if isinstance(event, ToolResult)]
    assert (result.is_error, result.code) == (True, code)
    assert result.result.startswith("Error: ") and result.result.endswith(text)
    assert isinstance(events[-1], Complete) and events[-1].text == "I could not."
    log = await log_of(handle.id)
    assert [event.payload["status"] for event in log if event.type == "tool_end"] == [status]
    assert (await messages_of(handle))[1].tool_calls[0]["is_error"] is True


async def test_slow_tool_times_out(chat: Chat, settings: Any) -> None:
    settings.MCP_CALL_SECONDS = 0.3
    await chat.script(scenario(call_tool("slow", seconds=600), {"text": "It was slow."}))
    handle = await chat.send(profile=await chat.profile(mcp_servers=["demo"]))
    events = await events_of(handle)
    [result] = [event for event in events if isinstance(event, ToolResult)]
    assert (result.is_error, result.code) == (True, "SERVICE_UNAVAILABLE")
    assert isinstance(events[-1], Complete)
    log = await log_of(handle.id)
    assert [event.payload["status"] for event in log if event.type == "tool_end"] == ["timeout"]


async def test_long_result_is_cut_in_the_log_only(chat: Chat) -> None:
    await chat.script(scenario(call_tool("long", length=20_000), {"text": "Long."}))
    handle = await chat.send(profile=await chat.profile(mcp_servers=["demo"]))
    events = await events_of(handle)
    [result] = [event for event in events if isinstance(event, ToolResult)]
    assert len(result.result) == 20_000
    [output] = [event.payload for event in await log_of(handle.id) if event.type == "tool_output"]
    assert (len(output["output"]), output["truncated"]) == (16_384, True)
    assert output["full_length"] == 20_000
    assert len((await messages_of(handle))[1].tool_calls[0]["result"]) == 20_000


async def test_invalid_json_arguments_are_shown_unchanged(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    toolbox = patch_toolbox(monkeypatch, add="?")
    invalid_call = {"id": "1", "name": "add", "arguments": '{"a": 1'}
    await chat.script(scenario({"tool_calls": [invalid_call]}, {"text": "Hm."}))
    handle = await chat.send()
    await follow_until(handle, "tool_start")
    toolbox.finish_calls("add")
    await events_of(handle)
    assert toolbox.calls == [("add", '{"a": 1')]
    assert ("tool_start", '{"a": 1') in tool_events(await log_of(handle.id))


async def test_endless_tool_calls_end_at_the_round_limit(chat: Chat, settings: Any) -> None:
    settings.CHAT_MAX_ROUNDS = 3
    await chat.script(
        {
            "name": "loop",
            "steps": [{"consume": False, "produce": {"tool_calls": [{**ADD, "id": None}]}}],
        }
    )
    handle = await chat.send(profile=await chat.profile(mcp_servers=["demo"]))
    events = await events_of(handle)
    assert events[-1] == Error(
        "The model did not finish within 3 rounds (CHAT_MAX_ROUNDS)", "SERVICE_UNAVAILABLE"
    )
    trace = await trace_of(handle)
    # Results that could not be sent to the model are not produced either.
    assert (trace.status, trace.model_calls, trace.tool_calls) == (Status.FAILED, 3, 2)


async def test_a_cancelled_run_ends_its_tools(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    toolbox = patch_toolbox(monkeypatch, first="one", second="two")
    tool_calls = [
        {"id": "1", "name": "first", "arguments": {}},
        {"id": "2", "name": "second", "arguments": {}},
    ]
    await chat.script(scenario({"text": "Wait.", "tool_calls": tool_calls}))
    handle = await chat.send()
    await follow_until(handle, "tool_start", "tool_start")
    toolbox.finish_calls("second")
    await follow_until(handle, "tool_end")
    await cancel(handle)
    assert toolbox.cancelled == ["first"]
    log = await log_of(handle.id)
    ends = [event.payload for event in log if event.type == "tool_end"]
    assert [(end["tool_call_id"], end["status"]) for end in ends] == [
        ("2", "success"),
        ("1", "cancelled"),
    ]
    assert (log[-1].type, log[-1].payload["cancelled"]) == ("done", True)
    answer = (await messages_of(handle))[1]
    assert [call["result"] for call in answer.tool_calls] == [None, "two"]


async def test_mcp_call_is_cancelled_with_its_run(chat: Chat) -> None:
    await chat.script(scenario(call_tool("slow", seconds=600), {"text": "Ready again."}))
    profile = await chat.profile(mcp_servers=["demo"])
    first = await chat.send(profile=profile)
    await follow_until(first, "tool_start")
    await cancel(first)
    assert (await log_of(first.id))[-1].payload["cancelled"] is True
    # The old call does not block the server.
    await chat.script(scenario(call_tool("echo", text="here"), {"text": "Ready."}, name="next"))
    second = await chat.send(profile=profile)
    assert (await events_of(second))[-1] == Complete(
        "Ready.", None, (ToolCall("call_echo", "echo", '{"text":"here"}'),)
    )
