"""Fixtures for comparisons."""

import pytest

from chat_app.models import ModelProfile
from tests.chat.api.comparison_helpers import ONE, TWO, model_scenario
from tests.support.live_server import Live


@pytest.fixture
def two_profiles(live: Live) -> None:
    """Create two profiles whose models the mock answers differently."""
    for name in (ONE, TWO):
        ModelProfile.objects.create(
            name=name, provider_id="openai", model_id=f"model-{name}", base_url="mock:"
        )
    live.load(
        *(
            model_scenario(f"model-{name}", {"text": f"I am {name}."}, name=name)
            for name in (ONE, TWO)
        )
    )
