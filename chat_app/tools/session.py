"""One connection to an MCP server, from its opening to its end, owned by a separate task.

The SDK requires that the task that opened a connection closes it, and cancels that task if the
transport breaks. So one task owns the connection, calls are its children, and callers wait for
futures, so that they are never cancelled by the SDK.
"""

import asyncio
import contextvars
import logging
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, Protocol, TypeAlias, TypeVar

import anyio
from anyio.abc import TaskGroup

from chat_app.tools import ToolOutcome
from chat_app.tools.servers import Server
from chat_app.values.model_call import Tool

log = logging.getLogger(__name__)

T = TypeVar("T")

# Some servers are downloaded when they are first started.
OPEN_SECONDS: Final = 60.0
LIST_SECONDS: Final = 10.0
# For pending answers and the goodbye. Ending a process has separate limits.
CLOSE_SECONDS: Final = 2.0
CLOSED: Final = "it was closed"
LOST: Final = "the connection was lost"


class SessionEnded(Exception):
    """There is no connection (any more); the message says why."""


class SessionForgotten(SessionEnded):
    """The server does not know the session any more, and did not run the call."""


class Connection(Protocol):
    """An open connection to a server; its methods raise SessionEnded if the server is gone. `watch`
    waits for changes of the tools, and returns only once they are no longer reported."""

    async def tools(self) -> tuple[Tool, ...]: ...

    async def watch(self) -> None: ...

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolOutcome: ...


# Opens a server and closes it at the end, as `mcp.open_connection` does.
Connect: TypeAlias = Callable[..., AbstractAsyncContextManager[Connection]]


class Session:
    """A connection that is being opened, is open, or has ended; it never opens again. `attempt` is
    the number of failed openings in a row before this one."""

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
        # The reason of its end, or None, and the time.
        self.ended: str | None = None
        self.ended_at = math.inf
        self.was_open = False
        # Set once it is open or has ended.
        self.settled = asyncio.Event()
        self._server = server
        self._connect = connect
        self._clock = clock
        self._ending = asyncio.Event()
        self._closing = False
        # True if the list of tools has changed; false if changes are not reported.
        self._stale = False
        self._announces_changes = True
        self._tools: tuple[Tool, ...] = ()
        self._lifetime = anyio.CancelScope()
        self._connection: Connection
        self._group: TaskGroup
        # An empty context, because the owner outlives the first caller.
        self._owner = asyncio.get_running_loop().create_task(
            self._run_connection(), name=f"MCP server {name}", context=contextvars.Context()
        )

    async def tools(self) -> tuple[Tool, ...]:
        """Return the tools, listed again if they may have changed. Raises TimeoutError or
        SessionEnded if they cannot be listed."""
        if self._stale or not self._announces_changes:
            self._stale = False
            try:
                self._tools = await self._run_as_child(lambda server: server.tools(), LIST_SECONDS)
            except BaseException:
                self._stale = True
                raise
        return self._tools

    async def call(self, tool: str, arguments: Mapping[str, Any], *, seconds: float) -> ToolOutcome:
        """Call a tool; raises TimeoutError, and SessionEnded if the server ends first. If the
        caller stops waiting, the call is cancelled at the server."""
        return await self._run_as_child(lambda server: server.call(tool, arguments), seconds)

    def on_gone(self, callback: Callable[["Session"], None]) -> None:
        """Call `callback` when the process, sockets and tasks of this session have ended."""
        self._owner.add_done_callback(lambda _: callback(self))

    async def close(self) -> None:
        """End the session; wait until its process, sockets and tasks have ended."""
        self._closing = True
        self._mark_ended(CLOSED)
        if self.was_open:
            self._group.cancel_scope.cancel()
        else:
            # With a delay, or a process that is being started would be orphaned.
            self._lifetime.deadline = anyio.current_time() + CLOSE_SECONDS
        await asyncio.wait({self._owner})

    async def _run_as_child(self, work: Callable[[Connection], Awaitable[T]], seconds: float) -> T:
        """Return the result of work on the connection, run as a task of the session. Raises
        TimeoutError after `seconds`, and SessionEnded."""
        if self.ended is not None:
            raise SessionEnded(self.ended)
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        scope = anyio.CancelScope()
        self._group.start_soon(self._run_work, work, answer, scope)
        try:
            async with asyncio.timeout(seconds):
                return await answer
        finally:
            scope.cancel()

    async def _run_work(
        self,
        work: Callable[[Connection], Awaitable[T]],
        answer: "asyncio.Future[T]",
        scope: anyio.CancelScope,
    ) -> None:
        """Run `work` in a child of the owner; an escaping error would end all calls."""
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

    async def _run_connection(self) -> None:
        """Open the connection, wait until it has to end, and close it, all in the owner's task."""
        reason = ""
        try:
            if self._ending.is_set():
                return
            with self._lifetime as life:
                life.deadline = anyio.current_time() + OPEN_SECONDS
                async with (
                    self._connect(
                        self._server, ended=self._mark_ended, changed=self._mark_tools_stale
                    ) as self._connection,
                    anyio.create_task_group() as self._group,
                ):
                    self._tools = await self._connection.tools()
                    self.was_open = True
                    self.settled.set()
                    life.deadline = math.inf
                    watching = anyio.CancelScope()
                    self._group.start_soon(self._watch_tools, watching)
                    try:
                        await self._ending.wait()
                    finally:
                        # A broken transport arrives here as a cancellation.
                        self._mark_ended(LOST)
                    watching.cancel()
                    life.deadline = anyio.current_time() + CLOSE_SECONDS
            if life.cancelled_caught and not self.was_open:
                reason = f"it was not open after {OPEN_SECONDS:g} s"
        except asyncio.CancelledError:
            # Only the end of the event loop cancels the owner.
            self._closing = True
            raise
        except Exception as error:
            reason = _describe_error(error)
        finally:
            self._mark_ended(reason or LOST)
            if self.was_open and not self._closing:
                log.warning("MCP server %s: %s", self.name, reason or self.ended)

    async def _watch_tools(self, scope: anyio.CancelScope) -> None:
        """Watch the tools; once changes are no longer reported, `tools` lists them at each call."""
        with scope:
            await self._connection.watch()
            self._announces_changes = False

    def _mark_tools_stale(self) -> None:
        self._stale = True

    def _mark_ended(self, reason: str) -> None:
        """Store the first reason of the end, and wake all waiters."""
        if self.ended is None:
            self.ended = reason
            self.ended_at = self._clock()
        self._ending.set()
        self.settled.set()


def _describe_error(error: BaseException) -> str:
    """Return the first error of nested exception groups as one line."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
