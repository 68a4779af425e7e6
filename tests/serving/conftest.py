"""The four ways in which a live server can have the doors."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.serving.processes.servers import serving
from tests.support import fork_server

LIVE = [("uvicorn", "door"), ("daphne", "door"), ("uvicorn", "view"), ("daphne", "view")]


@pytest.fixture(scope="session", params=LIVE, ids=" ".join)
def port(request: pytest.FixtureRequest) -> Iterator[int]:
    """Where a door is served, once for the whole run."""
    server, app = request.param
    with ExitStack() as running:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "executable", fork_server.python())
            port = running.enter_context(
                serving(server, f"tests.serving.transports.door_apps:{app}")
            )
        yield port
