"""Limits the memory of large request bodies; clients that announce one wait their turn."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

# Bodies up to this size are read without a reservation.
SMALL_BODY = 65_536
BODY_MEMORY_BYTES = 33_554_432
# Time limit of the wait for other bodies.
MAX_WAIT_SECONDS = 30.0
# Waiting requests take memory too.
MAX_WAITING_REQUESTS = 64


class NoBodyMemory(Exception):
    """Bodies of other requests take all memory for too long, or too many requests wait for it."""


class BodyMemory:
    """Memory for request bodies, reserved in the order of requests."""

    def __init__(self, size: int = BODY_MEMORY_BYTES) -> None:
        self._size = self._left = size
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    @asynccontextmanager
    async def reserve(self, size: int) -> AsyncIterator[None]:
        """Reserve memory for a body of this size; small bodies need none. Raises NoBodyMemory,
        maybe after a wait."""
        size = 0 if size <= SMALL_BODY else min(size, self._size)
        if size:
            await self._wait_for_memory(size)
        try:
            yield
        finally:
            self._left += size
            self._grant_waiting()

    async def _wait_for_memory(self, size: int) -> None:
        """Wait until this many bytes are reserved, after earlier requests; raise NoBodyMemory."""
        if len(self._waiting) >= MAX_WAITING_REQUESTS:
            raise NoBodyMemory
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((size, turn))
        self._grant_waiting()
        try:
            async with asyncio.timeout(MAX_WAIT_SECONDS):
                await turn
        except BaseException as error:
            if turn.done() and not turn.cancelled():
                self._left += size
            else:
                with suppress(ValueError):
                    self._waiting.remove((size, turn))
            self._grant_waiting()
            if isinstance(error, TimeoutError):
                raise NoBodyMemory from None
            raise

    def _grant_waiting(self) -> None:
        """Reserve memory for the first waiting requests, as far as it is free."""
        while self._waiting and self._waiting[0][0] <= self._left:
            size, turn = self._waiting.popleft()
            if not turn.done():
                self._left -= size
                turn.set_result(None)


body_memory = BodyMemory()
