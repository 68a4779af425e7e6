"""How much of large bodies one process reads at once: clients that announce one wait their turn."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

# A body of which no more is announced is read at once, beside all that is being read.
SMALL_BODY = 65_536
ROOM_BYTES = 33_554_432
# So long a body waits for others to be read.
TURN_SECONDS = 30.0
# Each that waits costs some memory too.
MOST_WAITING = 64


class NoRoom(Exception):
    """Others' bodies are being read, and were for too long; or too many wait for it."""


class Room:
    """The memory that bodies on their way may take, given out in the order of asking."""

    def __init__(self, size: int = ROOM_BYTES) -> None:
        self._size = self._left = size
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    @asynccontextmanager
    async def taken(self, size: int) -> AsyncIterator[None]:
        """Room for a body of this size; a small one needs none. Raises NoRoom, if only later."""
        size = 0 if size <= SMALL_BODY else min(size, self._size)
        if size:
            await self._take(size)
        try:
            yield
        finally:
            self._left += size
            self._serve()

    async def _take(self, size: int) -> None:
        if len(self._waiting) >= MOST_WAITING:
            raise NoRoom
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((size, turn))
        self._serve()
        try:
            async with asyncio.timeout(TURN_SECONDS):
                await turn
        except BaseException as error:
            if turn.done() and not turn.cancelled():
                self._left += size
            else:
                with suppress(ValueError):
                    self._waiting.remove((size, turn))
            self._serve()
            if isinstance(error, TimeoutError):
                raise NoRoom from None
            raise

    def _serve(self) -> None:
        while self._waiting and self._waiting[0][0] <= self._left:
            size, turn = self._waiting.popleft()
            if not turn.done():
                self._left -= size
                turn.set_result(None)


room = Room()
