"""Owns the session with one server: opened on demand, reopened after its end, with backoff after a
failed opening."""

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from chat_app.tools import ToolOutcome
from chat_app.tools.servers import BUNDLED, Server
from chat_app.tools.session import (
    OPEN_SECONDS,
    Connect,
    Session,
    SessionEnded,
    SessionForgotten,
)
from chat_app.values.model_call import Tool

# Callers wait this long for an opening, counted from its start; the opening goes on. They wait for
# the bundled server until it is open: it needs nothing but time, and without its tools the same
# message would have another answer.
WAIT_SECONDS: Final = 10.0
# The pause after a failed opening doubles with each further one.
FIRST_PAUSE_SECONDS: Final = 0.25
MAX_PAUSE_SECONDS: Final = 30.0
# The end of a pipe ends its session after six turns of the event loop; as many are spare.
EVENT_LOOP_TURNS: Final = 12


class SessionOwner:
    """Opens and reopens the session with one server; used only on the loop that created it."""

    def __init__(
        self,
        name: str,
        server: Server,
        *,
        connect: Connect,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name = name
        self._server = server
        self._connect = connect
        self._clock = clock
        self._latest: Session | None = None
        # Sessions that are not gone completely; an ended one may need some time.
        self._sessions: set[Session] = set()

    async def tools(self) -> tuple[Tool, ...]:
        """Return the server's tools; raises SessionEnded if it cannot be reached."""
        session = await self._wait_for_session()
        try:
            return await session.tools()
        except TimeoutError:
            raise SessionEnded("it does not list its tools") from None

    async def call(self, tool: str, arguments: Mapping[str, Any], *, seconds: float) -> ToolOutcome:
        """Call a tool, again in a new session if the server has forgotten the session; the seconds
        count from the opening of the server. Raises TimeoutError, and SessionEnded if the server
        cannot be reached or ends."""
        session = await self._wait_for_session()
        try:
            return await session.call(tool, arguments, seconds=seconds)
        except SessionForgotten:
            # The server was restarted and did not run the call: retry in a new session.
            session = await self._wait_for_session()
            return await session.call(tool, arguments, seconds=seconds)

    async def close(self) -> None:
        """End all sessions and wait until they have ended completely."""
        await asyncio.gather(*(session.close() for session in self._sessions))

    async def _wait_for_session(self) -> Session:
        """Return the open session, or open one. Raises SessionEnded if that fails or takes longer
        than WAIT_SECONDS, OPEN_SECONDS for the bundled server, and in the pause after a failure."""
        if self._latest is not None and self._latest.settled.is_set():
            # An end that has arrived must be seen now: a call in an ended session would be lost.
            for _ in range(EVENT_LOOP_TURNS):
                await asyncio.sleep(0)
        session = self._current_or_new_session()
        wait = OPEN_SECONDS if self._server == BUNDLED else WAIT_SECONDS
        left = session.began + wait - self._clock()
        try:
            async with asyncio.timeout(max(left, 0.0)):
                await session.settled.wait()
        except TimeoutError:
            raise SessionEnded("it is still starting") from None
        if session.ended is not None:
            raise SessionEnded(session.ended)
        return session

    def _current_or_new_session(self) -> Session:
        """Return the current or a new session; raises SessionEnded in a pause after a failure."""
        latest = self._latest
        attempt = 0
        if latest is not None:
            if latest.ended is None:
                return latest
            if not latest.was_open:
                attempt = latest.attempt + 1
                if self._clock() < latest.ended_at + _pause_seconds(attempt):
                    raise SessionEnded(latest.ended)
        session = Session(
            self._name, self._server, connect=self._connect, attempt=attempt, clock=self._clock
        )
        self._latest = session
        self._sessions.add(session)
        session.on_gone(self._sessions.discard)
        return session


def _pause_seconds(failures: int) -> float:
    """Return the seconds to wait after `failures` failed openings in a row (1 or more)."""
    return min(FIRST_PAUSE_SECONDS * 2 ** min(failures - 1, 30), MAX_PAUSE_SECONDS)
