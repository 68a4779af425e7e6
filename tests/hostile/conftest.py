"""Live servers that answer provider requests by the ASGI app or by Django's view."""

from collections.abc import Iterator
from typing import Any, cast

import pytest

from scenarios_app.serving.transports.asgi_scope import App, with_close
from tests.conftest import reset_server_state
from tests.support.live_server import Live, LiveServer


@pytest.fixture(scope="session")
def django_server(shared_server: LiveServer, django_db_blocker: Any) -> Iterator[LiveServer]:
    """Run the application with Django's view instead of the ASGI app in front of it."""
    from mockllm_site.asgi import django

    unblock, block = django_db_blocker.unblock, django_db_blocker.block
    with unblock(), LiveServer(with_close(cast(App, django)), lifespan="off") as server, block():
        yield server


@pytest.fixture(params=["asgi", "view"])
def either_live(
    request: pytest.FixtureRequest,
    shared_server: LiveServer,
    django_server: LiveServer,
    transactional_db: None,
) -> Iterator[Live]:
    """A running server that answers by the ASGI app or by Django's view."""
    through_django = request.param == "view"
    server = django_server if through_django else shared_server
    yield Live(server, through_django=through_django)
    reset_server_state()
