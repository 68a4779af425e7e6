"""The chat's event loop: one thread that the first work starts and `stop` ends."""

import asyncio
import os
import threading
from collections.abc import Iterator

import pytest

from chat_app import loop

NAME = "mockllm-chat"


@pytest.fixture(autouse=True)
def stopped_loop() -> Iterator[None]:
    loop.stop()
    yield
    loop.stop()


def count_loop_threads() -> int:
    return sum(thread.name == NAME for thread in threading.enumerate())


async def current_thread_id() -> int:
    return threading.get_ident()


def test_the_first_work_starts_one_thread_and_all_work_runs_there() -> None:
    assert (loop.is_running(), count_loop_threads()) == (False, 0)
    idents = {loop.submit(current_thread_id()).result(10) for _ in range(5)}
    assert len(idents) == 1 and threading.get_ident() not in idents
    assert (loop.is_running(), count_loop_threads()) == (True, 1)


def test_many_threads_start_one_loop() -> None:
    thread_ids: list[int] = []
    threads_started = [
        threading.Thread(
            target=lambda: thread_ids.append(loop.submit(current_thread_id()).result(10))
        )
        for _ in range(20)
    ]
    for thread in threads_started:
        thread.start()
    for thread in threads_started:
        thread.join(10)
    assert len(thread_ids) == 20 and len(set(thread_ids)) == 1


def test_stopping_leaves_no_thread_and_the_next_work_starts_another_loop() -> None:
    first = loop.submit(current_thread_id()).result(10)
    loop.stop()
    assert (loop.is_running(), count_loop_threads()) == (False, 0)
    assert loop.submit(current_thread_id()).result(10)
    assert (loop.is_running(), count_loop_threads()) == (True, 1)
    assert first


def test_stopping_a_stopped_loop_does_nothing() -> None:
    loop.stop()
    assert not loop.is_running()


def test_stopping_ends_the_tasks_that_are_left() -> None:
    task_ended = threading.Event()

    async def forever() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            task_ended.set()

    loop.submit(forever())
    loop.submit(current_thread_id()).result(10)
    loop.stop()
    assert task_ended.is_set()


def test_closers_run_after_drains_in_reverse_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps: list[str] = []

    async def drain(seconds: float) -> None:
        steps.append(f"drain {seconds}")

    async def close(name: str) -> None:
        steps.append(name)

    monkeypatch.setattr(loop, "_drains", [])
    monkeypatch.setattr(loop, "_closers", [])
    loop.register_closer(first := lambda: close("first"))
    loop.register_drain(drain)
    loop.register_closer(lambda: close("second"))
    loop.register_closer(first)
    loop.submit(current_thread_id()).result(10)
    loop.stop(1.5)
    assert steps == ["drain 1.5", "second", "first"]


def test_failing_closer_does_not_keep_the_loop_running(monkeypatch: pytest.MonkeyPatch) -> None:
    async def close() -> None:
        raise OSError("stuck")

    monkeypatch.setattr(loop, "_closers", [close])
    loop.submit(current_thread_id()).result(10)
    loop.stop()
    assert (loop.is_running(), count_loop_threads()) == (False, 0)


async def test_work_goes_on_when_its_waiter_is_cancelled() -> None:
    work_done, go_on = threading.Event(), threading.Event()

    async def work() -> None:
        await asyncio.to_thread(go_on.wait, 10)
        work_done.set()

    waiter = asyncio.create_task(loop.run_on_loop(work()))
    await asyncio.sleep(0)
    waiter.cancel()
    await asyncio.gather(waiter, return_exceptions=True)
    go_on.set()
    assert await asyncio.to_thread(work_done.wait, 10)


async def test_error_of_the_work_is_raised_to_its_waiter() -> None:
    async def work() -> None:
        raise LookupError("nothing there")

    with pytest.raises(LookupError, match="nothing there"):
        await loop.run_on_loop(work())


def test_call_later_runs_a_function_on_the_loop() -> None:
    was_called = threading.Event()
    loop.call_later(0.0, was_called.set)
    assert not was_called.is_set()
    loop.submit(current_thread_id()).result(10)
    loop.call_later(0.0, was_called.set)
    assert was_called.wait(10)


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_forked_child_starts_its_own_loop() -> None:
    loop.submit(current_thread_id()).result(10)
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            assert not loop.is_running()
            loop.submit(current_thread_id()).result(10)
            loop.stop()
            os.write(write, b"fine")
        finally:
            os._exit(0)
    os.close(write)
    with open(read, "rb") as pipe:
        assert pipe.read() == b"fine"
    os.waitpid(pid, 0)
    assert loop.submit(current_thread_id()).result(10)
