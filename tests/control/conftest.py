"""The control API of this process as a test on this machine sees it."""

from collections.abc import Iterator

import pytest

from mockllm_site.kit.api.locality import ADDRESS_VARIABLE
from tests.conftest import forget
from tests.control.control_client import Control


@pytest.fixture
def control(db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Control]:
    """Open, as a server on loopback is; sessions and journal are this test's alone."""
    monkeypatch.setenv(ADDRESS_VARIABLE, "127.0.0.1")
    yield Control()
    forget()
