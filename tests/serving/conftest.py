"""The four ways in which a live server can have the doors."""

from collections.abc import Iterator

import pytest

from tests.serving.processes.servers import serving

LIVE = [("uvicorn", "door"), ("daphne", "door"), ("uvicorn", "view"), ("daphne", "view")]


@pytest.fixture(scope="session", params=LIVE, ids=" ".join)
def port(request: pytest.FixtureRequest) -> Iterator[int]:
    """Where a door is served, once for the whole run."""
    server, app = request.param
    with serving(server, f"tests.serving.doors.door_apps:{app}") as port:
        yield port
