"""Create official clients of a live server, with strict response validation and no retries."""

from typing import Any

from tests.sdk.anthropic import anthropic_client
from tests.sdk.anthropic.anthropic_client import AnthropicClient
from tests.sdk.gemini import gemini_client
from tests.sdk.gemini.gemini_client import GeminiClient
from tests.sdk.ollama import ollama_client
from tests.sdk.ollama.ollama_client import OllamaClient
from tests.sdk.openai import openai_chat_client, openai_client
from tests.sdk.openai.openai_chat_client import OpenAIChatClient
from tests.support.live_server import Live

SYNC_OR_ASYNC = ["sync", "async"]


def strict_options(live: Live, base_url: str) -> dict[str, Any]:
    return {
        "base_url": base_url,
        "api_key": live.key,
        "max_retries": 0,
        "timeout": 60,
        "_strict_response_validation": True,
    }


def make_openai_chat_client(live: Live, mode: str) -> OpenAIChatClient:
    options = strict_options(live, live.openai_base_url)
    return (
        openai_chat_client.SyncChatClient(options)
        if mode == "sync"
        else openai_chat_client.AsyncChatClient(options)
    )


def make_openai_client(live: Live, mode: str) -> openai_client.OpenAIClient:
    """Create the client for requests other than chat completions."""
    options = strict_options(live, live.openai_base_url)
    if mode == "sync":
        return openai_client.SyncOpenAIClient(options)
    return openai_client.AsyncOpenAIClient(options)


def make_anthropic_client(live: Live, mode: str, *, beta: bool = False) -> AnthropicClient:
    options = strict_options(live, live.base_url)
    client_class = (
        anthropic_client.SyncAnthropicClient
        if mode == "sync"
        else anthropic_client.AsyncAnthropicClient
    )
    client: AnthropicClient = client_class(options)
    client.beta = beta
    return client


def make_gemini_client(live: Live, mode: str) -> GeminiClient:
    options: dict[str, Any] = {"base_url": live.base_url, "timeout": 60_000}
    if mode == "sync":
        return gemini_client.SyncGeminiClient(live.key, options)
    return gemini_client.AsyncGeminiClient(live.key, options)


def make_ollama_client(live: Live, mode: str) -> OllamaClient:
    """Create a client that sends an API key, which Ollama does not need but names the session."""
    headers = {"Authorization": f"Bearer {live.key}"}
    options = {"host": live.base_url, "headers": headers, "timeout": 60}
    return (
        ollama_client.SyncOllamaClient(options)
        if mode == "sync"
        else ollama_client.AsyncOllamaClient(options)
    )
