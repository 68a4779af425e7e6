"""A live server of each kind."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.serving.processes.servers import run_asgi_server
from tests.support import fork_server


@pytest.fixture(scope="session", params=["uvicorn", "daphne"])
def port(request: pytest.FixtureRequest) -> Iterator[int]:
    """The port of a server that runs for the whole session."""
    with ExitStack() as stack:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "executable", fork_server.python())
            port = stack.enter_context(
                run_asgi_server(request.param, "tests.serving.transports.transport_apps:app")
            )
        yield port
