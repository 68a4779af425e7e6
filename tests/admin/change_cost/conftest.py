"""The provider that a test installs."""

from collections.abc import Iterator

import pytest

from scenarios_app.engine import secrets
from scenarios_app.wire import registry
from tests.admin.change_cost.acme import Acme


@pytest.fixture(autouse=True)
def acme() -> Iterator[None]:
    """Install the provider Acme."""
    declared_secrets = set(secrets._declared)
    registry.install(Acme(), *registry.SHIPPED)
    yield
    registry.install(*registry.SHIPPED)
    secrets._declared.clear()
    secrets.declare_secret_names(declared_secrets)
