"""The numbered events of a run while it is alive in this process."""

import os
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.utils import timezone

from traces_app.feed import Feed

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


class RunLog:
    """A run's events in order. Whoever makes the run publishes, anyone follows, from any loop."""

    def __init__(self) -> None:
        self._feed: Feed[LoggedEvent] = Feed()

    def next(self, type: str, payload: Mapping[str, Any]) -> LoggedEvent:
        """The event that comes next, not yet published: its number is the one after the last."""
        return LoggedEvent(len(self._feed) + 1, type, payload, timezone.now())

    @property
    def ended(self) -> bool:
        return self._feed.ended

    def publish(self, event: LoggedEvent) -> None:
        self._feed.publish(event, last=event.terminal)

    async def follow(self, after: int = 0) -> AsyncGenerator[LoggedEvent, None]:
        """The events after that number as they come, and always the terminal one."""
        async for event in self._feed.follow():
            if event.seq > after or event.terminal:
                yield event


_live: dict[UUID, RunLog] = {}


def keep(trace_id: UUID, log: RunLog) -> None:
    """Let followers find the log of a run that is alive here."""
    _live[trace_id] = log


def drop(trace_id: UUID) -> None:
    """The run's events are all stored."""
    _live.pop(trace_id, None)


def live_log(trace_id: UUID) -> RunLog | None:
    return _live.get(trace_id)


# A forked child has the logs of its parent's runs and none of the runs.
os.register_at_fork(after_in_child=_live.clear)
