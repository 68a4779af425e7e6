"""Official clients of the live server: strict about what they are answered, without retries."""

from typing import Any

import pytest

from tests.live import Live
from tests.sdk.anthropic import anthropic_talk
from tests.sdk.anthropic.anthropic_talk import AnthropicTalk
from tests.sdk.gemini import gemini_talk
from tests.sdk.gemini.gemini_talk import GeminiTalk
from tests.sdk.ollama import ollama_talk
from tests.sdk.ollama.ollama_talk import OllamaTalk
from tests.sdk.openai import openai_talk
from tests.sdk.openai.openai_client import AsyncClient, Client, SyncClient
from tests.sdk.openai.openai_talk import OpenAITalk

SYNC_OR_ASYNC = ["sync", "async"]


def given(live: Live, base_url: str) -> dict[str, Any]:
    return {
        "base_url": base_url,
        "api_key": live.key,
        "max_retries": 0,
        "timeout": 60,
        "_strict_response_validation": True,
    }


@pytest.fixture(params=SYNC_OR_ASYNC)
def chat(request: pytest.FixtureRequest, live: Live) -> OpenAITalk:
    """OpenAI's client."""
    return openai_of(live, request.param)


def openai_of(live: Live, way: str) -> OpenAITalk:
    options = given(live, live.openai_base_url)
    return openai_talk.SyncTalk(options) if way == "sync" else openai_talk.AsyncTalk(options)


@pytest.fixture(params=SYNC_OR_ASYNC)
def client(request: pytest.FixtureRequest, live: Live) -> Client:
    """OpenAI's client, for all that is not chat."""
    options = given(live, live.openai_base_url)
    return SyncClient(options) if request.param == "sync" else AsyncClient(options)


@pytest.fixture(params=SYNC_OR_ASYNC)
def azure(request: pytest.FixtureRequest, live: Live) -> Client:
    """OpenAI's client for Azure."""
    options = given(live, "")
    del options["base_url"]
    options |= {"azure_endpoint": live.base_url, "api_version": "2025-04-01-preview"}
    if request.param == "sync":
        return SyncClient(options, azure=True)
    return AsyncClient(options, azure=True)


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


@pytest.fixture(params=SYNC_OR_ASYNC)
def gemini(request: pytest.FixtureRequest, live: Live) -> GeminiTalk:
    """Google's client."""
    options: dict[str, Any] = {"base_url": live.base_url, "timeout": 60_000}
    if request.param == "sync":
        return gemini_talk.SyncTalk(live.key, options)
    return gemini_talk.AsyncTalk(live.key, options)


@pytest.fixture(params=SYNC_OR_ASYNC)
def llama(request: pytest.FixtureRequest, live: Live) -> OllamaTalk:
    """Ollama's client."""
    return ollama_of(live, request.param)


def ollama_of(live: Live, way: str) -> OllamaTalk:
    """The key that it sends, though nobody asks for one, names the session."""
    headers = {"Authorization": f"Bearer {live.key}"}
    options = {"host": live.base_url, "headers": headers, "timeout": 60}
    return ollama_talk.SyncTalk(options) if way == "sync" else ollama_talk.AsyncTalk(options)
