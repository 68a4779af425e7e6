"""Fixtures of the official clients: one for each provider, and one for all of them."""

from typing import Any

import pytest

from tests.sdk.anthropic.anthropic_client import AnthropicClient
from tests.sdk.client_factories import (
    SYNC_OR_ASYNC,
    make_anthropic_client,
    make_gemini_client,
    make_ollama_client,
    make_openai_chat_client,
)
from tests.sdk.clients import PROVIDERS, ProviderClient, make_client
from tests.sdk.gemini.gemini_client import GeminiClient
from tests.sdk.ollama.ollama_client import OllamaClient
from tests.sdk.openai.openai_chat_client import OpenAIChatClient
from tests.support.live_server import Live


@pytest.fixture(params=PROVIDERS)
def provider(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(params=SYNC_OR_ASYNC)
def client(request: pytest.FixtureRequest, live: Live, provider: str) -> ProviderClient:
    """Return the client of each provider in turn."""
    return make_client(live, provider, request.param)


@pytest.fixture(params=SYNC_OR_ASYNC)
def chat(request: pytest.FixtureRequest, live: Live) -> OpenAIChatClient:
    """Return OpenAI's client."""
    return make_openai_chat_client(live, request.param)


@pytest.fixture(params=SYNC_OR_ASYNC)
def claude(request: pytest.FixtureRequest, live: Live) -> AnthropicClient:
    """Return Anthropic's client."""
    return make_anthropic_client(live, request.param)


@pytest.fixture(params=["plain", "beta"])
def either_claude(request: pytest.FixtureRequest, claude: AnthropicClient) -> AnthropicClient:
    """Return Anthropic's client, plain or beta; the beta client has other paths and types."""
    claude.beta = request.param == "beta"
    return claude


@pytest.fixture(params=SYNC_OR_ASYNC)
def gemini(request: pytest.FixtureRequest, live: Live) -> GeminiClient:
    """Return Google's client."""
    return make_gemini_client(live, request.param)


@pytest.fixture(params=SYNC_OR_ASYNC)
def llama(request: pytest.FixtureRequest, live: Live) -> OllamaClient:
    """Return Ollama's client."""
    return make_ollama_client(live, request.param)
