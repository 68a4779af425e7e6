"""When sessions are opened and reopened and tools listed, with fake servers and a fake clock."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import anyio
import pytest

from chat_app.tools import ToolOutcome
from chat_app.tools.owner import MAX_PAUSE_SECONDS, WAIT_SECONDS, SessionOwner
from chat_app.tools.servers import BUNDLED, CommandServer, Server
from chat_app.tools.session import OPEN_SECONDS, Session, SessionEnded, SessionForgotten
from chat_app.values.model_call import Tool

ECHO = Tool("echo", "Gives back the text.", {"type": "object"})


class FakeMcpServer:
    """A fake connector and session that a test controls."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.openings = 0
        self.listings = 0
        self.open = 0
        self.calls: list[str] = []
        self.refuses = False
        self.forgets = False
        self.notifies_changes = True
        self.offered_tools = (ECHO,)
        self.ready = asyncio.Event()
        self.ready.set()
        self.may_close = asyncio.Event()
        self.may_close.set()
        self.transport_breaks: asyncio.Event
        self.ended: Callable[[str], None]
        self.changed: Callable[[], None]

    def clock(self) -> float:
        return self.now

    @asynccontextmanager
    async def connect(
        self, server: Server, *, ended: Callable[[str], None], changed: Callable[[], None]
    ) -> AsyncIterator["FakeMcpServer"]:
        self.openings += 1
        self.ended, self.changed = ended, changed
        await self.ready.wait()
        if self.refuses:
            raise ConnectionRefusedError("nobody there")
        self.open += 1
        self.transport_breaks = asyncio.Event()
        async with anyio.create_task_group() as transport:
            transport.start_soon(self._fail_transport, self.transport_breaks)
            try:
                yield self
            finally:
                with anyio.CancelScope(shield=True):
                    await self.may_close.wait()
                self.open -= 1
                transport.cancel_scope.cancel()

    async def _fail_transport(self, breaks: asyncio.Event) -> None:
        """Fail like a transport of the SDK, which cancels the task that opened it."""
        await breaks.wait()
        raise ConnectionResetError("cut")

    async def tools(self) -> tuple[Tool, ...]:
        self.listings += 1
        return self.offered_tools

    async def watch(self) -> None:
        if self.notifies_changes:
            await asyncio.Event().wait()

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolOutcome:
        self.calls.append(name)
        match name:
            case "forgets" if len(self.calls) == 1 or self.forgets:
                self.ended("forgotten")
                raise SessionForgotten("forgotten")
            case "ends":
                self.ended("broken")
                raise SessionEnded("broken")
            case "hangs":
                await asyncio.Event().wait()
        return ToolOutcome(name)


@pytest.fixture
async def fake_server() -> FakeMcpServer:
    return FakeMcpServer()


@pytest.fixture
async def owner(fake_server: FakeMcpServer) -> AsyncIterator[SessionOwner]:
    owner = SessionOwner(
        "demo", CommandServer(("x",)), connect=fake_server.connect, clock=fake_server.clock
    )
    yield owner
    fake_server.may_close.set()
    await owner.close()
    assert fake_server.open == 0


async def call_and_get_error(owner: SessionOwner) -> str:
    with pytest.raises(SessionEnded) as raised:
        await owner.call("echo", {}, seconds=5)
    return str(raised.value)


async def test_failed_openings_are_followed_by_pauses_that_double(
    owner: SessionOwner, fake_server: FakeMcpServer
) -> None:
    fake_server.refuses = True
    opened_at = []
    for _ in range(4000):
        before = fake_server.openings
        assert await call_and_get_error(owner) == "ConnectionRefusedError: nobody there"
        if fake_server.openings > before:
            opened_at.append(fake_server.now)
        fake_server.now += 0.05
    pauses = [later - earlier for earlier, later in pairwise(opened_at)]
    expected = [0.25, 0.5, 1, 2, 4, 8, 16, MAX_PAUSE_SECONDS, MAX_PAUSE_SECONDS]
    assert pauses[: len(expected)] == pytest.approx(expected, abs=0.06)


async def test_successful_opening_resets_the_pause(
    owner: SessionOwner, fake_server: FakeMcpServer
) -> None:
    fake_server.refuses = True
    for _ in range(3):
        await call_and_get_error(owner)
        fake_server.now += 10
    fake_server.refuses = False
    assert (await owner.call("echo", {}, seconds=5)).text == "echo"
    fake_server.ended("broken")
    fake_server.refuses = True
    openings = fake_server.openings
    await call_and_get_error(owner)
    fake_server.now += 0.3
    await call_and_get_error(owner)
    assert fake_server.openings == openings + 2
    fake_server.refuses = False
    fake_server.now += 10
    assert (await owner.call("echo", {}, seconds=5)).text == "echo"


async def test_ended_open_session_is_reopened_without_a_pause(
    owner: SessionOwner, fake_server: FakeMcpServer
) -> None:
    for expected in (1, 2, 3):
        with pytest.raises(SessionEnded):
            await owner.call("ends", {}, seconds=5)
        assert fake_server.openings == expected


async def test_running_calls_fail_when_the_connection_is_closed(
    owner: SessionOwner, fake_server: FakeMcpServer
) -> None:
    call = asyncio.create_task(owner.call("hangs", {}, seconds=100))
    while not fake_server.calls:
        await asyncio.sleep(0)
    await owner.close()
    with pytest.raises(SessionEnded, match="it was closed"):
        await call


async def test_broken_transport_is_replaced_before_it_has_closed(
    owner: SessionOwner, fake_server: FakeMcpServer, caplog: pytest.LogCaptureFixture
) -> None:
    fake_server.may_close.clear()
    call = asyncio.create_task(owner.call("hangs", {}, seconds=100))
    while not fake_server.calls:
        await asyncio.sleep(0)
    fake_server.transport_breaks.set()
    with pytest.raises(SessionEnded, match="the connection was lost"):
        await call
    assert (await owner.call("echo", {}, seconds=5)).text == "echo"
    assert (fake_server.openings, fake_server.open) == (2, 2)
    fake_server.may_close.set()
    while fake_server.open > 1:
        await asyncio.sleep(0)
    assert (await owner.call("echo", {}, seconds=5)).text == "echo"
    assert fake_server.openings == 2
    assert "MCP server demo: ConnectionResetError: cut" in caplog.text


async def test_call_in_a_forgotten_session_is_repeated_once(
    owner: SessionOwner, fake_server: FakeMcpServer
) -> None:
    assert (await owner.call("forgets", {}, seconds=5)).text == "forgets"
    assert (fake_server.calls, fake_server.openings) == (["forgets", "forgets"], 2)


async def test_call_is_not_repeated_twice(owner: SessionOwner, fake_server: FakeMcpServer) -> None:
    fake_server.forgets = True
    with pytest.raises(SessionForgotten):
        await owner.call("forgets", {}, seconds=5)
    assert fake_server.calls == ["forgets", "forgets"]


async def test_callers_wait_at_most_the_limit_from_the_start_of_an_opening(
    owner: SessionOwner, fake_server: FakeMcpServer
) -> None:
    fake_server.ready.clear()
    patient = asyncio.create_task(owner.call("echo", {}, seconds=5))
    while not fake_server.openings:
        await asyncio.sleep(0)
    fake_server.now += WAIT_SECONDS
    assert await call_and_get_error(owner) == "it is still starting"
    fake_server.ready.set()
    assert (await patient).text == "echo"
    assert (await owner.call("echo", {}, seconds=5)).text == "echo"
    assert fake_server.openings == 1


async def test_callers_wait_until_the_bundled_server_is_open(fake_server: FakeMcpServer) -> None:
    fake_server.ready.clear()
    owner = SessionOwner("demo", BUNDLED, connect=fake_server.connect, clock=fake_server.clock)
    opening = asyncio.create_task(owner.tools())
    while not fake_server.openings:
        await asyncio.sleep(0)
    fake_server.now += OPEN_SECONDS - 1
    late = asyncio.create_task(owner.tools())
    for _ in range(5):
        await asyncio.sleep(0)
    fake_server.ready.set()
    assert await late == await opening == (ECHO,)
    await owner.close()


async def test_session_closed_before_its_start_opens_nothing(fake_server: FakeMcpServer) -> None:
    session = Session("demo", CommandServer(("x",)), connect=fake_server.connect)
    await session.close()
    assert (session.ended, fake_server.openings) == ("it was closed", 0)


async def test_session_closed_while_opening_is_closed_cleanly(
    owner: SessionOwner, fake_server: FakeMcpServer
) -> None:
    fake_server.ready.clear()
    call = asyncio.create_task(owner.call("echo", {}, seconds=5))
    while not fake_server.openings:
        await asyncio.sleep(0)
    close_task = asyncio.create_task(owner.close())
    with pytest.raises(SessionEnded, match="it was closed"):
        await call
    fake_server.ready.set()
    await close_task
    assert (fake_server.listings, fake_server.open) == (1, 0)


async def test_tools_are_listed_once_while_nothing_changes(
    owner: SessionOwner, fake_server: FakeMcpServer
) -> None:
    for _ in range(3):
        assert await owner.tools() == (ECHO,)
    assert fake_server.listings == 1


async def test_tools_are_listed_again_after_a_change(
    owner: SessionOwner, fake_server: FakeMcpServer
) -> None:
    await owner.tools()
    fake_server.offered_tools = ()
    fake_server.changed()
    assert await owner.tools() == ()
    assert await owner.tools() == ()
    assert fake_server.listings == 2


async def test_tools_are_listed_each_time_without_change_notifications(
    owner: SessionOwner, fake_server: FakeMcpServer
) -> None:
    fake_server.notifies_changes = False
    await owner.tools()
    before = fake_server.listings
    await owner.tools()
    await owner.tools()
    assert fake_server.listings == before + 2
