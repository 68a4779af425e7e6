"""One connection to an MCP server, from its opening to its end, in a task of its own.

The SDK wants a connection closed by the task that opened it, and when a transport breaks it cancels
that task. So one task owns the connection, calls are its children, and a caller waits for a
future: the only cancellation that comes to a caller is the caller's own.
"""

import asyncio
import contextvars
import logging
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, Protocol, TypeVar

import anyio
from anyio.abc import TaskGroup

from chat_app.tools import Outcome
from chat_app.tools.servers import Server
from chat_app.values.model_call import Tool

log = logging.getLogger(__name__)

T = TypeVar("T")

# Some servers are downloaded when they are first started.
OPEN_SECONDS: Final = 60.0
LIST_SECONDS: Final = 10.0
# For answers that are on their way and a goodbye. What ends a process has limits of its own.
CLOSE_SECONDS: Final = 2.0
CLOSED: Final = "it was closed"
LOST: Final = "the connection was lost"


class SessionEnded(Exception):
    """There is no connection, or no longer; the message says why."""


class SessionForgotten(SessionEnded):
    """The server knows the session no more, and did not do what it was asked."""


class Connection(Protocol):
    """What a session asks of an open server; raises SessionEnded when that is gone."""

    async def tools(self) -> tuple[Tool, ...]: ...

    async def watch(self) -> None: ...

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Outcome: ...


class Connect(Protocol):
    """Opens a server and closes it at the end. `ended` is told why, once nothing can be asked any
    more; `changed` is called when the list of tools is another."""

    def __call__(
        self, server: Server, *, ended: Callable[[str], None], changed: Callable[[], None]
    ) -> AbstractAsyncContextManager[Connection]: ...


class Session:
    """A connection that is being opened, is open, or has ended; it never opens again.

    `attempt` counts the openings before this one that failed, one after another.
    """

    def __init__(
        self,
        name: str,
        server: Server,
        *,
        connect: Connect,
        attempt: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = name
        self.attempt = attempt
        self.began = clock()
        # Why it ended, and when.
        self.ended: str | None = None
        self.ended_at = math.inf
        self.was_open = False
        # Set once it is open or has ended.
        self.settled = asyncio.Event()
        self._server = server
        self._connect = connect
        self._clock = clock
        self._over = asyncio.Event()
        self._closing = False
        # Whether the list of tools has changed, and whether it would be told.
        self._stale = False
        self._told = True
        self._tools: tuple[Tool, ...] = ()
        self._life = anyio.CancelScope()
        self._connection: Connection
        self._group: TaskGroup
        # The owner outlives the first caller, and knows nothing of its context.
        self._owner = asyncio.get_running_loop().create_task(
            self._live(), name=f"MCP server {name}", context=contextvars.Context()
        )

    async def tools(self) -> tuple[Tool, ...]:
        """Its tools, listed anew if they may have changed."""
        if self._stale or not self._told:
            self._stale = False
            try:
                self._tools = await self._ask(lambda server: server.tools(), LIST_SECONDS)
            except BaseException:
                self._stale = True
                raise
        return self._tools

    async def call(self, tool: str, arguments: Mapping[str, Any], *, seconds: float) -> Outcome:
        """Raises TimeoutError, and SessionEnded if the server ends first. Where this ends before
        the call does, the call is cancelled at the server."""
        return await self._ask(lambda server: server.call(tool, arguments), seconds)

    def when_gone(self, callback: Callable[["Session"], None]) -> None:
        """Have this called when nothing is left of it: no process, socket or task."""
        self._owner.add_done_callback(lambda _: callback(self))

    async def close(self) -> None:
        """End it; returns when nothing is left of it."""
        self._closing = True
        self._end(CLOSED)
        if self.was_open:
            self._group.cancel_scope.cancel()
        else:
            # Not at once: a process that is just being started would be left to itself.
            self._life.deadline = anyio.current_time() + CLOSE_SECONDS
        await asyncio.wait({self._owner})

    async def _ask(self, work: Callable[[Connection], Awaitable[T]], seconds: float) -> T:
        if self.ended is not None:
            raise SessionEnded(self.ended)
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        scope = anyio.CancelScope()
        self._group.start_soon(self._work, work, answer, scope)
        try:
            async with asyncio.timeout(seconds):
                return await answer
        finally:
            scope.cancel()

    async def _work(
        self,
        work: Callable[[Connection], Awaitable[T]],
        answer: "asyncio.Future[T]",
        scope: anyio.CancelScope,
    ) -> None:
        """Do this in a child of the owner. Nothing may escape: it would end all other calls."""
        try:
            with scope:
                result = await work(self._connection)
                if not answer.done():
                    answer.set_result(result)
        except Exception as error:
            if not answer.done():
                answer.set_exception(error)
        finally:
            if not answer.done():
                answer.set_exception(SessionEnded(self.ended or LOST))

    async def _live(self) -> None:
        reason = ""
        try:
            if self._over.is_set():
                return
            with self._life as life:
                life.deadline = anyio.current_time() + OPEN_SECONDS
                async with (
                    self._connect(
                        self._server, ended=self._end, changed=self._change
                    ) as self._connection,
                    anyio.create_task_group() as self._group,
                ):
                    self._tools = await self._connection.tools()
                    self.was_open = True
                    self.settled.set()
                    life.deadline = math.inf
                    watching = anyio.CancelScope()
                    self._group.start_soon(self._watch, watching)
                    try:
                        await self._over.wait()
                    finally:
                        # A transport that breaks comes by here as a cancellation.
                        self._end(LOST)
                    watching.cancel()
                    life.deadline = anyio.current_time() + CLOSE_SECONDS
            if life.cancelled_caught and not self.was_open:
                reason = f"it was not open after {OPEN_SECONDS:g} s"
        except asyncio.CancelledError:
            # Nobody cancels the owner but an event loop that ends.
            self._closing = True
            raise
        except Exception as error:
            reason = _cause(error)
        finally:
            self._end(reason or LOST)
            if self.was_open and not self._closing:
                log.warning("MCP server %s: %s", self.name, reason or self.ended)

    async def _watch(self, scope: anyio.CancelScope) -> None:
        with scope:
            await self._connection.watch()
            self._told = False

    def _change(self) -> None:
        self._stale = True

    def _end(self, reason: str) -> None:
        """Take note of the end, the first time that it is heard of, and let nobody wait."""
        if self.ended is None:
            self.ended = reason
            self.ended_at = self._clock()
        self._over.set()
        self.settled.set()


def _cause(error: BaseException) -> str:
    """The first of the errors in a group of groups, in one line."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
