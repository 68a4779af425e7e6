"""Fixtures that every folder of the suite shares."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings as hypothesis_settings

from chat_app import loop
from chat_app.runs import end_runs
from scenarios_app.journal import journal
from scenarios_app.serving.services import services
from tests import flushing
from tests.live import Live, LiveServer

# How long an example takes is this machine's matter, and no test's.
hypothesis_settings.register_profile("suite", deadline=None)
hypothesis_settings.load_profile("suite")

ENDED_SECONDS = 30.0


@pytest.fixture(scope="session")
def whole_server(django_db_setup: None, django_db_blocker: Any) -> Iterator[LiveServer]:
    """One server for all tests of this process that want one."""
    # Only now: it makes Django's application, which wants the settings.
    from mockllm_site.asgi import application

    unblock, block = django_db_blocker.unblock, django_db_blocker.block
    with unblock(), LiveServer(application) as server, block():
        yield server


@pytest.fixture
def live(whole_server: LiveServer, transactional_db: None) -> Iterator[Live]:
    """A running server whose scenarios, session and journal are this test's alone.

    Its rows are committed, as those of a server must be: it looks through connections of its own.
    """
    yield Live(whole_server)
    forget()


@pytest.fixture(scope="session", autouse=True)
def quick_flush() -> None:
    flushing.install()


@pytest.fixture(scope="session", autouse=True)
def chat_loop() -> Iterator[None]:
    """No MCP server and no thread of the chat's outlives the session."""
    yield
    loop.stop()


def forget() -> None:
    """Leave nothing to the next test: what is on its way into the journal would land in it, and a
    run that goes on would write into its tables."""
    if loop.running():
        loop.submit(end_runs()).result(ENDED_SECONDS)
    journal.flush()
    asyncio.run(services().state.reset(None, scenarios=True))
