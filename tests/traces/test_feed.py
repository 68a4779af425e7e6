"""A feed and its followers, on whatever event loops they are."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any

from traces_app.log import Feed


async def all_of(feed: Feed[int], start: int = 0) -> list[int]:
    return [item async for item in feed.follow(start)]


def publish(feed: Feed[int], count: int) -> None:
    for number in range(count):
        feed.publish(number, last=number == count - 1)


async def asleep(feed: Feed[int]) -> None:
    """Wait until a follower waits."""
    while not feed._waiting:
        await asyncio.sleep(0)


def on_another_loop(work: Coroutine[Any, Any, Any], into: list[Any]) -> threading.Thread:
    thread = threading.Thread(target=lambda: into.append(asyncio.run(work)))
    thread.start()
    return thread


async def test_one_who_comes_late_gets_everything() -> None:
    feed: Feed[int] = Feed()
    publish(feed, 5)
    assert await all_of(feed) == [0, 1, 2, 3, 4]


async def test_one_who_begins_in_the_middle_gets_the_rest() -> None:
    feed: Feed[int] = Feed()
    publish(feed, 5)
    assert await all_of(feed, 3) == [3, 4]


async def test_one_who_waits_is_woken_by_the_next_item() -> None:
    feed: Feed[int] = Feed()
    following = asyncio.create_task(anext(feed.follow()))
    await asleep(feed)
    feed.publish(7)
    assert await following == 7


async def test_the_last_item_ends_every_follower() -> None:
    feed: Feed[int] = Feed()
    followers = [asyncio.create_task(all_of(feed)) for _ in range(10)]
    await asyncio.sleep(0)
    publish(feed, 3)
    assert await asyncio.gather(*followers) == [[0, 1, 2]] * 10


async def test_a_follower_that_sleeps_is_woken_once_for_all_that_came() -> None:
    feed: Feed[int] = Feed()
    following = asyncio.create_task(all_of(feed))
    await asleep(feed)
    feed.publish(0)
    # No reader waits now, so the next hundred events wake none.
    assert feed._waiting == set()
    for number in range(1, 101):
        feed.publish(number, last=number == 100)
    assert await following == list(range(101))


async def test_one_who_leaves_is_forgotten() -> None:
    feed: Feed[int] = Feed()
    following = asyncio.create_task(all_of(feed))
    await asleep(feed)
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    assert feed._waiting == set()


def test_no_follower_on_another_loop_misses_anything() -> None:
    """Publishing races with falling asleep, on ten loops at a time, again and again."""
    for _ in range(20):
        feed: Feed[int] = Feed()
        seen: list[list[int]] = []
        threads = [on_another_loop(all_of(feed), seen) for _ in range(10)]
        publish(feed, 200)
        for thread in threads:
            thread.join(20)
        assert seen == [list(range(200))] * 10


def test_a_loop_that_was_closed_while_it_waited_harms_nobody() -> None:
    feed: Feed[int] = Feed()
    loop = asyncio.new_event_loop()
    waiting = loop.create_task(anext(feed.follow()))
    loop.run_until_complete(asleep(feed))
    future = next(iter(feed._waiting))
    waiting.cancel()
    loop.run_until_complete(asyncio.gather(waiting, return_exceptions=True))
    loop.close()
    feed._waiting.add(future)
    feed.publish(1, last=True)
    assert asyncio.run(all_of(feed)) == [1]
