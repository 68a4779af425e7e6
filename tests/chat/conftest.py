"""Conversations with this server's own mock, by way of the service."""

from collections.abc import Iterator
from typing import Any

import pytest

from chat_app.clients.transports import allowed_hosts
from tests.chat.asking import Api
from tests.chat.chatting import Chat
from tests.chat.ways import KEY_VARIABLE, way  # noqa: F401
from tests.conftest import forget
from tests.support.live_server import Live


@pytest.fixture
def chat(transactional_db: None) -> Iterator[Chat]:
    """A chat whose rows are committed, as its runs write from a thread of their own."""
    yield Chat()
    forget()


class _WhereverTestsCall:
    """The suite's variables for every host that a test allows."""

    def __iter__(self) -> Iterator[tuple[str, str]]:
        names = (KEY_VARIABLE, "SOME_KEY", "KEY_OF_DOTENV", "NOT_SET_ANYWHERE")
        return iter([(name, host) for name in names for host in allowed_hosts()])


@pytest.fixture(autouse=True)
def key_hosts(settings: Any) -> None:
    settings.CHAT_KEYS = _WhereverTestsCall()


@pytest.fixture
def api(live: Live) -> Api:
    """The chat API of a running server, as one client uses it."""
    return Api(live.base_url)
