"""Fixtures and hooks for the whole test suite."""

import asyncio
import gc
import sys
from collections.abc import Generator, Iterator
from types import ModuleType
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib import admin
from django.db import connections

from chat_app import loop
from chat_app.runs.registry import end_runs
from mockllm_site.kit.database_thread import close_connection
from mockllm_site.serve.database_threads import close_connections
from scenarios_app.journal import journal
from scenarios_app.serving.services import services
from tests.support import (
    database_flush,
    fork_server,
    http_timeouts,
    hypothesis_profiles,
    setup_cache,
)
from tests.support.database_engine import ON_POSTGRES
from tests.support.live_server import Live, LiveServer, run_apart

pytest_plugins = ["pytester", "tests.support.selection"]

hypothesis_profiles.load()
# Register all models now, so that their order does not depend on the first test.
admin.autodiscover()

STOP_SECONDS = 30.0
# Modules that start processes; tests of modules that import one get the marker `process`.
PROCESS_MODULES = {
    "subprocess",
    "scenarios_app.testing.server",
    "tests.chat.tools.tool_servers",
    "tests.project.processes",
    "tests.serving.processes.serve_process",
    "tests.serving.processes.servers",
    "tests.state.other_process",
    "tests.support.fork_server",
}


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None) -> Iterator[None]:
    """Prepare the test database; close all its connections before it is dropped."""
    with pytest.MonkeyPatch.context() as patch:
        if ON_POSTGRES:
            # No other process writes to the test database, and polling would go on between tests.
            patch.setattr("scenarios_app.catalog.can_be_shared", lambda: False)
            # No other process serves, so no lease needs to be renewed.
            patch.setattr("mockllm_site.serve.lease.can_be_shared", lambda: False)
        yield
    services().stop()
    close_connection()
    close_connections()
    # The connections of the thread that runs database calls of event loops.
    asyncio.run(sync_to_async(connections.close_all)())


@pytest.fixture(scope="session")
def shared_server(django_db_setup: None, django_db_blocker: Any) -> Iterator[LiveServer]:
    """Run one server for all tests of this process."""
    # Imported late: it creates Django's application, which needs the settings.
    from mockllm_site.asgi import application

    unblock, block = django_db_blocker.unblock, django_db_blocker.block
    with unblock(), LiveServer(application) as server, block():
        yield server


@pytest.fixture
def live(shared_server: LiveServer, transactional_db: None) -> Iterator[Live]:
    """Yield a running server with empty scenarios, session and journal.

    Rows are committed, since the server reads them through its own connections.

    """
    yield Live(shared_server)
    reset_server_state()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, pytest.Function) and starts_processes(item.module):
            item.add_marker("process")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Disable garbage collection while tests are imported and collected, which saves time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Exclude collected and imported objects from later garbage collections."""
    gc.collect()
    gc.freeze()


def starts_processes(module: ModuleType) -> bool:
    """Return True if a test module has imported a module that starts processes."""
    values = vars(module).values()
    origins = {getattr(value, "__module__", getattr(value, "__name__", "")) for value in values}
    return not PROCESS_MODULES.isdisjoint(origins)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the number of skipped tests; pytest prints their reasons above."""
    if skipped := len(terminalreporter.getreports("skipped")):
        terminalreporter.write_line(f"{skipped} skipped: see the reasons above", yellow=True)


@pytest.fixture(scope="module")
def forked_processes() -> Iterator[None]:
    """Start Python processes of a module's tests with the fork server."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "executable", fork_server.python())
        yield


@pytest.fixture(scope="session", autouse=True)
def _install_speedups(django_test_environment: None) -> None:
    database_flush.install()
    setup_cache.install()
    http_timeouts.install()


@pytest.fixture(scope="session", autouse=True)
def chat_loop() -> Iterator[None]:
    """Stop the chat's MCP servers and threads after the last test."""
    yield
    loop.stop()


def reset_server_state() -> None:
    """Stop runs and flush the journal, so that they write nothing during the next test."""
    if loop.is_running():
        loop.submit(end_runs()).result(STOP_SECONDS)
    journal.flush()
    run_apart(services().state.reset(None, scenarios=True))
    services().steps.forget_session(None)
