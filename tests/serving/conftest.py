"""Live servers for each combination of server and transport."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.serving.processes.servers import run_asgi_server
from tests.support import fork_server

LIVE = [
    *(("uvicorn", "asgi_app"), ("daphne", "asgi_app")),
    *(("uvicorn", "view_app"), ("daphne", "view_app")),
]


@pytest.fixture(scope="session", params=LIVE, ids=" ".join)
def port(request: pytest.FixtureRequest) -> Iterator[int]:
    """The port of a server that runs for the whole session."""
    server, app = request.param
    with ExitStack() as stack:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "executable", fork_server.python())
            port = stack.enter_context(
                run_asgi_server(server, f"tests.serving.transports.transport_apps:{app}")
            )
        yield port
