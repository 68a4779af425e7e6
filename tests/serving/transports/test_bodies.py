"""Large bodies reserve memory before they are read, so clients cannot exhaust it."""

import asyncio

import pytest

from scenarios_app.serving.transports import body_memory
from scenarios_app.serving.transports.asgi_scope import announced_length
from scenarios_app.serving.transports.body_memory import (
    MAX_WAITING_REQUESTS,
    SMALL_BODY,
    BodyMemory,
    NoBodyMemory,
)

LARGE = SMALL_BODY + 1


async def hold_memory(memory: BodyMemory, size: int, done: asyncio.Event) -> None:
    async with memory.reserve(size):
        await done.wait()


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_request_that_does_not_fit_waits_for_its_turn() -> None:
    memory, done = BodyMemory(3 * LARGE), asyncio.Event()
    tasks = [asyncio.create_task(hold_memory(memory, 2 * LARGE, done)) for _ in range(2)]
    await settle()
    late = asyncio.create_task(hold_memory(memory, LARGE, asyncio.Event()))
    await settle()
    # The second request waits, and no later one passes it.
    assert memory._left == LARGE
    done.set()
    await asyncio.gather(*tasks)
    await settle()
    assert memory._left == 2 * LARGE
    late.cancel()
    await asyncio.gather(late, return_exceptions=True)
    assert memory._left == 3 * LARGE


async def test_small_bodies_never_wait() -> None:
    memory = BodyMemory(LARGE)
    async with memory.reserve(LARGE), memory.reserve(SMALL_BODY), memory.reserve(0):
        assert memory._left == 0 and not memory._waiting


async def test_body_larger_than_the_memory_reserves_all_of_it() -> None:
    memory = BodyMemory(LARGE)
    async with memory.reserve(100 * LARGE):
        assert memory._left == 0
    assert memory._left == LARGE


async def test_cancelled_waiter_reserves_no_memory() -> None:
    memory = BodyMemory(LARGE)
    async with memory.reserve(LARGE):
        waiting = asyncio.create_task(hold_memory(memory, LARGE, asyncio.Event()))
        await settle()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    assert memory._left == LARGE and not memory._waiting


async def test_wait_for_memory_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_memory, "MAX_WAIT_SECONDS", 0.0)
    memory = BodyMemory(LARGE)
    async with memory.reserve(LARGE):
        with pytest.raises(NoBodyMemory):
            async with memory.reserve(LARGE):
                pass
    async with memory.reserve(LARGE):
        assert memory._left == 0


async def test_number_of_waiting_requests_is_limited() -> None:
    memory, done = BodyMemory(LARGE), asyncio.Event()
    tasks = [
        asyncio.create_task(hold_memory(memory, LARGE, done))
        for _ in range(MAX_WAITING_REQUESTS + 1)
    ]
    await settle()
    with pytest.raises(NoBodyMemory):
        async with memory.reserve(LARGE):
            pass
    done.set()
    await asyncio.gather(*tasks)
    assert memory._left == LARGE


@pytest.mark.parametrize(
    ("headers", "length"),
    [
        ([], 0),
        ([(b"content-length", b"12")], 12),
        ([(b"content-length", b"x")], 0),
        ([(b"transfer-encoding", b"chunked")], 99),
        ([(b"content-length", b"12"), (b"transfer-encoding", b"chunked")], 99),
    ],
)
def test_chunked_body_announces_the_unknown_length(
    headers: list[tuple[bytes, bytes]], length: int
) -> None:
    assert announced_length({"headers": headers}, unknown=99) == length
