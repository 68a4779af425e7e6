"""What a model call is around its SDK: the end of its stream, and its failures."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable
from contextlib import aclosing, suppress

from chat_app.clients.base import ProviderEvent
from chat_app.clients.failures import failure
from chat_app.clients.gate import Route

# An answer may be there whole, in process above all, and reading it must keep nobody waiting.
_EVENTS_AT_ONCE = 20
# How long a provider may take to close a stream that it has ended.
_CLOSING_SECONDS = 0.5


async def call(
    events: AsyncGenerator[ProviderEvent, None], route: Route
) -> AsyncGenerator[ProviderEvent, None]:
    """The events of a call, and ChatError for whatever it raises."""
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
