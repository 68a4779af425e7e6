"""Requests share a few threads and their connections, however many there are at once."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async

from mockllm_site.serve import database_threads
from mockllm_site.serve.database_threads import (
    DatabaseThread,
    RequestExecutor,
    with_database_threads,
)
from scenarios_app.serving.transports.asgi_scope import App, Receive, Scope, Send
from tests.chat.chatting import scenario
from tests.chat.scripts import ENDLESS
from tests.database.at_once import close_all, following, statuses, watched
from tests.serving.processes.serve_process import Serving, serving, written
from tests.state.outside import postgres_database

READS = ("/control/scenarios", "/control/requests", "/api/list_conversations?client_id=a", "/")
# Besides those of requests: connections of the journal, the catalog, the runs, the start and the
# lease, which opens its own with the first beat, a second or two later.
OTHERS = 5
MOST = 20


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    with postgres_database() as address:
        yield address


@pytest.fixture
def served(database: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Serving]:
    """A server on PostgreSQL, with as many threads as the test wants."""
    wanted: dict[str, str] = getattr(request, "param", {})
    endless = written(tmp_path, scenario({**ENDLESS}, name="endless", priority=1_000))
    with serving(
        tmp_path,
        warm=True,
        MOCKLLM_ENV="dev",
        DATABASE_URL=database,
        MOCKLLM_SCENARIOS=endless,
        MOCKLLM_ADMIN_PASSWORD="a password of a test",
        **wanted,
    ) as server:
        yield server


def test_reads_at_once_share_connections(served: Serving, database: str) -> None:
    with watched(database) as looked:
        found = statuses(served.port, *READS, times=50)
    assert found == {200: 200}
    assert 0 < looked.most <= MOST


def test_a_database_that_started_anew_is_found_again(served: Serving, database: str) -> None:
    assert statuses(served.port, *READS, times=8) == {200: 32}
    close_all(database)
    # No request came during the outage, so none fails.
    assert statuses(served.port, *READS, times=8) == {200: 32}


@pytest.mark.parametrize("served", [{"MOCKLLM_DATABASE_THREADS": "1"}], indirect=True)
def test_run_follower_keeps_no_thread_and_no_connection(served: Serving, database: str) -> None:
    async def followed() -> tuple[dict[int, int], int]:
        async with AsyncExitStack() as streams:
            for client in "abc":
                await streams.enter_async_context(following(served.port, client))
            with watched(database) as looked:
                found = await asyncio.to_thread(statuses, served.port, *READS, times=2)
            return found, looked.most

    found, most = asyncio.run(followed())
    assert found == {200: 8}
    assert most <= 1 + OTHERS


def in_threads(monkeypatch: pytest.MonkeyPatch, count: int) -> tuple[DatabaseThread, ...]:
    threads = tuple(DatabaseThread() for _ in range(count))
    monkeypatch.setattr(database_threads, "_threads", lambda: threads)
    return threads


async def ask(app: App, path: str = "/control/scenarios") -> None:
    """One request, whose answer does not matter."""

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None: ...

    async with asyncio.timeout(30):
        await with_database_threads(app)({"type": "http", "path": path}, receive, send)


def here() -> str:
    return threading.current_thread().name


async def test_one_request_is_in_one_thread_at_any_depth(monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits in the only thread for more to be done in it does not wait for ever."""
    in_threads(monkeypatch, 1)
    seen: list[str] = []

    def outer() -> None:
        seen.append(here())
        async_to_sync(inner)()

    async def inner() -> None:
        seen.append(await sync_to_async(here)())
        await asyncio.gather(sync_to_async(outermost)(), sync_to_async(outermost)())

    def outermost() -> None:
        seen.append(here())

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await sync_to_async(outer)()
        seen.append(await sync_to_async(here)())

    await ask(app)
    assert len(seen) == 5
    assert set(seen) == {"mockllm-database_0"}


async def test_a_request_takes_the_idlest_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = in_threads(monkeypatch, 2)
    go_on = threading.Event()
    busy = RequestExecutor(threads).submit(go_on.wait)
    assert [thread.waiting for thread in threads] == [1, 0]
    chosen: list[int] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        ident = await sync_to_async(threading.get_ident)()
        chosen.extend([ident, await sync_to_async(threading.get_ident)()])

    await ask(app)
    go_on.set()
    assert busy.result(30)
    first = threads[0].submit(threading.get_ident).result(30)
    assert len(set(chosen)) == 1 and first not in chosen


async def test_abandoned_work_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    [thread] = in_threads(monkeypatch, 1)
    go_on = threading.Event()
    first, second = thread.submit(go_on.wait), thread.submit(go_on.wait)
    assert thread.waiting == 2 and second.cancel()
    go_on.set()
    assert first.result(30)
    thread.submit(here).result(30)
    # The counter is decremented just after the result is set.
    while thread.waiting:
        await asyncio.sleep(0)


async def test_probes_wait_for_none_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """A database that says nothing would keep them all."""
    [thread] = in_threads(monkeypatch, 1)
    go_on = threading.Event()
    thread.submit(go_on.wait)
    seen: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(await sync_to_async(here)())

    for path in ("/livez", "/healthz", "/readyz", "/metrics"):
        await ask(app, path)
    go_on.set()
    assert len(seen) == 4 and "mockllm-database_0" not in seen


def test_work_after_the_end_of_the_threads_is_cancelled() -> None:
    """As at Ctrl-C of `runserver`, which cuts off the requests under way."""
    thread = DatabaseThread()
    thread._executor.shutdown()
    future = thread.submit(int)
    assert future.cancelled() and thread.waiting == 0
