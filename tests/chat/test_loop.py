"""The chat's event loop: one thread, started when it is needed, gone when it is stopped."""

import asyncio
import os
import threading
from collections.abc import Iterator

import pytest

from chat_app import loop

NAME = "mockllm-chat"


@pytest.fixture(autouse=True)
def stopped() -> Iterator[None]:
    loop.stop()
    yield
    loop.stop()


def threads() -> int:
    return sum(thread.name == NAME for thread in threading.enumerate())


async def where() -> int:
    return threading.get_ident()


def test_the_first_work_starts_one_thread_and_all_work_runs_there() -> None:
    assert (loop.is_running(), threads()) == (False, 0)
    idents = {loop.submit(where()).result(10) for _ in range(5)}
    assert len(idents) == 1 and threading.get_ident() not in idents
    assert (loop.is_running(), threads()) == (True, 1)


def test_many_threads_start_one_loop() -> None:
    found: list[int] = []
    starting = [
        threading.Thread(target=lambda: found.append(loop.submit(where()).result(10)))
        for _ in range(20)
    ]
    for thread in starting:
        thread.start()
    for thread in starting:
        thread.join(10)
    assert len(found) == 20 and len(set(found)) == 1


def test_stopping_leaves_no_thread_and_the_next_work_starts_another_loop() -> None:
    first = loop.submit(where()).result(10)
    loop.stop()
    assert (loop.is_running(), threads()) == (False, 0)
    assert loop.submit(where()).result(10)
    assert first


def test_stopping_what_does_not_run_is_nothing() -> None:
    loop.stop()
    assert not loop.is_running()


def test_stopping_ends_the_tasks_that_are_left() -> None:
    ended = threading.Event()

    async def forever() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    loop.submit(forever())
    loop.submit(where()).result(10)
    loop.stop()
    assert ended.is_set()


def test_closers_run_after_drains_in_reverse_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[str] = []

    async def drain(seconds: float) -> None:
        done.append(f"drain {seconds}")

    async def close(name: str) -> None:
        done.append(name)

    monkeypatch.setattr(loop, "_drains", [])
    monkeypatch.setattr(loop, "_closers", [])
    loop.register_closer(first := lambda: close("first"))
    loop.register_drain(drain)
    loop.register_closer(lambda: close("second"))
    loop.register_closer(first)
    loop.submit(where()).result(10)
    loop.stop(1.5)
    assert done == ["drain 1.5", "second", "first"]


def test_a_closer_that_fails_does_not_keep_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    async def close() -> None:
        raise OSError("stuck")

    monkeypatch.setattr(loop, "_closers", [close])
    loop.submit(where()).result(10)
    loop.stop()
    assert (loop.is_running(), threads()) == (False, 0)


async def test_work_goes_on_when_whoever_waits_for_it_leaves() -> None:
    done, go_on = threading.Event(), threading.Event()

    async def work() -> None:
        await asyncio.to_thread(go_on.wait, 10)
        done.set()

    waiting = asyncio.create_task(loop.run_on_loop(work()))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    go_on.set()
    assert await asyncio.to_thread(done.wait, 10)


async def test_an_error_comes_to_whoever_waits() -> None:
    async def work() -> None:
        raise LookupError("nothing there")

    with pytest.raises(LookupError, match="nothing there"):
        await loop.run_on_loop(work())


def test_something_can_be_called_on_the_loop_without_waiting() -> None:
    called = threading.Event()
    loop.call_later(0.0, called.set)
    assert not called.is_set()
    loop.submit(where()).result(10)
    loop.call_later(0.0, called.set)
    assert called.wait(10)


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_has_a_loop_of_its_own() -> None:
    loop.submit(where()).result(10)
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            assert not loop.is_running()
            loop.submit(where()).result(10)
            loop.stop()
            os.write(write, b"fine")
        finally:
            os._exit(0)
    os.close(write)
    with open(read, "rb") as pipe:
        assert pipe.read() == b"fine"
    os.waitpid(pid, 0)
    assert loop.submit(where()).result(10)
