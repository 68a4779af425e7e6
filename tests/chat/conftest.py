"""Conversations with this server's own mock, by way of the service."""

from collections.abc import Iterator

import pytest

from tests.chat.asking import Api
from tests.chat.chatting import Chat
from tests.chat.ways import way  # noqa: F401
from tests.conftest import forget
from tests.live import Live


@pytest.fixture
def chat(transactional_db: None) -> Iterator[Chat]:
    """A chat whose rows are committed, as its runs write from a thread of their own."""
    yield Chat()
    forget()


@pytest.fixture
def api(live: Live) -> Api:
    """The chat API of a running server, as one client uses it."""
    return Api(live.base_url)
