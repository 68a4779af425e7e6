"""A stream that is closed before its end: the provider notices, and nothing is left behind."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, cast

import pytest

from chat_app.clients.sdk import SdkClient
from chat_app.values.model_call import ProviderEvent, TextPart, Usage
from tests.chat.clients.test_client_sockets import left
from tests.chat.ways import FAMILIES, Way, receive, request
from tests.serving.pipelines import scenario

RunEnding = Callable[[SdkClient], Awaitable[None]]

pytestmark = pytest.mark.parametrize("family", FAMILIES)


def load_slow(way: Way) -> None:
    """An answer of which the first word comes at once, and the second in a minute."""
    produce: dict[str, Any] = {
        "text": "one two",
        "pacing": {"words_per_chunk": 1},
        "fault": {"kind": "stall", "after_chunks": 1, "hold_ms": 60_000},
    }
    way.live.load(scenario("slow", {"consume": False, "produce": produce}))


async def close(client: SdkClient) -> None:
    stream = cast(AsyncGenerator[ProviderEvent, None], client.stream(request()))
    first = await anext(stream)
    if isinstance(first, Usage):
        first = await anext(stream)
    assert isinstance(first, TextPart) and first.text.strip() == "one"
    await stream.aclose()


async def cancel(client: SdkClient) -> None:
    received = asyncio.Event()

    async def read() -> None:
        async for _ in client.stream(request()):
            received.set()

    reader = asyncio.create_task(read())
    await received.wait()
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader


async def forget(client: SdkClient) -> None:
    """A reader that stops in the midst of a loop and closes nothing but the client."""
    async for _ in client.stream(request()):
        break


@pytest.mark.parametrize("end", [close, cancel, forget])
def test_the_provider_notices(way: Way, family: str, end: RunEnding) -> None:
    load_slow(way)

    async def once() -> int:
        client = way.client(family)
        await end(client)
        await client.aclose()
        return await left()

    assert asyncio.run(once()) == 0
    assert [row.outcome for row in way.rows_when(1)] == ["client_gone"]


def test_cancelling_before_the_answer_is_noticed_too(way: Way, family: str) -> None:
    fault = {"kind": "timeout", "hold_ms": 60_000}
    counted = {"counter": "asked"}
    step = {"consume": False, "produce": {"fault": fault}, "side_effects": counted}
    way.live.load(scenario("slow", step))

    async def once() -> int:
        client = way.client(family)
        reader = asyncio.create_task(receive(client, request()))
        while not await way.counters():
            await asyncio.sleep(0.001)
        reader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader
        await client.aclose()
        return await left()

    assert asyncio.run(once()) == 0


def test_an_answer_that_is_there_whole_keeps_nobody_waiting(way: Way, family: str) -> None:
    words = 300
    produce = {"text": "word " * words, "pacing": {"words_per_chunk": 1}}
    way.live.load(scenario("long", {"consume": False, "produce": produce}))

    async def once() -> int:
        client = way.client(family)
        received: list[ProviderEvent] = []

        async def read() -> None:
            async for event in client.stream(request()):
                received.append(event)
                if len(received) == 1:
                    asyncio.get_running_loop().call_soon(reader.cancel)

        reader = asyncio.create_task(read())
        with pytest.raises(asyncio.CancelledError):
            await reader
        await client.aclose()
        return len(received)

    assert asyncio.run(once()) < words / 2


def test_calls_of_one_client_do_not_disturb_each_other(way: Way, family: str) -> None:
    load_slow(way)
    quick = {"consume": False, "produce": {"text": "quick"}}
    match = {"messages": [{"role": "system", "equals": "quick"}]}
    way.live.load(scenario("quick", {"match": match, **quick}))

    async def both() -> str:
        client = way.client(family)
        stream = cast(AsyncGenerator[ProviderEvent, None], client.stream(request()))
        await anext(stream)
        received = await receive(client, request(system_prompt="quick"))
        await stream.aclose()
        await client.aclose()
        return received.text

    assert asyncio.run(both()) == "quick"


def test_an_answer_leaves_nothing_behind(way: Way, family: str) -> None:
    way.live.load(scenario("one", {"consume": False, "produce": {"text": "one two"}}))

    async def once() -> int:
        client = way.client(family)
        for _ in range(3):
            assert (await receive(client, request())).text == "one two"
        await client.aclose()
        return await left()

    assert asyncio.run(once()) == 0
    assert [row.outcome for row in way.rows_when(3)] == ["complete"] * 3
