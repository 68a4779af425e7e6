"""A client of the control API of this process."""

from collections.abc import Iterator

import pytest

from mockllm_site.kit.api.locality import ADDRESS_VARIABLE
from tests.conftest import reset_server_state
from tests.control.control_client import Control


@pytest.fixture
def control(db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Control]:
    """Yield a client of the API as if it listened on loopback; clear sessions and journal after."""
    monkeypatch.setenv(ADDRESS_VARIABLE, "127.0.0.1")
    yield Control()
    reset_server_state()
