"""Tool calls over each kind of connection to an MCP server."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
import pytest_asyncio

from chat_app.tools import ToolOutcome
from chat_app.tools.servers import HttpServer
from chat_app.tools.toolbox import McpToolbox
from tests.chat.tools.tool_servers import (
    connect_in_process,
    forked_server,
    http_server,
    open_toolbox,
    unreachable_server,
)
from tests.support.fake_clock import move_clock

# One server of each kind for all of these tests, and so one event loop.
pytestmark = pytest.mark.asyncio(loop_scope="module")
SERVERS = ["demo"]


@pytest_asyncio.fixture(loop_scope="module", scope="module", params=["in process", "stdio", "http"])
async def toolbox(request: pytest.FixtureRequest) -> AsyncIterator[McpToolbox]:
    async with AsyncExitStack() as stack:
        match request.param:
            case "in process":
                context = open_toolbox({"demo": unreachable_server()}, connect=connect_in_process)
            case "stdio":
                context = open_toolbox({"demo": forked_server()})
            case _:
                url = stack.enter_context(http_server()).url
                context = open_toolbox({"demo": HttpServer(url)})
        yield await stack.enter_async_context(context)


async def test_call_returns_the_text_of_its_result(toolbox: McpToolbox) -> None:
    outcome = await toolbox.call(SERVERS, "add", arguments='{"a": 20, "b": 22}')
    assert outcome == ToolOutcome("42")


async def test_a_tools_own_error_is_a_result_with_its_message(toolbox: McpToolbox) -> None:
    outcome = await toolbox.call(SERVERS, "fail", arguments='{"message": "no such city"}')
    assert outcome == ToolOutcome("Error: Error executing tool fail: no such city", "error")


async def test_any_other_exception_of_a_tool_is_a_result_without_details(
    toolbox: McpToolbox,
) -> None:
    outcome = await toolbox.call(SERVERS, "explode", arguments="{}")
    assert outcome == ToolOutcome("Error: Error executing tool explode", "error")


async def test_slow_call_times_out_and_is_cancelled_at_the_server(
    toolbox: McpToolbox, settings: Any
) -> None:
    assert (await toolbox.call(SERVERS, "echo", arguments='{"text": "open"}')).status == "success"
    settings.MCP_CALL_SECONDS = 40
    call = asyncio.create_task(toolbox.call(SERVERS, "hang", arguments="{}"))
    assert (
        await toolbox.call(SERVERS, "wait_for_hang", arguments='{"state": "started"}')
    ).text == "started"
    move_clock(asyncio.get_running_loop(), 40)
    assert await call == ToolOutcome(
        "Error: the tool hang did not answer within 40 s", "timeout", "SERVICE_UNAVAILABLE"
    )
    assert (
        await toolbox.call(SERVERS, "wait_for_hang", arguments='{"state": "cancelled"}')
    ).text == "cancelled"


async def test_a_cancelled_call_is_cancelled_at_the_server(toolbox: McpToolbox) -> None:
    call = asyncio.create_task(toolbox.call(SERVERS, "hang", arguments="{}"))
    assert (
        await toolbox.call(SERVERS, "wait_for_hang", arguments='{"state": "started"}')
    ).text == "started"
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert (
        await toolbox.call(SERVERS, "wait_for_hang", arguments='{"state": "cancelled"}')
    ).text == "cancelled"


async def test_ch_t6_after_each_error_the_next_call_is_answered(toolbox: McpToolbox) -> None:
    for name, arguments in [("fail", "{}"), ("explode", "{}"), ("add", "[1]"), ("nothing", "{}")]:
        outcome = await toolbox.call(SERVERS, name, arguments=arguments)
        assert outcome.status == "error"
        assert outcome.text.startswith("Error: ")
        assert (
            await toolbox.call(SERVERS, "echo", arguments=json.dumps({"text": name}))
        ).text == name


async def test_twenty_concurrent_calls_get_their_own_results(toolbox: McpToolbox) -> None:
    outcomes = await asyncio.gather(
        *(toolbox.call(SERVERS, "add", arguments=json.dumps({"a": n, "b": 100})) for n in range(20))
    )
    assert [outcome.text for outcome in outcomes] == [str(n + 100) for n in range(20)]


async def test_calls_do_not_block_each_other(toolbox: McpToolbox) -> None:
    hanging_calls = [
        asyncio.create_task(toolbox.call(SERVERS, "hang", arguments="{}")) for _ in range(20)
    ]
    assert (
        await toolbox.call(SERVERS, "wait_for_hang", arguments='{"state": "started"}')
    ).text == "started"
    assert (await toolbox.call(SERVERS, "add", arguments='{"a": 1, "b": 1}')).text == "2"
    for call in hanging_calls:
        call.cancel()
    ends = await asyncio.gather(*hanging_calls, return_exceptions=True)
    assert {type(end) for end in ends} == {asyncio.CancelledError}
    assert (
        await toolbox.call(SERVERS, "wait_for_hang", arguments='{"state": "cancelled"}')
    ).text == "cancelled"


async def test_result_of_three_megabytes_is_complete(toolbox: McpToolbox) -> None:
    outcome = await toolbox.call(SERVERS, "long", arguments='{"length": 3000000}')
    assert outcome.status == "success"
    assert outcome.text == "0123456789" * 300_000


async def test_arguments_refused_by_the_tool_are_an_error_result(
    toolbox: McpToolbox,
) -> None:
    outcome = await toolbox.call(SERVERS, "add", arguments='{"a": "x", "b": 1}')
    assert outcome.status == "error"
    assert "Input should be a valid integer" in outcome.text


async def test_arguments_that_are_no_object_are_not_sent(toolbox: McpToolbox) -> None:
    for arguments in ["[]", "1", '"text"', "null", "{", '{"a": NaN}', '{"a": "\\ud800"}']:
        outcome = await toolbox.call(SERVERS, "add", arguments=arguments)
        assert (outcome.status, outcome.code) == ("error", "VALIDATION_ERROR"), arguments


async def test_unusual_json_arguments_are_sent_unchanged(toolbox: McpToolbox) -> None:
    text = 'a\n"b"\u2028\0 😀 ␄'
    assert (await toolbox.call(SERVERS, "echo", arguments=json.dumps({"text": text}))).text == text
    large = 10**60
    outcome = await toolbox.call(SERVERS, "add", arguments=f'{{"a": {large}, "b": 1}}')
    assert outcome.text == str(large + 1)


async def test_non_text_blocks_become_one_line_each(toolbox: McpToolbox) -> None:
    outcome = await toolbox.call(SERVERS, "pieces", arguments="")
    assert outcome.text.split("\n") == [
        "first",
        "[image: image/png, 8 characters of base64]",
        "[audio: audio/wav, 8 characters of base64]",
        "[resource link: notes, file:///notes.txt]",
        "[resource: file:///a.txt, text/plain]",
        "last",
    ]


async def test_structured_content_replaces_missing_text(toolbox: McpToolbox) -> None:
    outcome = await toolbox.call(SERVERS, "structured", arguments="{}")
    assert outcome == ToolOutcome('{"city":"Zürich","degrees":[1,2]}')


async def test_an_unknown_tool_is_not_found(toolbox: McpToolbox) -> None:
    outcome = await toolbox.call(SERVERS, "nothing", arguments="{}")
    assert outcome == ToolOutcome("Error: there is no tool nothing", "error", "NOT_FOUND")


async def test_tools_are_described_in_the_servers_order(toolbox: McpToolbox) -> None:
    tools = await toolbox.available_tools(SERVERS)
    assert [tool.name for tool in tools[:6]] == ["add", "echo", "slow", "fail", "long", "crash"]
    assert tools[0].description == "Adds two whole numbers."
    assert tools[0].input_schema["required"] == ["a", "b"]


async def test_added_tool_is_listed_and_callable(toolbox: McpToolbox) -> None:
    before = {tool.name for tool in await toolbox.available_tools(SERVERS)}
    await toolbox.call(SERVERS, "grow", arguments='{"name": "grown"}')
    assert "grown" not in before
    # The notification is asynchronous; each message of a chat lists the tools again.
    async with asyncio.timeout(20):
        while "grown" not in {tool.name for tool in await toolbox.available_tools(SERVERS)}:
            await asyncio.sleep(0)
    assert (await toolbox.call(SERVERS, "grown", arguments="{}")).text == "grown"
