"""The official clients of a live server: strict about what they are answered, without retries."""

from typing import Any

from tests.sdk.anthropic import anthropic_talk
from tests.sdk.anthropic.anthropic_talk import AnthropicTalk
from tests.sdk.gemini import gemini_talk
from tests.sdk.gemini.gemini_talk import GeminiTalk
from tests.sdk.ollama import ollama_talk
from tests.sdk.ollama.ollama_talk import OllamaTalk
from tests.sdk.openai import openai_client, openai_talk
from tests.sdk.openai.openai_talk import OpenAITalk
from tests.support.live_server import Live

SYNC_OR_ASYNC = ["sync", "async"]


def given(live: Live, base_url: str) -> dict[str, Any]:
    return {
        "base_url": base_url,
        "api_key": live.key,
        "max_retries": 0,
        "timeout": 60,
        "_strict_response_validation": True,
    }


def openai_of(live: Live, way: str) -> OpenAITalk:
    options = given(live, live.openai_base_url)
    return openai_talk.SyncTalk(options) if way == "sync" else openai_talk.AsyncTalk(options)


def openais_whole_client(live: Live, way: str) -> openai_client.Client:
    """For all that is not chat."""
    options = given(live, live.openai_base_url)
    if way == "sync":
        return openai_client.SyncClient(options)
    return openai_client.AsyncClient(options)


def claude_of(live: Live, way: str, *, beta: bool = False) -> AnthropicTalk:
    options = given(live, live.base_url)
    make = anthropic_talk.SyncTalk if way == "sync" else anthropic_talk.AsyncTalk
    talk: AnthropicTalk = make(options)
    talk.beta = beta
    return talk


def gemini_of(live: Live, way: str) -> GeminiTalk:
    options: dict[str, Any] = {"base_url": live.base_url, "timeout": 60_000}
    if way == "sync":
        return gemini_talk.SyncTalk(live.key, options)
    return gemini_talk.AsyncTalk(live.key, options)


def ollama_of(live: Live, way: str) -> OllamaTalk:
    """The key that it sends, though nobody asks for one, names the session."""
    headers = {"Authorization": f"Bearer {live.key}"}
    options = {"host": live.base_url, "headers": headers, "timeout": 60}
    return ollama_talk.SyncTalk(options) if way == "sync" else ollama_talk.AsyncTalk(options)
