"""Streams that are closed before their end: the provider notices and no task remains."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, cast

import pytest

from chat_app.clients.sdk import SdkClient
from chat_app.values.model_call import ProviderEvent, TextPart, Usage
from tests.chat.clients.test_client_sockets import count_other_tasks
from tests.chat.mock_provider import FAMILIES, MockProvider, receive, request
from tests.serving.pipelines import scenario

RunEnding = Callable[[SdkClient], Awaitable[None]]

pytestmark = pytest.mark.parametrize("family", FAMILIES)


def load_slow(mock_provider: MockProvider) -> None:
    """Load an answer whose first word comes immediately and whose second comes in a minute."""
    produce: dict[str, Any] = {
        "text": "one two",
        "pacing": {"words_per_chunk": 1},
        "fault": {"kind": "stall", "after_chunks": 1, "hold_ms": 60_000},
    }
    mock_provider.live.load(scenario("slow", {"consume": False, "produce": produce}))


async def close(client: SdkClient) -> None:
    stream = cast(AsyncGenerator[ProviderEvent, None], client.stream(request()))
    first = await anext(stream)
    if isinstance(first, Usage):
        first = await anext(stream)
    assert isinstance(first, TextPart) and first.text.strip() == "one"
    await stream.aclose()


async def cancel(client: SdkClient) -> None:
    event_received = asyncio.Event()

    async def read() -> None:
        async for _ in client.stream(request()):
            event_received.set()

    reader = asyncio.create_task(read())
    await event_received.wait()
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader


async def forget(client: SdkClient) -> None:
    """Leave the stream inside its loop without closing it."""
    async for _ in client.stream(request()):
        break


@pytest.mark.parametrize("end", [close, cancel, forget])
def test_provider_notices_the_end_of_a_stream(
    mock_provider: MockProvider, family: str, end: RunEnding
) -> None:
    load_slow(mock_provider)

    async def end_and_count_tasks() -> int:
        client = mock_provider.client(family)
        await end(client)
        await client.aclose()
        return await count_other_tasks()

    assert asyncio.run(end_and_count_tasks()) == 0
    assert [row.outcome for row in mock_provider.wait_for_rows(1)] == ["client_gone"]


def test_provider_notices_a_cancel_before_the_answer(
    mock_provider: MockProvider, family: str
) -> None:
    fault = {"kind": "timeout", "hold_ms": 60_000}
    side_effects = {"counter": "asked"}
    step = {"consume": False, "produce": {"fault": fault}, "side_effects": side_effects}
    mock_provider.live.load(scenario("slow", step))

    async def cancel_and_count_tasks() -> int:
        client = mock_provider.client(family)
        reader = asyncio.create_task(receive(client, request()))
        while not await mock_provider.counters():
            await asyncio.sleep(0.001)
        reader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader
        await client.aclose()
        return await count_other_tasks()

    assert asyncio.run(cancel_and_count_tasks()) == 0


def test_cancel_stops_reading_a_buffered_answer(mock_provider: MockProvider, family: str) -> None:
    words = 300
    produce = {"text": "word " * words, "pacing": {"words_per_chunk": 1}}
    mock_provider.live.load(scenario("long", {"consume": False, "produce": produce}))

    async def cancel_and_count_events() -> int:
        client = mock_provider.client(family)
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

    assert asyncio.run(cancel_and_count_events()) < words / 2


def test_calls_of_one_client_do_not_disturb_each_other(
    mock_provider: MockProvider, family: str
) -> None:
    load_slow(mock_provider)
    quick = {"consume": False, "produce": {"text": "quick"}}
    match = {"messages": [{"role": "system", "equals": "quick"}]}
    mock_provider.live.load(scenario("quick", {"match": match, **quick}))

    async def receive_both() -> str:
        client = mock_provider.client(family)
        stream = cast(AsyncGenerator[ProviderEvent, None], client.stream(request()))
        await anext(stream)
        received = await receive(client, request(system_prompt="quick"))
        await stream.aclose()
        await client.aclose()
        return received.text

    assert asyncio.run(receive_both()) == "quick"


def test_complete_answer_leaves_no_task(mock_provider: MockProvider, family: str) -> None:
    mock_provider.live.load(scenario("one", {"consume": False, "produce": {"text": "one two"}}))

    async def receive_and_count_tasks() -> int:
        client = mock_provider.client(family)
        for _ in range(3):
            assert (await receive(client, request())).text == "one two"
        await client.aclose()
        return await count_other_tasks()

    assert asyncio.run(receive_and_count_tasks()) == 0
    assert [row.outcome for row in mock_provider.wait_for_rows(3)] == ["complete"] * 3
