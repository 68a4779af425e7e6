"""Feeds and their followers on one or several event loops."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any

from traces_app.log import Feed


async def read_all(feed: Feed[int], start: int = 0) -> list[int]:
    return [item async for item in feed.follow(start)]


def publish(feed: Feed[int], count: int) -> None:
    for number in range(count):
        feed.publish(number, last=number == count - 1)


async def wait_for_follower(feed: Feed[int]) -> None:
    """Wait until a follower waits."""
    while not feed._waiting:
        await asyncio.sleep(0)


def run_in_thread(work: Coroutine[Any, Any, Any], results: list[Any]) -> threading.Thread:
    thread = threading.Thread(target=lambda: results.append(asyncio.run(work)))
    thread.start()
    return thread


async def test_late_follower_gets_all_items() -> None:
    feed: Feed[int] = Feed()
    publish(feed, 5)
    assert await read_all(feed) == [0, 1, 2, 3, 4]


async def test_follower_from_the_middle_gets_the_rest() -> None:
    feed: Feed[int] = Feed()
    publish(feed, 5)
    assert await read_all(feed, 3) == [3, 4]


async def test_waiting_follower_is_woken_by_the_next_item() -> None:
    feed: Feed[int] = Feed()
    follower = asyncio.create_task(anext(feed.follow()))
    await wait_for_follower(feed)
    feed.publish(7)
    assert await follower == 7


async def test_the_last_item_ends_every_follower() -> None:
    feed: Feed[int] = Feed()
    followers = [asyncio.create_task(read_all(feed)) for _ in range(10)]
    await asyncio.sleep(0)
    publish(feed, 3)
    assert await asyncio.gather(*followers) == [[0, 1, 2]] * 10


async def test_waiting_follower_is_woken_once_for_many_items() -> None:
    feed: Feed[int] = Feed()
    follower = asyncio.create_task(read_all(feed))
    await wait_for_follower(feed)
    feed.publish(0)
    # No reader waits now, so the next hundred events wake none.
    assert feed._waiting == set()
    for number in range(1, 101):
        feed.publish(number, last=number == 100)
    assert await follower == list(range(101))


async def test_cancelled_follower_is_removed() -> None:
    feed: Feed[int] = Feed()
    follower = asyncio.create_task(read_all(feed))
    await wait_for_follower(feed)
    follower.cancel()
    await asyncio.gather(follower, return_exceptions=True)
    assert feed._waiting == set()


def test_followers_on_other_loops_get_all_items() -> None:
    """Publishing races with followers that start to wait, on ten loops, twenty times."""
    for _ in range(20):
        feed: Feed[int] = Feed()
        received: list[list[int]] = []
        threads = [run_in_thread(read_all(feed), received) for _ in range(10)]
        publish(feed, 200)
        for thread in threads:
            thread.join(20)
        assert received == [list(range(200))] * 10


def test_closed_loop_of_a_follower_does_not_break_publishing() -> None:
    feed: Feed[int] = Feed()
    loop = asyncio.new_event_loop()
    waiter = loop.create_task(anext(feed.follow()))
    loop.run_until_complete(wait_for_follower(feed))
    future = next(iter(feed._waiting))
    waiter.cancel()
    loop.run_until_complete(asyncio.gather(waiter, return_exceptions=True))
    loop.close()
    feed._waiting.add(future)
    feed.publish(1, last=True)
    assert asyncio.run(read_all(feed)) == [1]
