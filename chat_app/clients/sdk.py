"""Shared by all clients: streaming through an SDK, reading untrusted values, merging choices."""

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, contextmanager, suppress
from typing import Any, ClassVar

from chat_app.clients.failures import clear_frames, to_chat_error, unreadable_response
from chat_app.clients.providers import ApiFamily
from chat_app.clients.transports import Route
from chat_app.values.model_call import Finished, ModelRequest, ProviderEvent, ProviderEvents, Tool
from mockllm_site.kit.imports import import_in_thread


def without_unset(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a request without those that are None."""
    return {name: value for name, value in fields.items() if value is not None}


def to_tool(tool: Tool, schema_key: str) -> dict[str, Any]:
    """Return a tool for a request, with the schema of its arguments under this key."""
    return {"name": tool.name, "description": tool.description, schema_key: dict(tool.input_schema)}


def to_object(text: str) -> dict[str, Any]:
    """Return the JSON object in a text, or else `{"arguments": text}`, so that the model sees what
    it wrote."""
    try:
        value = json.loads(text)
        # NaN, and numbers such as 1e999, which are parsed as infinite, are not JSON.
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError):
        return {"arguments": text}
    return value if isinstance(value, dict) else {"arguments": text}


@contextmanager
def unreadable_on_error() -> Iterator[None]:
    """Turn parse errors of an answer into the ChatError for an unreadable one."""
    try:
        yield
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise unreadable_response() from error


def optional_text(value: object) -> str:
    """Return a text, or "" for None; raises TypeError for another type."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    raise TypeError(f"expected a text, got {type(value).__name__}")


def required_text(value: object) -> str:
    """Return a text that is not empty; raises ValueError without one, TypeError for another
    type."""
    if content := optional_text(value):
        return content
    raise ValueError("expected a text, got none")


def optional_index(value: object) -> int:
    """Return an index, or 0 for None; raises TypeError."""
    if value is None:
        return 0
    if isinstance(value, int):
        return value
    raise TypeError(f"expected a number, got {type(value).__name__}")


# No answer has more; scenario documents have the same limit.
MAX_COUNTED_TOKENS = 2**31 - 1


def token_count(value: object) -> int:
    """Return a number of tokens from 1 to MAX_COUNTED_TOKENS, or 0 for any other value."""
    return value if isinstance(value, int) and 0 < value <= MAX_COUNTED_TOKENS else 0


# The loop is released after this many events, since an in-process answer never waits.
_EVENTS_AT_ONCE = 20
# The time that a provider has to close a finished stream.
_CLOSING_SECONDS = 0.5


class EventReader(ABC):
    """Converts the provider's events of one answer; `ended` is true after its terminal event.
    `call_prefix` begins the ids of tool calls for which the provider sends none."""

    ended = False

    def __init__(self, *, call_prefix: str) -> None:
        self._prefix = call_prefix
        # Input and output so far.
        self._tokens = (0, 0)

    @abstractmethod
    def read(self, event: Any) -> ProviderEvents:
        """Yield the chat's events for one event of the provider."""

    @abstractmethod
    def end(self) -> ProviderEvents:
        """Yield the last events after the stream; raises ChatError if it is incomplete."""


class ChoiceReader(EventReader):
    """Merges the choices of an answer into one: each is queued until those before have finished."""

    def __init__(self, *, call_prefix: str) -> None:
        super().__init__(call_prefix=call_prefix)
        self._current = 0
        self._waiting: dict[int, list[ProviderEvent]] = {}
        self._reasons: dict[int, str] = {}

    def end(self) -> ProviderEvents:
        """Yield the queued events and `Finished`; its reason is `tool_calls` if any choice has it.
        Raises ChatError if a choice has no finish reason, or if there was no choice."""
        if not self._reasons or self._waiting.keys() - self._reasons.keys():
            raise unreadable_response()
        for index in sorted(self._waiting):
            yield from self._pop_waiting(index)
        reasons = [self._reasons[index] for index in sorted(self._reasons)]
        reason = "tool_calls" if "tool_calls" in reasons else reasons[-1]
        yield Finished(reason, *self._tokens)

    def _add(self, index: int, events: list[ProviderEvent]) -> list[ProviderEvent]:
        """Queue events of a later choice and return none; return those of the current one."""
        waiting = self._waiting.setdefault(index, [])
        if index <= self._current:
            return events
        waiting += events
        return []

    def _finish_choice(self, index: int, reason: str) -> ProviderEvents:
        """End a choice; yield the queued events of the choices that are next."""
        self._waiting.setdefault(index, [])
        self._reasons[index] = reason
        while self._current in self._reasons:
            self._current += 1
            yield from self._pop_waiting(self._current)

    def _pop_waiting(self, index: int) -> list[ProviderEvent]:
        """Return the queued events of a choice and empty its queue."""
        waiting = self._waiting.get(index, [])
        events = waiting[:]
        waiting.clear()
        return events


class SdkClient(ABC):
    """A client that calls its provider through an SDK, with the address and key of one profile."""

    family: ClassVar[ApiFamily]
    reader: ClassVar[type[EventReader]]

    def __init__(self, route: Route) -> None:
        self.route = route

    @abstractmethod
    async def _open(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterable[Any]]:
        """Send a request and return the stream of the provider's events."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ProviderEvent, None]:
        """Yield the events of one model call in order; `Finished` comes once, last. All errors, and
        a stream that ends without the provider's terminal marker, become ChatError. Closing the
        iterator, or cancelling its task, closes the provider's socket."""
        try:
            async with aclosing(self._response_events(request)) as events:
                count = 0
                async for event in events:
                    yield event
                    count += 1
                    if count % _EVENTS_AT_ONCE == 0:
                        await asyncio.sleep(0)
        except Exception as error:
            failure = to_chat_error(error, key=self.route.key)
            clear_frames(error)
            raise failure from error

    async def aclose(self) -> None:
        """Close the connections of the route."""
        await self.route.aclose()

    async def _response_events(self, request: ModelRequest) -> AsyncGenerator[ProviderEvent, None]:
        """Send the request and yield its events; parse errors become ChatError, others pass."""
        await import_in_thread(self.family.first_import)
        async with self.route.call():
            reader = self.reader(call_prefix=f"call_{len(request.turns)}")
            async with await self._open(request) as stream:
                with unreadable_on_error():
                    async for provider_event in stream:
                        for event in reader.read(provider_event):
                            yield event
                        if reader.ended:
                            await _drain(stream)
                            break
            for event in reader.end():
                yield event


async def _drain(rest: AsyncIterable[object]) -> None:
    """Read the rest of a response for _CLOSING_SECONDS at most, so that its connection can be
    reused; errors are ignored."""
    with suppress(Exception):
        async with asyncio.timeout(_CLOSING_SECONDS):
            async for _ in rest:
                pass
