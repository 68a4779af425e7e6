"""Agents of openai-agents without a script: each calls its tool once and ends."""

import asyncio
import os

import openai
from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from pydantic import BaseModel

URL, KEY = os.environ["MOCKLLM_URL"], "sk-agents"
QUESTION = "What is the weather in Paris?"
set_tracing_disabled(True)
called_locations: list[str] = []


class City(BaseModel):
    """A city and how many people live there."""

    name: str
    people: int


@function_tool
def get_weather(location: str) -> str:
    """Tells the weather."""
    called_locations.append(location)
    return f"sunny in {location}"


async def main() -> None:
    client = openai.AsyncOpenAI(base_url=f"{URL}/v1", api_key=KEY, max_retries=0)
    for kind in (OpenAIChatCompletionsModel, OpenAIResponsesModel):
        called_locations.clear()
        model = kind(model="gpt-4o", openai_client=client)
        agent = Agent(name="weather", model=model, tools=[get_weather])
        text = (await Runner.run(agent, QUESTION, max_turns=4)).final_output
        assert text.endswith(QUESTION) and len(called_locations) == 1, (text, called_locations)
        typed = Agent(name="city", model=model, tools=[get_weather], output_type=City)
        city = (await Runner.run(typed, QUESTION, max_turns=4)).final_output
        assert isinstance(city, City), city
        print(f"{kind.__name__}: passed")


asyncio.run(main())
