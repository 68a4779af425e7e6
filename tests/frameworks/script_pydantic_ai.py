"""pydantic-ai over each provider: text, streams, tools, typed output, errors."""

import os

from anthropic import AsyncAnthropic
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.providers.openai import OpenAIProvider

URL, KEY = os.environ["MOCKLLM_URL"], "sk-pydantic-ai"
TEXT = "Hello from the mock, one two three four five six."


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


def get_weather(location: str) -> str:
    """Tells the weather."""
    return f"sunny in {location}"


def check(model: Model) -> None:
    agent = Agent(model)
    answer = agent.run_sync("Hello")
    assert answer.output == TEXT, answer.output
    assert answer.usage.input_tokens > 0 and answer.usage.output_tokens > 0
    streamed = agent.run_stream_sync("Hello")
    pieces = list(streamed.stream_text(delta=True, debounce_by=None))
    assert "".join(pieces) == TEXT and len(pieces) > 1, pieces

    weather = Agent(model, tools=[get_weather]).run_sync("What is the weather in Paris?")
    assert weather.output == "It is sunny in Paris.", weather.output

    city = Agent(model, output_type=City).run_sync("Tell me a city")
    assert city.output == City(name="Paris", people=2_100_000), city.output

    try:
        agent.run_sync("limit")
    except ModelHTTPError as error:
        assert error.status_code == 429, error
    else:
        raise AssertionError("no error was raised")


for name, model in models().items():
    check(model)
    print(f"{name}: passed")
