"""Fixture that runs a client on a scripted stream."""

from typing import Any

import pytest

from chat_app.errors import SERVICE_UNAVAILABLE
from tests.chat.scripted import read_answer
from tests.chat.ways import ReceivedAnswer

UNREADABLE = (SERVICE_UNAVAILABLE, "Failed to parse response")


@pytest.fixture
def receive(settings: Any, provider: str) -> Any:
    """Return a function that reads scripted events with the client of `provider`."""

    def ask(*said: Any) -> ReceivedAnswer:
        return read_answer(settings, provider, *said)

    return ask
