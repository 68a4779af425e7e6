"""Who goes first where many messages come at once: storing them, before answering any of them."""

import asyncio
import math
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

# How long answers wait for messages at most. Then they are late themselves.
MOST_SECONDS: Final = 0.5
# Messages with so little between them are some of many.
BETWEEN_SECONDS: Final = 0.01


class Gate:
    """In front of answers: shut while messages come in, and for a moment after some of many. To
    store one takes a fraction of what its answer takes, and a hundred clients want to know that
    theirs has begun before the first of them wants its end."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._coming = 0
        self._came_at = -math.inf
        self._open = asyncio.Event()
        self._open.set()
        self._opening: asyncio.TimerHandle | None = None

    @contextmanager
    def shut(self) -> Iterator[None]:
        """While a message comes in."""
        self._coming += 1
        self._open.clear()
        if self._opening is not None:
            self._opening.cancel()
        try:
            yield
        finally:
            self._coming -= 1
            before, self._came_at = self._came_at, self._loop.time()
            if not self._coming:
                alone = self._came_at - before > BETWEEN_SECONDS
                wait = 0.0 if alone else BETWEEN_SECONDS
                self._opening = self._loop.call_later(wait, self._open.set)

    async def passed(self) -> None:
        """Wait until it opens, or long enough."""
        with suppress(TimeoutError):
            async with asyncio.timeout(MOST_SECONDS):
                await self._open.wait()
