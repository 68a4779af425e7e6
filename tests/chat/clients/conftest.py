"""What a client makes of a stream that a test writes down."""

from typing import Any

import pytest

from chat_app.errors import SERVICE_UNAVAILABLE
from tests.chat.scripted import hear
from tests.chat.ways import Told

UNREADABLE = (SERVICE_UNAVAILABLE, "Failed to parse response")


@pytest.fixture
def told(settings: Any, provider: str) -> Any:
    """What the client of the provider tells of a stream; who uses this says of which one."""

    def ask(*said: Any) -> Told:
        return hear(settings, provider, *said)

    return ask
