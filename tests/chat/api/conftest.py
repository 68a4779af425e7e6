"""Two profiles to compare."""

import pytest

from chat_app.models import ModelProfile
from tests.chat.api.compared import ONE, TWO, answering
from tests.support.live_server import Live


@pytest.fixture
def pair(live: Live) -> None:
    """Two profiles that the mock tells apart by their models."""
    for name in (ONE, TWO):
        ModelProfile.objects.create(
            name=name, provider_id="openai", model_id=f"model-{name}", base_url="mock:"
        )
    live.load(
        *(answering(f"model-{name}", {"text": f"I am {name}."}, name=name) for name in (ONE, TWO))
    )
