"""Life cycle of MCP servers: opened on demand, reopened, and closed without leaks."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import mcp.client.stdio
import pytest
from mcp import Client

from chat_app.tools import ToolOutcome
from chat_app.tools import mcp as connection
from chat_app.tools.servers import CommandServer, HttpServer, Server
from chat_app.tools.toolbox import McpToolbox
from tests.chat.tools.tool_servers import (
    NEW_PROCESS_SERVER,
    HttpToolServer,
    child_pids,
    eventually,
    forked_server,
    http_server,
    open_files,
    open_toolbox,
    unreachable_server,
)
from tests.support import fork_server
from tests.support.fake_clock import move_clock

SERVERS = ["demo"]
UNREACHABLE = ToolOutcome(
    "Error: the MCP server demo cannot be reached", "error", "SERVICE_UNAVAILABLE"
)


@pytest.fixture(autouse=True)
def assert_no_child_left() -> Iterator[None]:
    fork_server.start()
    before = child_pids()
    yield
    assert child_pids() == before


@pytest.fixture
def http() -> Iterator[HttpToolServer]:
    with http_server() as server:
        yield server


@pytest.fixture
def short_kill_timeouts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the time until a server that does not end is killed."""
    monkeypatch.setattr(mcp.client.stdio, "PROCESS_TERMINATION_TIMEOUT", 0.2)
    monkeypatch.setattr(mcp.client.stdio, "FORCE_KILL_TIMEOUT", 0.2)


@asynccontextmanager
async def assert_no_leaks() -> AsyncIterator[None]:
    """Assert that the block leaves no task, process, pipe or socket."""
    before, files = (asyncio.all_tasks(), child_pids()), open_files()
    yield
    assert (asyncio.all_tasks(), child_pids()) == before
    # Another thread of the test run may still be closing files.
    await eventually(lambda: open_files() <= files)


async def call_add(tools: McpToolbox) -> ToolOutcome:
    return await tools.call(SERVERS, "add", arguments='{"a": 1, "b": 2}')


async def start_hanging_call(tools: McpToolbox) -> "asyncio.Task[ToolOutcome]":
    """Start a call that hangs at the server and return its task."""
    call = asyncio.create_task(tools.call(SERVERS, "hang", arguments="{}"))
    assert (
        await tools.call(SERVERS, "wait_for_hang", arguments='{"state": "started"}')
    ).text == "started"
    return call


async def test_server_starts_at_the_first_call_and_is_reused() -> None:
    before = child_pids()
    async with open_toolbox({"demo": forked_server()}) as tools:
        assert child_pids() == before
        await call_add(tools)
        server_pids = child_pids() - before
        assert len(server_pids) == 1
        await call_add(tools)
        assert child_pids() - before == server_pids


async def test_concurrent_first_calls_share_one_server() -> None:
    before = child_pids()
    async with open_toolbox({"demo": forked_server()}) as tools:
        outcomes = await asyncio.gather(*(call_add(tools) for _ in range(20)))
        assert {outcome.text for outcome in outcomes} == {"3"}
        assert len(child_pids() - before) == 1


async def test_opening_goes_on_when_its_first_caller_is_cancelled() -> None:
    async with open_toolbox({"demo": forked_server()}) as tools:
        before = child_pids()
        first = asyncio.create_task(tools.available_tools(SERVERS))
        await eventually(lambda: child_pids() != before)
        server_pids = child_pids() - before
        second = asyncio.create_task(call_add(tools))
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        assert (await second).text == "3"
        assert child_pids() - before == server_pids


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_crash_fails_running_calls_and_the_next_call_reopens(
    transport: str, http: HttpToolServer
) -> None:
    server: Server = forked_server() if transport == "stdio" else HttpServer(http.url)
    async with open_toolbox({"demo": server}) as tools:
        other = await start_hanging_call(tools)
        assert await tools.call(SERVERS, "crash", arguments="{}") == UNREACHABLE
        assert await other == UNREACHABLE
        if transport == "stdio":
            assert (await call_add(tools)).text == "3"
        else:
            http.process.wait()
            with http_server(http.port):
                assert (await call_add(tools)).text == "3"


async def test_killed_server_is_restarted_by_the_next_call() -> None:
    before = child_pids()
    async with open_toolbox({"demo": NEW_PROCESS_SERVER}) as tools:
        assert (await call_add(tools)).text == "3"
        (pid,) = child_pids() - before
        os.kill(pid, signal.SIGKILL)
        # The process is reaped without another call.
        await eventually(lambda: pid not in child_pids())
        assert (await call_add(tools)).text == "3"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_restarted_http_server_is_reconnected(
    mode: str, http: HttpToolServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The older protocol has sessions, which a restarted server does not know.
    monkeypatch.setattr(connection, "Client", partial(Client, mode=mode))
    async with open_toolbox({"demo": HttpServer(http.url)}) as tools:
        assert (await call_add(tools)).text == "3"
        http.kill()
        with http_server(http.port):
            assert (await call_add(tools)).text == "3"
            assert (await call_add(tools)).text == "3"


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_legacy_protocol_supports_timeouts_cancels_and_large_results(
    transport: str,
    http: HttpToolServer,
    monkeypatch: pytest.MonkeyPatch,
    settings: Any,
) -> None:
    monkeypatch.setattr(connection, "Client", partial(Client, mode="legacy"))
    server: Server = forked_server() if transport == "stdio" else HttpServer(http.url)
    async with assert_no_leaks(), open_toolbox({"demo": server}) as tools:
        call = await start_hanging_call(tools)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        hang_state = await tools.call(SERVERS, "wait_for_hang", arguments='{"state": "cancelled"}')
        assert hang_state.text == "cancelled"
        settings.MCP_CALL_SECONDS = 40
        call = await start_hanging_call(tools)
        move_clock(asyncio.get_running_loop(), 40)
        assert (await call).status == "timeout"
        hang_state = await tools.call(SERVERS, "wait_for_hang", arguments='{"state": "cancelled"}')
        assert hang_state.text == "cancelled"
        outcome = await tools.call(SERVERS, "long", arguments='{"length": 3000000}')
        assert len(outcome.text) == 3_000_000


@pytest.mark.parametrize(
    "server",
    [
        CommandServer(("/nowhere/to/be/found",)),
        CommandServer((sys.executable, "-c", "print('no JSON, and gone')")),
        CommandServer((sys.executable, "-c", "import sys; sys.exit(3)")),
        unreachable_server(),
    ],
    ids=["no program", "rubbish", "ends at once", "no listener"],
)
async def test_unreachable_server_has_no_tools_and_its_calls_fail(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    async with assert_no_leaks(), open_toolbox({"demo": server, "other": forked_server()}) as tools:
        offered = await tools.available_tools(["demo", "other"])
        assert [tool.name for tool in offered[:2]] == ["add", "echo"]
        assert "MCP server demo cannot be reached" in caplog.text
        assert await tools.call(SERVERS, "add", arguments="{}") == UNREACHABLE
        outcome = await tools.call(["demo", "other"], "add", arguments='{"a": 1, "b": 1}')
        assert outcome.text == "2"


async def test_unknown_tool_is_not_found_while_another_server_cannot_be_reached() -> None:
    async with (
        assert_no_leaks(),
        open_toolbox({"demo": forked_server(), "gone": unreachable_server()}) as tools,
    ):
        outcome = await tools.call(["gone", "demo"], "nothing", arguments="{}")
        assert outcome == ToolOutcome("Error: there is no tool nothing", "error", "NOT_FOUND")
        assert (await tools.call(["gone"], "nothing", arguments="{}")).code == "SERVICE_UNAVAILABLE"


async def test_slowly_starting_server_does_not_block_calls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("chat_app.tools.owner.WAIT_SECONDS", 0.05)
    silent = CommandServer((sys.executable, "-c", "import sys; sys.stdin.read()"))
    async with assert_no_leaks(), open_toolbox({"demo": silent}) as tools:
        assert await tools.available_tools(SERVERS) == ()
        assert await call_add(tools) == UNREACHABLE


async def test_server_that_never_answers_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chat_app.tools.session.OPEN_SECONDS", 0.2)
    before = child_pids()
    silent = CommandServer((sys.executable, "-c", "import sys; sys.stdin.read()"))
    async with open_toolbox({"demo": silent}) as tools:
        assert await call_add(tools) == UNREACHABLE
        await eventually(lambda: child_pids() == before)


@pytest.mark.parametrize("options", [(), ("--stubborn",)], ids=["ends", "ignores its end"])
async def test_closing_leaves_no_process(
    options: tuple[str, ...], short_kill_timeouts: None
) -> None:
    async with assert_no_leaks(), open_toolbox({"demo": forked_server(*options)}) as tools:
        call = await start_hanging_call(tools)
        await tools.close()
        assert await call == UNREACHABLE


async def test_closing_leaves_no_http_connection(http: HttpToolServer) -> None:
    async with assert_no_leaks(), open_toolbox({"demo": HttpServer(http.url)}) as tools:
        call = await start_hanging_call(tools)
        await tools.close()
        assert await call == UNREACHABLE


async def test_closing_during_opening_leaves_no_resources() -> None:
    before = child_pids()
    async with assert_no_leaks(), open_toolbox({"demo": forked_server()}) as tools:
        call = asyncio.create_task(call_add(tools))
        await eventually(lambda: child_pids() != before)
        await tools.close()
        assert await call == UNREACHABLE


async def test_stopped_server_does_not_delay_timeouts_or_closing(
    short_kill_timeouts: None, settings: Any
) -> None:
    before = child_pids()
    async with assert_no_leaks(), open_toolbox({"demo": NEW_PROCESS_SERVER}) as tools:
        await call_add(tools)
        (pid,) = child_pids() - before
        os.kill(pid, signal.SIGSTOP)
        settings.MCP_CALL_SECONDS = 0.05
        # Larger than a pipe's buffer.
        outcome = await tools.call(SERVERS, "echo", arguments=json.dumps({"text": "x" * 1_000_000}))
        assert outcome.status == "timeout"
        assert (await call_add(tools)).status == "timeout"


async def test_call_after_closing_reopens_the_server() -> None:
    async with open_toolbox({"demo": forked_server()}) as tools:
        assert (await call_add(tools)).text == "3"
        await tools.close()
        assert (await call_add(tools)).text == "3"


@pytest.mark.parametrize("closes", [True, False])
def test_each_event_loop_has_its_own_servers(closes: bool) -> None:
    before, files = child_pids(), open_files()
    server = forked_server()
    tools = McpToolbox(servers=lambda: {"demo": server})

    async def use() -> str:
        outcome = await call_add(tools)
        if closes:
            await tools.close()
        return outcome.text

    for _ in range(2):
        assert asyncio.run(use()) == "3"
        assert child_pids() == before
        assert open_files() <= files
