"""Agents of pydantic-ai without a script: each run calls its tool once and ends."""

import os

from anthropic import AsyncAnthropic
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.providers.openai import OpenAIProvider

URL, KEY = os.environ["MOCKLLM_URL"], "sk-pydantic-ai"
QUESTION = "What is the weather in Paris?"


class City(BaseModel):
    """A city and how many people live there."""

    name: str
    people: int


def models() -> dict[str, Model]:
    openai = OpenAIProvider(base_url=f"{URL}/v1", api_key=KEY)
    claude = AsyncAnthropic(base_url=URL, api_key=KEY, max_retries=0)
    anthropic = AnthropicProvider(anthropic_client=claude)
    return {
        "openai chat": OpenAIChatModel("gpt-4o", provider=openai),
        "openai responses": OpenAIResponsesModel("gpt-4o", provider=openai),
        "anthropic": AnthropicModel("claude-sonnet-4-5", provider=anthropic),
        "google": GoogleModel(
            "gemini-2.5-flash", provider=GoogleProvider(api_key=KEY, base_url=URL)
        ),
    }


def check(model: Model) -> None:
    called_locations = []

    def get_weather(location: str) -> str:
        """Tells the weather."""
        called_locations.append(location)
        return f"sunny in {location}"

    result = Agent(model, tools=[get_weather]).run_sync(QUESTION)
    assert result.output.endswith(QUESTION) and len(called_locations) == 1, (
        result.output,
        called_locations,
    )
    typed = Agent(model, tools=[get_weather], output_type=City).run_sync(QUESTION)
    assert isinstance(typed.output, City), typed.output


for name, model in models().items():
    check(model)
    print(f"{name}: passed")
