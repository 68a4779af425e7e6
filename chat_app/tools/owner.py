"""A server on one event loop: one session at a time, opened when it is needed, again after it
ended, and not at once after it failed."""

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from chat_app.tools import Outcome
from chat_app.tools.servers import Server
from chat_app.tools.session import Connect, Session, SessionEnded, SessionForgotten
from chat_app.values.model_call import Tool

# How long anybody waits for an opening, from its begin. It goes on without them.
WAIT_SECONDS: Final = 10.0
# The pause after a failed opening doubles with each further one.
FIRST_PAUSE_SECONDS: Final = 0.25
LONGEST_PAUSE_SECONDS: Final = 30.0
# Of the event loop, from the end of a pipe to that of a session: six, and as many to spare.
TURNS: Final = 12


class Owner:
    """The sessions with one server. To be used on the event loop on which it was made."""

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
        # Those of which something is left; one that ended may take a while to go.
        self._sessions: set[Session] = set()

    async def tools(self) -> tuple[Tool, ...]:
        """Raises SessionEnded if the server cannot be reached."""
        session = await self._open_session()
        try:
            return await session.tools()
        except TimeoutError:
            raise SessionEnded("it does not list its tools") from None

    async def call(self, tool: str, arguments: Mapping[str, Any], *, seconds: float) -> Outcome:
        """Raises TimeoutError; SessionEnded if the server cannot be reached or ends meanwhile. The
        seconds count from when the server is open."""
        session = await self._open_session()
        try:
            return await session.call(tool, arguments, seconds=seconds)
        except SessionForgotten:
            # It was restarted and has not done this: once more, with a session that it knows.
            session = await self._open_session()
            return await session.call(tool, arguments, seconds=seconds)

    async def close(self) -> None:
        """End all sessions; returns when nothing is left of them."""
        await asyncio.gather(*(session.close() for session in self._sessions))

    async def _open_session(self) -> Session:
        await self._hear()
        session = self._session()
        left = session.began + WAIT_SECONDS - self._clock()
        try:
            async with asyncio.timeout(max(left, 0.0)):
                await session.settled.wait()
        except TimeoutError:
            raise SessionEnded("it is still starting") from None
        if session.ended is not None:
            raise SessionEnded(session.ended)
        return session

    async def _hear(self) -> None:
        """Let an end that has come already make its way through the SDK's tasks: a call that meets
        it is lost, and nobody could say whether the server had heard it."""
        if self._latest is not None and self._latest.settled.is_set():
            for _ in range(TURNS):
                await asyncio.sleep(0)

    def _session(self) -> Session:
        """The session that is open or on its way, else a new one."""
        latest = self._latest
        attempt = 0
        if latest is not None:
            if latest.ended is None:
                return latest
            if not latest.was_open:
                attempt = latest.attempt + 1
                if self._clock() < latest.ended_at + _pause(attempt):
                    raise SessionEnded(latest.ended)
        session = Session(
            self._name, self._server, connect=self._connect, attempt=attempt, clock=self._clock
        )
        self._latest = session
        self._sessions.add(session)
        session.when_gone(self._sessions.discard)
        return session


def _pause(failures: int) -> float:
    """Seconds between a failed opening and the next; `failures` in a row, at least one."""
    return min(FIRST_PAUSE_SECONDS * 2 ** min(failures - 1, 30), LONGEST_PAUSE_SECONDS)
