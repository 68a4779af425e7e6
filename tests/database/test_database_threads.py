"""Requests share a few database threads and connections."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async

from mockllm_site.serve import database_threads
from mockllm_site.serve.database_threads import DatabaseThread, RequestExecutor
from mockllm_site.serve.request_threads import with_page_threads
from scenarios_app.serving.transports.asgi_scope import App, Receive, Scope, Send
from tests.chat.chat_helpers import scenario
from tests.chat.scripts import ENDLESS
from tests.database.concurrent_requests import (
    close_all_connections,
    follow_run,
    request_statuses,
    watch_connections,
)
from tests.serving.processes.serve_process import ServerProcess, run_server, write_scenarios
from tests.state.other_process import postgres_database

READS = ("/control/scenarios", "/control/requests", "/api/list_conversations?client_id=a", "/")
# Besides those of requests: connections of the journal, the catalog, the runs, the start and the
# lease, which opens its own with the first beat, a second or two later.
OTHER_CONNECTIONS = 5
MAX_CONNECTIONS = 20


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    with postgres_database() as address:
        yield address


@pytest.fixture
def server(
    database: str, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[ServerProcess]:
    """Return a server on PostgreSQL, with the variables of the test."""
    variables: dict[str, str] = getattr(request, "param", {})
    endless = write_scenarios(tmp_path, scenario({**ENDLESS}, name="endless", priority=1_000))
    with run_server(
        tmp_path,
        warm=True,
        MOCKLLM_ENV="dev",
        DATABASE_URL=database,
        MOCKLLM_SCENARIOS=endless,
        MOCKLLM_ADMIN_PASSWORD="a password of a test",
        **variables,
    ) as server:
        yield server


def test_concurrent_reads_share_connections(server: ServerProcess, database: str) -> None:
    with watch_connections(database) as maximum:
        statuses = request_statuses(server.port, *READS, times=50)
    assert statuses == {200: 200}
    assert 0 < maximum.most <= MAX_CONNECTIONS


def test_restarted_database_is_used_again(server: ServerProcess, database: str) -> None:
    assert request_statuses(server.port, *READS, times=8) == {200: 32}
    close_all_connections(database)
    # No request came during the outage, so none fails.
    assert request_statuses(server.port, *READS, times=8) == {200: 32}


@pytest.mark.parametrize("server", [{"MOCKLLM_DATABASE_THREADS": "1"}], indirect=True)
def test_run_follower_keeps_no_thread_and_no_connection(
    server: ServerProcess, database: str
) -> None:
    async def request_while_followed() -> tuple[dict[int, int], int]:
        async with AsyncExitStack() as streams:
            for client in "abc":
                await streams.enter_async_context(follow_run(server.port, client))
            with watch_connections(database) as maximum:
                statuses = await asyncio.to_thread(request_statuses, server.port, *READS, times=2)
            return statuses, maximum.most

    statuses, most = asyncio.run(request_while_followed())
    assert statuses == {200: 8}
    assert most <= 1 + OTHER_CONNECTIONS


def use_threads(monkeypatch: pytest.MonkeyPatch, count: int) -> tuple[DatabaseThread, ...]:
    threads = tuple(DatabaseThread() for _ in range(count))
    monkeypatch.setattr(database_threads, "_threads", lambda: threads)
    return threads


async def send_request(app: App, path: str = "/control/scenarios") -> None:
    """Send one request and ignore its response."""

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None: ...

    async with asyncio.timeout(30):
        scope = {"type": "http", "method": "GET", "path": path, "headers": []}
        await with_page_threads(app)(scope, receive, send)


def thread_name() -> str:
    return threading.current_thread().name


async def test_one_request_uses_one_thread_at_any_depth(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nested work in the only thread does not wait for itself."""
    use_threads(monkeypatch, 1)
    thread_names: list[str] = []

    def outer() -> None:
        thread_names.append(thread_name())
        async_to_sync(inner)()

    async def inner() -> None:
        thread_names.append(await sync_to_async(thread_name)())
        await asyncio.gather(sync_to_async(outermost)(), sync_to_async(outermost)())

    def outermost() -> None:
        thread_names.append(thread_name())

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await sync_to_async(outer)()
        thread_names.append(await sync_to_async(thread_name)())

    await send_request(app)
    assert len(thread_names) == 5
    assert set(thread_names) == {"mockllm-database_0"}


async def test_request_uses_the_thread_with_the_least_work(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = use_threads(monkeypatch, 2)
    released = threading.Event()
    blocking_future = RequestExecutor(threads).submit(released.wait)
    assert [thread.unfinished for thread in threads] == [1, 0]
    thread_ids: list[int] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        ident = await sync_to_async(threading.get_ident)()
        thread_ids.extend([ident, await sync_to_async(threading.get_ident)()])

    await send_request(app)
    released.set()
    assert blocking_future.result(30)
    busy_thread_id = threads[0].submit(threading.get_ident).result(30)
    assert len(set(thread_ids)) == 1 and busy_thread_id not in thread_ids


async def test_abandoned_work_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    [thread] = use_threads(monkeypatch, 1)
    released = threading.Event()
    first, second = thread.submit(released.wait), thread.submit(released.wait)
    assert thread.unfinished == 2 and second.cancel()
    released.set()
    assert first.result(30)
    thread.submit(thread_name).result(30)
    # The counter is decremented just after the result is set.
    while thread.unfinished:
        await asyncio.sleep(0)


async def test_probes_do_not_use_the_database_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A database that does not answer would block all threads."""
    [thread] = use_threads(monkeypatch, 1)
    released = threading.Event()
    thread.submit(released.wait)
    thread_names: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        thread_names.append(await sync_to_async(thread_name)())

    for path in ("/livez", "/healthz", "/readyz", "/metrics"):
        await send_request(app, path)
    released.set()
    assert len(thread_names) == 4 and "mockllm-database_0" not in thread_names


def test_work_after_the_end_of_the_threads_is_cancelled() -> None:
    """As after Ctrl-C of `runserver`, which aborts running requests."""
    thread = DatabaseThread()
    thread._executor.shutdown()
    future = thread.submit(int)
    assert future.cancelled() and thread.unfinished == 0
