"""Providers' requests have threads of their own, of which one is always free."""

import threading
from typing import Any

from asgiref.sync import sync_to_async

from mockllm_site.middleware.provider_requests import split_requests
from mockllm_site.serve import request_threads
from mockllm_site.serve.request_threads import (
    SpareThreadExecutor,
    with_page_threads,
    with_provider_threads,
)
from scenarios_app.serving.transports.asgi_scope import Receive, Scope, Send

SECONDS = 30.0


def test_work_runs_while_other_work_holds_its_thread() -> None:
    executor, released = SpareThreadExecutor(), threading.Event()
    held = [executor.submit(released.wait, SECONDS) for _ in range(20)]
    assert executor.submit(int, "7").result(SECONDS) == 7
    assert not any(future.done() for future in held)
    released.set()
    assert all(future.result(SECONDS) for future in held)


def test_work_in_a_row_starts_at_most_one_further_thread() -> None:
    executor = SpareThreadExecutor()
    idents = {executor.submit(threading.get_ident).result(SECONDS) for _ in range(50)}
    assert len(idents) <= 2


def test_error_of_work_is_its_futures() -> None:
    error = SpareThreadExecutor().submit(int, "seven").exception(SECONDS)
    assert isinstance(error, ValueError)


def test_cancelled_work_does_not_run() -> None:
    executor, released, calls = SpareThreadExecutor(), threading.Event(), []
    executor._free = 1  # As if a thread were free, so that none takes the work yet.
    future = executor.submit(calls.append, 1)
    assert future.cancel()
    executor._free = 0
    released.set()
    executor.submit(released.wait).result(SECONDS)
    assert calls == []


def test_idle_threads_end_except_for_one() -> None:
    executor, released = SpareThreadExecutor(idle_seconds=0.01), threading.Event()
    threads: list[threading.Thread] = []

    def hold() -> None:
        threads.append(threading.current_thread())
        released.wait(SECONDS)

    held = [executor.submit(hold) for _ in range(5)]
    while len(threads) < 5:
        assert executor.submit(int).result(SECONDS) == 0
    released.set()
    for future in held:
        future.result(SECONDS)
    for thread in threads[:-1]:
        while sum(each.is_alive() for each in threads) > 1:
            thread.join(0.01)
    assert executor.submit(int).result(SECONDS) == 0


async def test_only_pages_take_a_database_thread() -> None:
    names = {}

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        name = await sync_to_async(lambda: threading.current_thread().name)()
        names[scope["path"]] = name.rpartition("_")[0] or name

    async def pass_message(*_: Any) -> Any: ...

    for path in ("/control/state", "/v1/models", "/chat/completions"):
        scope = {"type": "http", "method": "POST", "path": path, "headers": []}
        parts = {"providers": with_provider_threads(app), "pages": with_page_threads(app)}
        await split_requests(**parts)(scope, pass_message, pass_message)
    assert names == {
        "/control/state": "mockllm-database",
        "/v1/models": "mockllm-provider",
        "/chat/completions": "mockllm-provider",
    }
    assert request_threads.provider_executor() is request_threads.provider_executor()
