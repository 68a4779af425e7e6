"""A list that grows, and those who follow it from any event loop."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")


class Feed(Generic[T]):
    """One thread publishes, anyone follows. A follower costs a place in the list, however slow it
    is, and one wake-up for whatever came while it slept."""

    def __init__(self) -> None:
        self._items: list[T] = []
        self._ended = False
        self._lock = Lock()
        self._waiting: set[asyncio.Future[None]] = set()

    @property
    def ended(self) -> bool:
        """Whether the last item is published."""
        return self._ended

    def __len__(self) -> int:
        return len(self._items)

    def publish(self, item: T, *, last: bool = False) -> None:
        """Give an item to all followers; after the last they end."""
        with self._lock:
            self._items.append(item)
            self._ended = last
            waiting, self._waiting = self._waiting, set()
        for future in waiting:
            # A loop that was closed has nobody left who waits.
            with contextlib.suppress(RuntimeError):
                future.get_loop().call_soon_threadsafe(_wake, future)

    async def follow(self, start: int = 0) -> AsyncGenerator[T, None]:
        """Every item from place `start` on, as it comes, up to the last."""
        place = start
        while True:
            # Asked first: what ended before has all its items in the list.
            ended = self._ended
            while place < len(self._items):
                yield self._items[place]
                place += 1
            if ended:
                return
            await self._beyond(place)

    async def _beyond(self, place: int) -> None:
        """Wait until there is an item at `place`, or no more to come."""
        future = asyncio.get_running_loop().create_future()
        with self._lock:
            if self._ended or place < len(self._items):
                return
            self._waiting.add(future)
        try:
            await future
        finally:
            with self._lock:
                self._waiting.discard(future)


def _wake(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)
