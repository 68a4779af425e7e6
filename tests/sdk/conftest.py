"""The official clients as fixtures: of each provider its own, and all of them behind one face."""

from typing import Any

import pytest

from tests.sdk.anthropic.anthropic_talk import AnthropicTalk
from tests.sdk.clients import PROVIDERS, Client, client_of
from tests.sdk.gemini.gemini_talk import GeminiTalk
from tests.sdk.ollama.ollama_talk import OllamaTalk
from tests.sdk.openai.openai_talk import OpenAITalk
from tests.sdk.talks import SYNC_OR_ASYNC, claude_of, gemini_of, ollama_of, openai_of
from tests.support.live_server import Live


@pytest.fixture(params=PROVIDERS)
def provider(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(params=SYNC_OR_ASYNC)
def client(request: pytest.FixtureRequest, live: Live, provider: str) -> Client:
    """Each provider's client, one after another."""
    return client_of(live, provider, request.param)


@pytest.fixture(params=SYNC_OR_ASYNC)
def chat(request: pytest.FixtureRequest, live: Live) -> OpenAITalk:
    """OpenAI's client."""
    return openai_of(live, request.param)


@pytest.fixture(params=SYNC_OR_ASYNC)
def claude(request: pytest.FixtureRequest, live: Live) -> AnthropicTalk:
    """Anthropic's client."""
    return claude_of(live, request.param)


@pytest.fixture(params=["plain", "beta"])
def either_claude(request: pytest.FixtureRequest, claude: AnthropicTalk) -> AnthropicTalk:
    """Anthropic's client, and its beta part, which asks other paths and reads other types."""
    claude.beta = request.param == "beta"
    return claude


@pytest.fixture(params=SYNC_OR_ASYNC)
def gemini(request: pytest.FixtureRequest, live: Live) -> GeminiTalk:
    """Google's client."""
    return gemini_of(live, request.param)


@pytest.fixture(params=SYNC_OR_ASYNC)
def llama(request: pytest.FixtureRequest, live: Live) -> OllamaTalk:
    """Ollama's client."""
    return ollama_of(live, request.param)
