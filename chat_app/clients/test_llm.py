"""The provider `test-llm`: OpenAI's API, answered in process by the scenario that the first user
message names."""

from collections.abc import AsyncIterator
from dataclasses import replace

from chat_app.clients.base import ProviderEvent
from chat_app.clients.openai import OpenAIClient
from chat_app.clients.providers import TEST_LLM
from chat_app.values.request import ModelRequest


class HarnessClient(OpenAIClient):
    def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
        """The mock knows its harness by the model's name."""
        return super().stream(replace(request, model=f"{TEST_LLM}/{request.model}"))
