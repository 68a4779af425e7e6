"""The numbered events of a run that is alive in this process, and their followers."""

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from datetime import datetime
from threading import Lock
from typing import Any, Final, Generic, TypeVar
from uuid import UUID

from django.utils import timezone

T = TypeVar("T")


class Feed(Generic[T]):
    """An append-only list: one thread publishes, any number of event loops follow.

    A follower costs one index into the list, however slow it is, and one wake-up for all items
    that came while it slept. `ended` is true once the last item is published.
    """

    def __init__(self) -> None:
        self.ended = False
        self._items: list[T] = []
        self._lock = Lock()
        self._waiting: set[asyncio.Future[None]] = set()

    def publish(self, item: T, *, last: bool = False) -> None:
        """Append an item and wake all followers; they end after the last item."""
        with self._lock:
            self._items.append(item)
            self.ended = last
            waiting, self._waiting = self._waiting, set()
        for future in waiting:
            # A closed loop has no followers left.
            with contextlib.suppress(RuntimeError):
                future.get_loop().call_soon_threadsafe(_wake, future)

    async def follow(self, start: int = 0) -> AsyncGenerator[T, None]:
        """Yield every item from index `start` on as it comes, up to the last."""
        index = start
        while True:
            # Read first: after the end, all items are in the list.
            ended = self.ended
            while index < len(self._items):
                yield self._items[index]
                index += 1
            if ended:
                return
            await self._wait_for_item(index)

    async def _wait_for_item(self, index: int) -> None:
        """Wait until there is an item at `index`, or the feed has ended."""
        future = asyncio.get_running_loop().create_future()
        with self._lock:
            if self.ended or index < len(self._items):
                return
            self._waiting.add(future)
        try:
            await future
        finally:
            with self._lock:
                self._waiting.discard(future)


def _wake(future: "asyncio.Future[None]") -> None:
    """Let the task go on that waits for this future, unless it was woken or cancelled."""
    if not future.done():
        future.set_result(None)


TERMINAL: Final = frozenset({"done", "error"})


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """One event of a run; `seq` counts from 1, `payload` is the sent JSON without `type`."""

    seq: int
    type: str
    payload: Mapping[str, Any]
    at: datetime

    @property
    def is_terminal(self) -> bool:
        """True if it ends its run."""
        return self.type in TERMINAL


class RunLog(Generic[T]):
    """A run's events in order. One thread publishes, any event loop follows.

    An event may have a source: the value that it was made from, which may hold more than its
    payload. A source that is published alone gets no number and is not stored.
    """

    def __init__(self) -> None:
        self._feed: Feed[tuple[LoggedEvent | None, T | None]] = Feed()
        self._last = 0

    def next_event(self, type: str, payload: Mapping[str, Any]) -> LoggedEvent:
        """Return a new event, not published yet, with the number after the last published one."""
        return LoggedEvent(self._last + 1, type, payload, timezone.now())

    @property
    def ended(self) -> bool:
        return self._feed.ended

    def publish(self, event: LoggedEvent, source: T | None = None) -> None:
        """Append an event made by `next_event`, and the value that it was made from; a terminal one
        ends the log."""
        self._last += 1
        self._feed.publish((event, source), last=event.is_terminal)

    def publish_source(self, source: T) -> None:
        """Publish a source without an event: it has no number and is not stored."""
        self._feed.publish((None, source))

    async def follow(self, after: int = 0) -> AsyncGenerator[LoggedEvent, None]:
        """Yield the events after that number as they come, and always the terminal one."""
        async for event, _ in self._feed.follow():
            if event is not None and (event.seq > after or event.is_terminal):
                yield event

    async def sources(self) -> AsyncGenerator[T, None]:
        """Yield all sources from the first on as they come."""
        async for _, source in self._feed.follow():
            if source is not None:
                yield source


# The logs of the runs that are alive in this process, until their events are all stored.
live_logs: dict[UUID, RunLog[Any]] = {}

# A forked child inherits the logs of its parent's runs, but not the runs.
os.register_at_fork(after_in_child=live_logs.clear)
