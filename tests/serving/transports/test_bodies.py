"""Large bodies are read in turn, so that no number of clients fills the memory."""

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


async def begun(room: BodyMemory, size: int, done: asyncio.Event) -> None:
    async with room.reserve(size):
        await done.wait()


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_one_that_does_not_fit_waits_for_its_turn() -> None:
    room, done = BodyMemory(3 * LARGE), asyncio.Event()
    tasks = [asyncio.create_task(begun(room, 2 * LARGE, done)) for _ in range(2)]
    await settle()
    late = asyncio.create_task(begun(room, LARGE, asyncio.Event()))
    await settle()
    # The second request waits, and no later one passes it.
    assert room._left == LARGE
    done.set()
    await asyncio.gather(*tasks)
    await settle()
    assert room._left == 2 * LARGE
    late.cancel()
    await asyncio.gather(late, return_exceptions=True)
    assert room._left == 3 * LARGE


async def test_small_ones_never_wait() -> None:
    room = BodyMemory(LARGE)
    async with room.reserve(LARGE), room.reserve(SMALL_BODY), room.reserve(0):
        assert room._left == 0 and not room._waiting


async def test_one_that_is_larger_than_all_the_room_takes_it_all() -> None:
    room = BodyMemory(LARGE)
    async with room.reserve(100 * LARGE):
        assert room._left == 0
    assert room._left == LARGE


async def test_cancelled_waiter_reserves_no_memory() -> None:
    room = BodyMemory(LARGE)
    async with room.reserve(LARGE):
        waiting = asyncio.create_task(begun(room, LARGE, asyncio.Event()))
        await settle()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    assert room._left == LARGE and not room._waiting


async def test_a_turn_that_does_not_come_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_memory, "MAX_WAIT_SECONDS", 0.0)
    room = BodyMemory(LARGE)
    async with room.reserve(LARGE):
        with pytest.raises(NoBodyMemory):
            async with room.reserve(LARGE):
                pass
    async with room.reserve(LARGE):
        assert room._left == 0


async def test_only_so_many_wait() -> None:
    room, done = BodyMemory(LARGE), asyncio.Event()
    tasks = [asyncio.create_task(begun(room, LARGE, done)) for _ in range(MAX_WAITING_REQUESTS + 1)]
    await settle()
    with pytest.raises(NoBodyMemory):
        async with room.reserve(LARGE):
            pass
    done.set()
    await asyncio.gather(*tasks)
    assert room._left == LARGE


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
def test_a_length_that_is_not_said_may_be_any(
    headers: list[tuple[bytes, bytes]], length: int
) -> None:
    assert announced_length({"headers": headers}, unknown=99) == length
