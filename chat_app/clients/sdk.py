"""What all clients do around their SDKs: values read without trust, several choices told as one,
the end of a stream, and failures."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterable, Iterable, Iterator
from contextlib import aclosing, contextmanager, suppress
from typing import Any, NoReturn

from chat_app.clients.failures import failure, unreadable
from chat_app.clients.transports import Route
from chat_app.values.model_call import ProviderEvent


def as_object(text: str) -> dict[str, Any]:
    """The object that a text of JSON says. What is none is kept, as text, under `arguments`: the
    model should see what it wrote."""
    try:
        value = json.loads(text, parse_constant=_refuse)
        # Numbers such as 1e999 are read as infinite, and no JSON can say that.
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError):
        return {"arguments": text}
    return value if isinstance(value, dict) else {"arguments": text}


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


@contextmanager
def legible() -> Iterator[None]:
    """An answer is read in here: one that has not the shape of its API cannot be."""
    try:
        yield
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise unreadable() from error


def text(value: object) -> str:
    """A text that may be missing."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    raise TypeError(f"expected a text, got {type(value).__name__}")


def needed(value: object) -> str:
    if found := text(value):
        return found
    raise ValueError("expected a text, got none")


def number(value: object) -> int:
    """The index of something among others, 0 where none is told."""
    if value is None:
        return 0
    if isinstance(value, int):
        return value
    raise TypeError(f"expected a number, got {type(value).__name__}")


def count(value: object) -> int:
    """A number of tokens, 0 where none is told."""
    return value if isinstance(value, int) and value > 0 else 0


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


# An answer may be there whole, in process above all, and reading it must keep nobody waiting.
_EVENTS_AT_ONCE = 20
# How long a provider may take to close a stream that it has ended.
_CLOSING_SECONDS = 0.5


async def call(
    events: AsyncGenerator[ProviderEvent, None], route: Route
) -> AsyncGenerator[ProviderEvent, None]:
    """The events of a call, and ChatError for anything it raises."""
    try:
        async with aclosing(events):
            told = 0
            async for event in events:
                yield event
                told += 1
                if told % _EVENTS_AT_ONCE == 0:
                    await asyncio.sleep(0)
    except Exception as error:
        raise failure(error, key=route.key) from error


async def drained(rest: AsyncIterable[object]) -> None:
    """Read what follows the end of an answer, so that its connection may serve once more."""
    with suppress(Exception):
        async with asyncio.timeout(_CLOSING_SECONDS):
            async for _ in rest:
                pass
