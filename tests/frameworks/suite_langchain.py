"""LangChain's standard chat-model suite, with each integration whose API the server has.

pytest runs it in a separate environment; `MOCKLLM_URL` is the server.
"""

import os
from typing import Any

from langchain_anthropic import ChatAnthropic
from langchain_google_genai import ChatGoogleGenerativeAI
from langchain_ollama import ChatOllama
from langchain_openai import ChatOpenAI
from langchain_tests.integration_tests import ChatModelIntegrationTests

URL = os.environ["MOCKLLM_URL"]
KEY = "sk-langchain"


class TestOpenAI(ChatModelIntegrationTests):
    """Chat completions."""

    @property
    def chat_model_class(self) -> type[ChatOpenAI]:
        return ChatOpenAI

    @property
    def chat_model_params(self) -> dict[str, Any]:
        return {
            "model": "gpt-4o",
            "base_url": f"{URL}/v1",
            "api_key": KEY,
            "stream_usage": True,
            "max_retries": 0,
        }

    @property
    def supports_json_mode(self) -> bool:
        return True

    @property
    def supports_image_inputs(self) -> bool:
        return False

    @property
    def model_override_value(self) -> str:
        return "gpt-4o-mini"


class TestOpenAIResponses(TestOpenAI):
    """Responses."""

    @property
    def chat_model_params(self) -> dict[str, Any]:
        return {
            "model": "gpt-4o",
            "base_url": f"{URL}/v1",
            "api_key": KEY,
            "use_responses_api": True,
            "max_retries": 0,
        }


class TestAnthropic(ChatModelIntegrationTests):
    """Messages."""

    @property
    def chat_model_class(self) -> type[ChatAnthropic]:
        return ChatAnthropic

    @property
    def chat_model_params(self) -> dict[str, Any]:
        return {
            "model": "claude-haiku-4-5",
            "base_url": URL,
            "api_key": KEY,
            "max_retries": 0,
        }

    @property
    def model_override_value(self) -> str:
        return "claude-sonnet-5-5"


class TestGoogle(ChatModelIntegrationTests):
    """generateContent."""

    @property
    def chat_model_class(self) -> type[ChatGoogleGenerativeAI]:
        return ChatGoogleGenerativeAI

    @property
    def chat_model_params(self) -> dict[str, Any]:
        return {
            "model": "gemini-2.5-flash",
            "base_url": URL,
            "api_key": KEY,
            "max_retries": 1,
        }


class TestOllama(ChatModelIntegrationTests):
    """Ollama's chat."""

    @property
    def chat_model_class(self) -> type[ChatOllama]:
        return ChatOllama

    @property
    def chat_model_params(self) -> dict[str, Any]:
        return {"model": "llama3.2", "base_url": URL, "validate_model_on_init": True}

    @property
    def has_tool_choice(self) -> bool:
        return False

    @property
    def supports_json_mode(self) -> bool:
        return True

    @property
    def model_override_value(self) -> str:
        return "qwen3"
