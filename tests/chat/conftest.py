"""Fixtures for chats that the mock of this process answers."""

from collections.abc import Iterator
from typing import Any

import pytest

from chat_app.clients.transports import allowed_hosts
from tests.chat.api_client import Api
from tests.chat.chat_helpers import Chat
from tests.chat.mock_provider import KEY_VARIABLE, mock_provider  # noqa: F401
from tests.conftest import reset_server_state
from tests.support.live_server import Live


@pytest.fixture
def chat(transactional_db: None) -> Iterator[Chat]:
    """A chat whose rows are committed, as its runs write from another thread."""
    yield Chat()
    reset_server_state()


class _KeysForAllowedHosts:
    """The key variables of the tests, for every host that a test allows."""

    def __iter__(self) -> Iterator[tuple[str, str]]:
        names = (KEY_VARIABLE, "SOME_KEY", "KEY_OF_DOTENV", "NOT_SET_ANYWHERE")
        return iter([(name, host) for name in names for host in allowed_hosts()])


@pytest.fixture(autouse=True)
def key_hosts(settings: Any) -> None:
    settings.CHAT_KEYS = _KeysForAllowedHosts()


@pytest.fixture
def api(live: Live) -> Api:
    """The chat API of a running server, as one client uses it."""
    return Api(live.base_url)
