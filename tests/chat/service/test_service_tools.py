"""Tools in an answer: offered to the model, called concurrently, logged, and their results sent."""

import json

import pytest

from chat_app.values.events import (
    Complete,
    ToolCall,
    ToolCallDelta,
    ToolCallStart,
    ToolResult,
)
from mockllm_site.kit.database_thread import in_database
from tests.chat.chat_helpers import Chat, events_of, log_of, messages_of, scenario, trace_of
from tests.chat.service.toolboxes import ADD, follow_until, patch_toolbox, tool_events


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


async def test_profile_without_servers_offers_no_tools(chat: Chat) -> None:
    await chat.script_texts("Hi.")
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
    events = await events_of(handle)
    assert events[-1] == Complete(
        "Let me add.\n\nIt is 5.", None, (ToolCall("call_1", "add", '{"a":2,"b":3}'),)
    )
    assert ToolCallStart("call_1", "add") in events
    pieces = [event.arguments for event in events if isinstance(event, ToolCallDelta)]
    assert json.loads("".join(pieces)) == {"a": 2, "b": 3}
    assert ToolResult("call_1", "5") in events


async def test_log_has_tool_events_in_order(chat: Chat) -> None:
    await chat.script(scenario({"text": "Let me add.", "tool_calls": [ADD]}, {"text": "Five."}))
    handle = await chat.send(profile=await chat.profile(mcp_servers=["demo"]))
    log = await log_of(handle.id)
    assert tool_events(log) == [
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


async def test_tool_calls_are_stored_with_the_answer(chat: Chat) -> None:
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


async def test_next_prompt_has_the_tool_results(chat: Chat) -> None:
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


async def test_calls_of_one_round_run_at_the_same_time(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    toolbox = patch_toolbox(monkeypatch, first="one", second="two")
    tool_calls = [
        {"id": "1", "name": "first", "arguments": {}},
        {"id": "2", "name": "second", "arguments": {}},
    ]
    await chat.script(scenario({"tool_calls": tool_calls}, {"text": "Both."}))
    handle = await chat.send()
    await follow_until(handle, "tool_start", "tool_start")
    toolbox.finish_calls("second")
    await follow_until(handle, "tool_end")
    toolbox.finish_calls("first")
    events = await events_of(handle)
    assert isinstance(events[-1], Complete) and events[-1].text == "Both."
    log = await log_of(handle.id)
    # Logged in the order of their ends; sent and stored in the order of the calls.
    assert [e.payload["output"] for e in log if e.type == "tool_output"] == ["two", "one"]
    answer = (await messages_of(handle))[1]
    assert [row["content"] for row in answer.rounds[0]["results"]] == ["one", "two"]
    assert [row["result"] for row in answer.tool_calls] == ["one", "two"]
