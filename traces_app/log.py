"""The numbered events of a run while it is alive in this process, for all who follow it."""

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
    """One thread publishes, anyone follows. A follower costs an index into the list, also a slow
    one, and one wake-up for all that came while it slept."""

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
        """Every item from index `start` on, as it comes, up to the last."""
        index = start
        while True:
            # Asked first: what ended before has all its items in the list.
            ended = self._ended
            while index < len(self._items):
                yield self._items[index]
                index += 1
            if ended:
                return
            await self._beyond(index)

    async def _beyond(self, index: int) -> None:
        """Wait until there is an item at `index`, or no more to come."""
        future = asyncio.get_running_loop().create_future()
        with self._lock:
            if self._ended or index < len(self._items):
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


TERMINAL: Final = frozenset({"done", "error"})


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """One event by its number, from 1; `payload` is requirement 004's event without `type`."""

    seq: int
    type: str
    payload: Mapping[str, Any]
    at: datetime

    @property
    def terminal(self) -> bool:
        """Whether it ends its run."""
        return self.type in TERMINAL


class RunLog(Generic[T]):
    """A run's events in order. One thread publishes, anyone follows, from any loop.

    An event may have a source: what the run said, as a value, where its payload has less of it.
    What is passed on has a source alone: it gets no number and is stored nowhere.
    """

    def __init__(self) -> None:
        self._feed: Feed[tuple[LoggedEvent | None, T | None]] = Feed()
        self._last = 0

    def next(self, type: str, payload: Mapping[str, Any]) -> LoggedEvent:
        """The event that comes next, not yet published: its number is the one after the last."""
        return LoggedEvent(self._last + 1, type, payload, timezone.now())

    @property
    def ended(self) -> bool:
        return self._feed.ended

    def publish(self, event: LoggedEvent, source: T | None = None) -> None:
        self._last += 1
        self._feed.publish((event, source), last=event.terminal)

    def pass_on(self, source: T) -> None:
        """Give it to those who follow sources."""
        self._feed.publish((None, source))

    async def follow(self, after: int = 0) -> AsyncGenerator[LoggedEvent, None]:
        """The events after that number as they come, and always the terminal one."""
        async for event, _ in self._feed.follow():
            if event is not None and (event.seq > after or event.terminal):
                yield event

    async def sources(self) -> AsyncGenerator[T, None]:
        """All sources from the first on, as they come."""
        async for _, source in self._feed.follow():
            if source is not None:
                yield source


_live: dict[UUID, RunLog[Any]] = {}


def keep(trace_id: UUID, log: RunLog[Any]) -> None:
    """Let followers find the log of a run that is alive here."""
    _live[trace_id] = log


def drop(trace_id: UUID) -> None:
    """The run's events are all stored."""
    _live.pop(trace_id, None)


def live_log(trace_id: UUID) -> RunLog[Any] | None:
    return _live.get(trace_id)


# A forked child has the logs of its parent's runs and none of the runs.
os.register_at_fork(after_in_child=_live.clear)
