"""When a server is opened, again or not yet, and when its tools are listed: with servers that do as
they are told, and a clock that a test moves."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import anyio
import pytest

from chat_app.tools import ToolOutcome
from chat_app.tools.owner import MAX_PAUSE_SECONDS, WAIT_SECONDS, SessionOwner
from chat_app.tools.servers import CommandServer, Server
from chat_app.tools.session import Session, SessionEnded, SessionForgotten
from chat_app.values.model_call import Tool

ECHO = Tool("echo", "Gives back the text.", {"type": "object"})


class Scripted:
    """Opens servers and is each of them; the test says how it goes."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.openings = 0
        self.listings = 0
        self.open = 0
        self.calls: list[str] = []
        self.refuses = False
        self.forgets = False
        self.tells = True
        self.lists = (ECHO,)
        self.ready = asyncio.Event()
        self.ready.set()
        self.may_close = asyncio.Event()
        self.may_close.set()
        self.breaks: asyncio.Event
        self.ended: Callable[[str], None]
        self.changed: Callable[[], None]

    def clock(self) -> float:
        return self.now

    @asynccontextmanager
    async def connect(
        self, server: Server, *, ended: Callable[[str], None], changed: Callable[[], None]
    ) -> AsyncIterator["Scripted"]:
        self.openings += 1
        self.ended, self.changed = ended, changed
        await self.ready.wait()
        if self.refuses:
            raise ConnectionRefusedError("nobody there")
        self.open += 1
        self.breaks = asyncio.Event()
        async with anyio.create_task_group() as transport:
            transport.start_soon(self._broken, self.breaks)
            try:
                yield self
            finally:
                with anyio.CancelScope(shield=True):
                    await self.may_close.wait()
                self.open -= 1
                transport.cancel_scope.cancel()

    async def _broken(self, breaks: asyncio.Event) -> None:
        """Ends as the SDK's transport does: it takes with it whoever opened it."""
        await breaks.wait()
        raise ConnectionResetError("cut")

    async def tools(self) -> tuple[Tool, ...]:
        self.listings += 1
        return self.lists

    async def watch(self) -> None:
        if self.tells:
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
async def script() -> Scripted:
    return Scripted()


@pytest.fixture
async def owner(script: Scripted) -> AsyncIterator[SessionOwner]:
    owner = SessionOwner("demo", CommandServer(("x",)), connect=script.connect, clock=script.clock)
    yield owner
    script.may_close.set()
    await owner.close()
    assert script.open == 0


async def fails(owner: SessionOwner) -> str:
    with pytest.raises(SessionEnded) as caught:
        await owner.call("echo", {}, seconds=5)
    return str(caught.value)


async def test_failed_openings_are_followed_by_pauses_that_double(
    owner: SessionOwner, script: Scripted
) -> None:
    script.refuses = True
    opened_at = []
    for _ in range(4000):
        before = script.openings
        assert await fails(owner) == "ConnectionRefusedError: nobody there"
        if script.openings > before:
            opened_at.append(script.now)
        script.now += 0.05
    pauses = [later - earlier for earlier, later in pairwise(opened_at)]
    expected = [0.25, 0.5, 1, 2, 4, 8, 16, MAX_PAUSE_SECONDS, MAX_PAUSE_SECONDS]
    assert pauses[: len(expected)] == pytest.approx(expected, abs=0.06)


async def test_a_pause_is_forgotten_once_an_opening_succeeds(
    owner: SessionOwner, script: Scripted
) -> None:
    script.refuses = True
    for _ in range(3):
        await fails(owner)
        script.now += 10
    script.refuses = False
    assert (await owner.call("echo", {}, seconds=5)).text == "echo"
    script.ended("broken")
    script.refuses = True
    openings = script.openings
    await fails(owner)
    script.now += 0.3
    await fails(owner)
    assert script.openings == openings + 2
    script.refuses = False
    script.now += 10
    assert (await owner.call("echo", {}, seconds=5)).text == "echo"


async def test_ended_open_session_is_reopened_without_a_pause(
    owner: SessionOwner, script: Scripted
) -> None:
    for expected in (1, 2, 3):
        with pytest.raises(SessionEnded):
            await owner.call("ends", {}, seconds=5)
        assert script.openings == expected


async def test_calls_that_are_on_are_told_when_the_connection_ends(
    owner: SessionOwner, script: Scripted
) -> None:
    call = asyncio.create_task(owner.call("hangs", {}, seconds=100))
    while not script.calls:
        await asyncio.sleep(0)
    await owner.close()
    with pytest.raises(SessionEnded, match="it was closed"):
        await call


async def test_a_transport_that_breaks_is_left_behind_at_once_however_long_it_takes_to_close(
    owner: SessionOwner, script: Scripted, caplog: pytest.LogCaptureFixture
) -> None:
    script.may_close.clear()
    call = asyncio.create_task(owner.call("hangs", {}, seconds=100))
    while not script.calls:
        await asyncio.sleep(0)
    script.breaks.set()
    with pytest.raises(SessionEnded, match="the connection was lost"):
        await call
    assert (await owner.call("echo", {}, seconds=5)).text == "echo"
    assert (script.openings, script.open) == (2, 2)
    script.may_close.set()
    while script.open > 1:
        await asyncio.sleep(0)
    assert (await owner.call("echo", {}, seconds=5)).text == "echo"
    assert script.openings == 2
    assert "MCP server demo: ConnectionResetError: cut" in caplog.text


async def test_a_call_that_met_a_forgotten_session_is_made_once_more(
    owner: SessionOwner, script: Scripted
) -> None:
    assert (await owner.call("forgets", {}, seconds=5)).text == "forgets"
    assert (script.calls, script.openings) == (["forgets", "forgets"], 2)


async def test_a_call_is_made_no_third_time(owner: SessionOwner, script: Scripted) -> None:
    script.forgets = True
    with pytest.raises(SessionForgotten):
        await owner.call("forgets", {}, seconds=5)
    assert script.calls == ["forgets", "forgets"]


async def test_callers_wait_at_most_the_limit_from_the_start_of_an_opening(
    owner: SessionOwner, script: Scripted
) -> None:
    script.ready.clear()
    patient = asyncio.create_task(owner.call("echo", {}, seconds=5))
    while not script.openings:
        await asyncio.sleep(0)
    script.now += WAIT_SECONDS
    assert await fails(owner) == "it is still starting"
    script.ready.set()
    assert (await patient).text == "echo"
    assert (await owner.call("echo", {}, seconds=5)).text == "echo"
    assert script.openings == 1


async def test_a_session_that_is_closed_before_it_began_opens_nothing(script: Scripted) -> None:
    session = Session("demo", CommandServer(("x",)), connect=script.connect)
    await session.close()
    assert (session.ended, script.openings) == ("it was closed", 0)


async def test_a_session_that_is_closed_while_it_opens_is_given_time_to_end_well(
    owner: SessionOwner, script: Scripted
) -> None:
    script.ready.clear()
    call = asyncio.create_task(owner.call("echo", {}, seconds=5))
    while not script.openings:
        await asyncio.sleep(0)
    closing = asyncio.create_task(owner.close())
    with pytest.raises(SessionEnded, match="it was closed"):
        await call
    script.ready.set()
    await closing
    assert (script.listings, script.open) == (1, 0)


async def test_tools_are_listed_once_while_nothing_changes(
    owner: SessionOwner, script: Scripted
) -> None:
    for _ in range(3):
        assert await owner.tools() == (ECHO,)
    assert script.listings == 1


async def test_tools_are_listed_again_after_a_change(owner: SessionOwner, script: Scripted) -> None:
    await owner.tools()
    script.lists = ()
    script.changed()
    assert await owner.tools() == ()
    assert await owner.tools() == ()
    assert script.listings == 2


async def test_tools_are_listed_each_time_if_changes_are_not_told(
    owner: SessionOwner, script: Scripted
) -> None:
    script.tells = False
    await owner.tools()
    before = script.listings
    await owner.tools()
    await owner.tools()
    assert script.listings == before + 2
