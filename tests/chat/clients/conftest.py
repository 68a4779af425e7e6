"""Fixture that runs a client on a scripted stream."""

from typing import Any

import pytest

from chat_app.errors import SERVICE_UNAVAILABLE
from tests.chat.mock_provider import ReceivedAnswer
from tests.chat.scripted_transport import read_answer

UNREADABLE = (SERVICE_UNAVAILABLE, "Failed to parse response")


@pytest.fixture
def receive(settings: Any, provider: str) -> Any:
    """Return a function that reads scripted events with the client of `provider`."""

    def read_events(*events: Any) -> ReceivedAnswer:
        return read_answer(settings, provider, *events)

    return read_events
