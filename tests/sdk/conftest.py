"""Official clients of the live server: strict about what they are answered, without retries."""

from typing import Any

import pytest

from tests.live import Live
from tests.sdk import anthropic_talk, openai_talk
from tests.sdk.anthropic_talk import AnthropicTalk
from tests.sdk.openai_talk import OpenAITalk

SYNC_OR_ASYNC = ["sync", "async"]


def given(live: Live, base_url: str) -> dict[str, Any]:
    return {
        "base_url": base_url,
        "api_key": live.key,
        "max_retries": 0,
        "timeout": 20,
        "_strict_response_validation": True,
    }


@pytest.fixture(params=SYNC_OR_ASYNC)
def chat(request: pytest.FixtureRequest, live: Live) -> OpenAITalk:
    """OpenAI's client."""
    options = given(live, live.openai_base_url)
    if request.param == "sync":
        return openai_talk.SyncTalk(options)
    return openai_talk.AsyncTalk(options)


@pytest.fixture(params=SYNC_OR_ASYNC)
def claude(request: pytest.FixtureRequest, live: Live) -> AnthropicTalk:
    """Anthropic's client."""
    options = given(live, live.base_url)
    if request.param == "sync":
        return anthropic_talk.SyncTalk(options)
    return anthropic_talk.AsyncTalk(options)


@pytest.fixture(params=["plain", "beta"])
def either_claude(request: pytest.FixtureRequest, claude: AnthropicTalk) -> AnthropicTalk:
    """Anthropic's client, and its beta part, which asks other paths and reads other types."""
    claude.beta = request.param == "beta"
    return claude
