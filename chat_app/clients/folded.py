"""Several choices of one answer told as one, each whole before the next, in the order of index."""

from collections.abc import Iterable

from chat_app.clients.base import ProviderEvent
from chat_app.clients.failures import unreadable


class Folding:
    """The first choice passes straight on; later ones wait for those before them to finish."""

    def __init__(self) -> None:
        self._current = 0
        self._waiting: dict[int, list[ProviderEvent]] = {}
        self._reasons: dict[int, str] = {}

    def tell(self, index: int, events: Iterable[ProviderEvent]) -> list[ProviderEvent]:
        """What of a choice's events, and of those that waited, is to be told now."""
        waiting = self._waiting.setdefault(index, [])
        if index > self._current:
            waiting.extend(events)
            return []
        return list(events)

    def finish(self, index: int, reason: str) -> list[ProviderEvent]:
        """The choice has said why it ended; what waited for that comes now."""
        self._waiting.setdefault(index, [])
        self._reasons[index] = reason
        told: list[ProviderEvent] = []
        while self._current in self._reasons:
            self._current += 1
            told += self._give(self._current)
        return told

    def end(self) -> tuple[list[ProviderEvent], str]:
        """What still waits, and why the answer ended: for its tool calls, if any choice has some.

        Raises ChatError where a choice that began has not said why it ended, and where none began.
        """
        if not self._reasons or self._waiting.keys() - self._reasons.keys():
            raise unreadable()
        rest = [event for index in sorted(self._waiting) for event in self._give(index)]
        reasons = [self._reasons[index] for index in sorted(self._reasons)]
        return rest, "tool_calls" if "tool_calls" in reasons else reasons[-1]

    def _give(self, index: int) -> list[ProviderEvent]:
        waiting = self._waiting.get(index, [])
        events = waiting[:]
        waiting.clear()
        return events
