"""openai-agents over chat completions and Responses: a run with a tool, streamed or not."""

import asyncio
import os

import openai
from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    function_tool,
    responses_websocket_session,
    set_tracing_disabled,
)
from pydantic import BaseModel

URL, KEY = os.environ["MOCKLLM_URL"], "sk-agents"
set_tracing_disabled(True)


class City(BaseModel):
    """A city and how many people live there."""

    name: str
    people: int


@function_tool
def get_weather(location: str) -> str:
    """Tells the weather."""
    return f"sunny in {location}"


async def main() -> None:
    client = openai.AsyncOpenAI(base_url=f"{URL}/v1", api_key=KEY, max_retries=0)
    for kind in (OpenAIChatCompletionsModel, OpenAIResponsesModel):
        model = kind(model="gpt-4o", openai_client=client)
        agent = Agent(name="weather", model=model, tools=[get_weather])
        result = await Runner.run(agent, "What is the weather in Paris?")
        assert result.final_output == "It is sunny in Paris.", result.final_output

        run = Runner.run_streamed(agent, "What is the weather in Paris?")
        events = [event.type async for event in run.stream_events()]
        assert "raw_response_event" in events and "run_item_stream_event" in events
        assert run.final_output == "It is sunny in Paris.", run.final_output

        typed = Agent(name="city", model=model, output_type=City)
        city = (await Runner.run(typed, "Tell me a city")).final_output
        assert city == City(name="Paris", people=2_100_000), city

        try:
            await Runner.run(Agent(name="limited", model=model), "limit")
        except openai.RateLimitError:
            print(f"{kind.__name__}: passed")
        else:
            raise AssertionError("no error was raised")
    await run_over_websocket()


async def run_over_websocket() -> None:
    """Run turns with a tool on one WebSocket; the second continues the first."""
    async with responses_websocket_session(base_url=f"{URL}/v1", api_key=KEY) as session:
        agent = Agent(name="weather", model="gpt-4o", tools=[get_weather])
        first = await session.run(agent, "What is the weather in Paris?")
        assert first.final_output == "It is sunny in Paris.", first.final_output
        second = session.run_streamed(
            agent, "What is the weather in Paris?", previous_response_id=first.last_response_id
        )
        events = [event.type async for event in second.stream_events()]
        assert "raw_response_event" in events
        assert second.final_output == "It is sunny in Paris.", second.final_output
    print("responses_websocket_session: passed")


asyncio.run(main())
