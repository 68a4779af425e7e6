"""Calls of tools, in each way that a call can go and each way that a server can be reached."""

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
from tests.chat.tools.tool_servers import forked, http_server, in_process, refused, toolbox_of
from tests.support.fake_clock import move_clock

# One server of each kind for all of these tests, and so one event loop.
pytestmark = pytest.mark.asyncio(loop_scope="module")
SERVERS = ["demo"]


@pytest_asyncio.fixture(loop_scope="module", scope="module", params=["in process", "stdio", "http"])
async def tools(request: pytest.FixtureRequest) -> AsyncIterator[McpToolbox]:
    async with AsyncExitStack() as stack:
        match request.param:
            case "in process":
                opened = toolbox_of({"demo": refused()}, connect=in_process)
            case "stdio":
                opened = toolbox_of({"demo": forked()})
            case _:
                url = stack.enter_context(http_server()).url
                opened = toolbox_of({"demo": HttpServer(url)})
        yield await stack.enter_async_context(opened)


async def test_a_call_gives_the_text_of_its_result(tools: McpToolbox) -> None:
    outcome = await tools.call(SERVERS, "add", arguments='{"a": 20, "b": 22}')
    assert outcome == ToolOutcome("42")


async def test_a_tools_own_error_is_a_result_with_its_message(tools: McpToolbox) -> None:
    outcome = await tools.call(SERVERS, "fail", arguments='{"message": "no such city"}')
    assert outcome == ToolOutcome("Error: Error executing tool fail: no such city", "error")


async def test_any_other_exception_of_a_tool_is_a_result_without_details(tools: McpToolbox) -> None:
    outcome = await tools.call(SERVERS, "explode", arguments="{}")
    assert outcome == ToolOutcome("Error: Error executing tool explode", "error")


async def test_a_call_that_takes_too_long_times_out_and_is_cancelled_at_the_server(
    tools: McpToolbox, settings: Any
) -> None:
    assert (await tools.call(SERVERS, "echo", arguments='{"text": "open"}')).status == "success"
    settings.MCP_CALL_SECONDS = 40
    call = asyncio.create_task(tools.call(SERVERS, "hang", arguments="{}"))
    assert (await tools.call(SERVERS, "until", arguments='{"what": "started"}')).text == "started"
    move_clock(asyncio.get_running_loop(), 40)
    assert await call == ToolOutcome(
        "Error: the tool hang did not answer within 40 s", "timeout", "SERVICE_UNAVAILABLE"
    )
    assert (
        await tools.call(SERVERS, "until", arguments='{"what": "cancelled"}')
    ).text == "cancelled"


async def test_a_cancelled_call_is_cancelled_at_the_server(tools: McpToolbox) -> None:
    call = asyncio.create_task(tools.call(SERVERS, "hang", arguments="{}"))
    assert (await tools.call(SERVERS, "until", arguments='{"what": "started"}')).text == "started"
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert (
        await tools.call(SERVERS, "until", arguments='{"what": "cancelled"}')
    ).text == "cancelled"


async def test_ch_t6_after_each_error_the_next_call_is_answered(tools: McpToolbox) -> None:
    for name, arguments in [("fail", "{}"), ("explode", "{}"), ("add", "[1]"), ("nothing", "{}")]:
        outcome = await tools.call(SERVERS, name, arguments=arguments)
        assert outcome.status == "error"
        assert outcome.text.startswith("Error: ")
        assert (
            await tools.call(SERVERS, "echo", arguments=json.dumps({"text": name}))
        ).text == name


async def test_twenty_calls_at_once_each_get_their_own_result(tools: McpToolbox) -> None:
    outcomes = await asyncio.gather(
        *(tools.call(SERVERS, "add", arguments=json.dumps({"a": n, "b": 100})) for n in range(20))
    )
    assert [outcome.text for outcome in outcomes] == [str(n + 100) for n in range(20)]


async def test_a_call_waits_for_no_other(tools: McpToolbox) -> None:
    hanging = [asyncio.create_task(tools.call(SERVERS, "hang", arguments="{}")) for _ in range(20)]
    assert (await tools.call(SERVERS, "until", arguments='{"what": "started"}')).text == "started"
    assert (await tools.call(SERVERS, "add", arguments='{"a": 1, "b": 1}')).text == "2"
    for call in hanging:
        call.cancel()
    ends = await asyncio.gather(*hanging, return_exceptions=True)
    assert {type(end) for end in ends} == {asyncio.CancelledError}
    assert (
        await tools.call(SERVERS, "until", arguments='{"what": "cancelled"}')
    ).text == "cancelled"


async def test_a_result_of_some_megabytes_comes_whole(tools: McpToolbox) -> None:
    outcome = await tools.call(SERVERS, "long", arguments='{"length": 3000000}')
    assert outcome.status == "success"
    assert outcome.text == "0123456789" * 300_000


async def test_arguments_that_the_tool_refuses_are_a_result_that_names_them(
    tools: McpToolbox,
) -> None:
    outcome = await tools.call(SERVERS, "add", arguments='{"a": "x", "b": 1}')
    assert outcome.status == "error"
    assert "Input should be a valid integer" in outcome.text


async def test_arguments_that_are_no_object_reach_no_server(tools: McpToolbox) -> None:
    for arguments in ["[]", "1", '"text"', "null", "{", '{"a": NaN}', '{"a": "\\ud800"}']:
        outcome = await tools.call(SERVERS, "add", arguments=arguments)
        assert (outcome.status, outcome.code) == ("error", "VALIDATION_ERROR"), arguments


async def test_the_strangest_arguments_of_json_arrive(tools: McpToolbox) -> None:
    text = 'a\n"b"\u2028\0 😀 ␄'
    assert (await tools.call(SERVERS, "echo", arguments=json.dumps({"text": text}))).text == text
    large = 10**60
    outcome = await tools.call(SERVERS, "add", arguments=f'{{"a": {large}, "b": 1}}')
    assert outcome.text == str(large + 1)


async def test_non_text_blocks_become_one_line_each(tools: McpToolbox) -> None:
    outcome = await tools.call(SERVERS, "pieces", arguments="")
    assert outcome.text.split("\n") == [
        "first",
        "[image: image/png, 8 characters of base64]",
        "[audio: audio/wav, 8 characters of base64]",
        "[resource link: notes, file:///notes.txt]",
        "[resource: file:///a.txt, text/plain]",
        "last",
    ]


async def test_structured_content_stands_in_for_text_that_is_not_there(tools: McpToolbox) -> None:
    outcome = await tools.call(SERVERS, "structured", arguments="{}")
    assert outcome == ToolOutcome('{"city":"Zürich","degrees":[1,2]}')


async def test_an_unknown_tool_is_not_found(tools: McpToolbox) -> None:
    outcome = await tools.call(SERVERS, "nothing", arguments="{}")
    assert outcome == ToolOutcome("Error: there is no tool nothing", "error", "NOT_FOUND")


async def test_tools_are_described_in_the_servers_order(tools: McpToolbox) -> None:
    found = await tools.available_tools(SERVERS)
    assert [tool.name for tool in found[:6]] == ["add", "echo", "slow", "fail", "long", "crash"]
    assert found[0].description == "Adds two whole numbers."
    assert found[0].input_schema["required"] == ["a", "b"]


async def test_a_tool_that_a_server_adds_is_there_at_once(tools: McpToolbox) -> None:
    before = {tool.name for tool in await tools.available_tools(SERVERS)}
    await tools.call(SERVERS, "grow", arguments='{"name": "grown"}')
    assert "grown" not in before
    # The notification takes its own way; each message of a chat asks again.
    async with asyncio.timeout(20):
        while "grown" not in {tool.name for tool in await tools.available_tools(SERVERS)}:
            await asyncio.sleep(0)
    assert (await tools.call(SERVERS, "grown", arguments="{}")).text == "grown"
