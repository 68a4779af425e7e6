"""Servers that come and go: opened when wanted, opened again, and ended without a trace."""

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
    ANEW,
    HttpToolServer,
    children,
    eventually,
    forked,
    http_server,
    open_files,
    refused,
    toolbox_of,
)
from tests.support import fork_server
from tests.support.fake_clock import move_clock

SERVERS = ["demo"]
GONE = ToolOutcome("Error: the MCP server demo cannot be reached", "error", "SERVICE_UNAVAILABLE")


@pytest.fixture(autouse=True)
def no_process_is_left() -> Iterator[None]:
    fork_server.start()
    before = children()
    yield
    assert children() == before


@pytest.fixture
def http() -> Iterator[HttpToolServer]:
    with http_server() as server:
        yield server


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers that don't end by themselves are ended by force soon."""
    monkeypatch.setattr(mcp.client.stdio, "PROCESS_TERMINATION_TIMEOUT", 0.2)
    monkeypatch.setattr(mcp.client.stdio, "FORCE_KILL_TIMEOUT", 0.2)


@asynccontextmanager
async def nothing_left() -> AsyncIterator[None]:
    """Assert that the block leaves no task, process, pipe or socket."""
    before, files = (asyncio.all_tasks(), children()), open_files()
    yield
    assert (asyncio.all_tasks(), children()) == before
    # Another thread of the test run may still be closing files.
    await eventually(lambda: open_files() <= files)


async def added(tools: McpToolbox) -> ToolOutcome:
    return await tools.call(SERVERS, "add", arguments='{"a": 1, "b": 2}')


async def hanging(tools: McpToolbox) -> "asyncio.Task[ToolOutcome]":
    """A call that is on at the server, and will be."""
    call = asyncio.create_task(tools.call(SERVERS, "hang", arguments="{}"))
    assert (await tools.call(SERVERS, "until", arguments='{"what": "started"}')).text == "started"
    return call


async def test_a_server_is_started_with_the_first_question_and_kept() -> None:
    before = children()
    async with toolbox_of({"demo": forked()}) as tools:
        assert children() == before
        await added(tools)
        started = children() - before
        assert len(started) == 1
        await added(tools)
        assert children() - before == started


async def test_those_who_come_first_together_share_one_opening() -> None:
    before = children()
    async with toolbox_of({"demo": forked()}) as tools:
        outcomes = await asyncio.gather(*(added(tools) for _ in range(20)))
        assert {outcome.text for outcome in outcomes} == {"3"}
        assert len(children() - before) == 1


async def test_an_opening_goes_on_when_the_first_who_wanted_it_has_left() -> None:
    async with toolbox_of({"demo": forked()}) as tools:
        before = children()
        first = asyncio.create_task(tools.available_tools(SERVERS))
        await eventually(lambda: children() != before)
        started = children() - before
        second = asyncio.create_task(added(tools))
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        assert (await second).text == "3"
        assert children() - before == started


@pytest.mark.parametrize("kind", ["stdio", "http"])
async def test_a_crash_ends_every_call_that_is_on_and_the_next_one_opens_anew(
    kind: str, http: HttpToolServer
) -> None:
    server: Server = forked() if kind == "stdio" else HttpServer(http.url)
    async with toolbox_of({"demo": server}) as tools:
        other = await hanging(tools)
        assert await tools.call(SERVERS, "crash", arguments="{}") == GONE
        assert await other == GONE
        if kind == "stdio":
            assert (await added(tools)).text == "3"
        else:
            http.process.wait()
            with http_server(http.port):
                assert (await added(tools)).text == "3"


async def test_a_process_that_was_killed_between_two_calls_is_started_again() -> None:
    before = children()
    async with toolbox_of({"demo": ANEW}) as tools:
        assert (await added(tools)).text == "3"
        (killed,) = children() - before
        os.kill(killed, signal.SIGKILL)
        # The process is reaped without another call.
        await eventually(lambda: killed not in children())
        assert (await added(tools)).text == "3"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_an_http_server_that_was_restarted_between_two_calls_is_met_again(
    mode: str, http: HttpToolServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The older protocol has sessions, which a restarted server does not know.
    monkeypatch.setattr(connection, "Client", partial(Client, mode=mode))
    async with toolbox_of({"demo": HttpServer(http.url)}) as tools:
        assert (await added(tools)).text == "3"
        http.kill()
        with http_server(http.port):
            assert (await added(tools)).text == "3"
            assert (await added(tools)).text == "3"


@pytest.mark.parametrize("kind", ["stdio", "http"])
async def test_the_older_protocol_hears_of_timeouts_and_cancels_and_takes_large_results_too(
    kind: str,
    http: HttpToolServer,
    monkeypatch: pytest.MonkeyPatch,
    settings: Any,
) -> None:
    monkeypatch.setattr(connection, "Client", partial(Client, mode="legacy"))
    server: Server = forked() if kind == "stdio" else HttpServer(http.url)
    async with nothing_left(), toolbox_of({"demo": server}) as tools:
        call = await hanging(tools)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        heard = await tools.call(SERVERS, "until", arguments='{"what": "cancelled"}')
        assert heard.text == "cancelled"
        settings.MCP_CALL_SECONDS = 40
        call = await hanging(tools)
        move_clock(asyncio.get_running_loop(), 40)
        assert (await call).status == "timeout"
        heard = await tools.call(SERVERS, "until", arguments='{"what": "cancelled"}')
        assert heard.text == "cancelled"
        outcome = await tools.call(SERVERS, "long", arguments='{"length": 3000000}')
        assert len(outcome.text) == 3_000_000


@pytest.mark.parametrize(
    "server",
    [
        CommandServer(("/nowhere/to/be/found",)),
        CommandServer((sys.executable, "-c", "print('no JSON, and gone')")),
        CommandServer((sys.executable, "-c", "import sys; sys.exit(3)")),
        refused(),
    ],
    ids=["no program", "rubbish", "ends at once", "no listener"],
)
async def test_a_server_that_cannot_be_reached_has_no_tools_and_its_calls_fail(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    async with nothing_left(), toolbox_of({"demo": server, "other": forked()}) as tools:
        found = await tools.available_tools(["demo", "other"])
        assert [tool.name for tool in found[:2]] == ["add", "echo"]
        assert "MCP server demo cannot be reached" in caplog.text
        assert await tools.call(SERVERS, "add", arguments="{}") == GONE
        outcome = await tools.call(["demo", "other"], "add", arguments='{"a": 1, "b": 1}')
        assert outcome.text == "2"


async def test_unknown_tool_is_not_found_while_another_server_cannot_be_reached() -> None:
    async with nothing_left(), toolbox_of({"demo": forked(), "gone": refused()}) as tools:
        outcome = await tools.call(["gone", "demo"], "nothing", arguments="{}")
        assert outcome == ToolOutcome("Error: there is no tool nothing", "error", "NOT_FOUND")
        assert (await tools.call(["gone"], "nothing", arguments="{}")).code == "SERVICE_UNAVAILABLE"


async def test_a_server_that_starts_too_slowly_holds_nobody_up_for_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("chat_app.tools.owner.WAIT_SECONDS", 0.05)
    silent = CommandServer((sys.executable, "-c", "import sys; sys.stdin.read()"))
    async with nothing_left(), toolbox_of({"demo": silent}) as tools:
        assert await tools.available_tools(SERVERS) == ()
        assert await added(tools) == GONE


async def test_a_server_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chat_app.tools.session.OPEN_SECONDS", 0.2)
    before = children()
    silent = CommandServer((sys.executable, "-c", "import sys; sys.stdin.read()"))
    async with toolbox_of({"demo": silent}) as tools:
        assert await added(tools) == GONE
        await eventually(lambda: children() == before)


@pytest.mark.parametrize("options", [(), ("--stubborn",)], ids=["ends", "ignores its end"])
async def test_closing_leaves_no_trace_of_a_process(
    options: tuple[str, ...], impatient: None
) -> None:
    async with nothing_left(), toolbox_of({"demo": forked(*options)}) as tools:
        call = await hanging(tools)
        await tools.close()
        assert await call == GONE


async def test_closing_leaves_no_trace_of_an_http_connection(http: HttpToolServer) -> None:
    async with nothing_left(), toolbox_of({"demo": HttpServer(http.url)}) as tools:
        call = await hanging(tools)
        await tools.close()
        assert await call == GONE


async def test_closing_an_opening_leaves_no_trace() -> None:
    before = children()
    async with nothing_left(), toolbox_of({"demo": forked()}) as tools:
        call = asyncio.create_task(added(tools))
        await eventually(lambda: children() != before)
        await tools.close()
        assert await call == GONE


async def test_a_server_that_reads_no_more_delays_neither_timeouts_nor_the_end(
    impatient: None, settings: Any
) -> None:
    before = children()
    async with nothing_left(), toolbox_of({"demo": ANEW}) as tools:
        await added(tools)
        (stopped,) = children() - before
        os.kill(stopped, signal.SIGSTOP)
        settings.MCP_CALL_SECONDS = 0.05
        # Larger than a pipe's buffer.
        outcome = await tools.call(SERVERS, "echo", arguments=json.dumps({"text": "x" * 1_000_000}))
        assert outcome.status == "timeout"
        assert (await added(tools)).status == "timeout"


async def test_after_closing_the_next_call_opens_anew() -> None:
    async with toolbox_of({"demo": forked()}) as tools:
        assert (await added(tools)).text == "3"
        await tools.close()
        assert (await added(tools)).text == "3"


@pytest.mark.parametrize("closed", [True, False])
def test_each_event_loop_has_servers_of_its_own_that_end_with_it(closed: bool) -> None:
    before, files = children(), open_files()
    server = forked()
    tools = McpToolbox(servers=lambda: {"demo": server})

    async def use() -> str:
        outcome = await added(tools)
        if closed:
            await tools.close()
        return outcome.text

    for _ in range(2):
        assert asyncio.run(use()) == "3"
        assert children() == before
        assert open_files() <= files
