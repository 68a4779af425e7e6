"""Agents of llama-index without a script: each run calls its tool once and ends."""

import asyncio
import os

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.anthropic import Anthropic
from llama_index.llms.ollama import Ollama
from llama_index.llms.openai import OpenAI, OpenAIResponses

URL, KEY = os.environ["MOCKLLM_URL"], "sk-llama-index"
QUESTION = "What is the weather in Paris?"
MODELS = {
    "openai": OpenAI(model="gpt-4o", api_base=f"{URL}/v1", api_key=KEY, max_retries=0),
    "responses": OpenAIResponses(model="gpt-4o", api_base=f"{URL}/v1", api_key=KEY, max_retries=0),
    "anthropic": Anthropic(
        model="claude-sonnet-4-5", base_url=URL, api_key=KEY, max_retries=0, max_tokens=4_096
    ),
    "ollama": Ollama(model="llama3.2", base_url=URL, request_timeout=20),
}
called_locations: list[str] = []


def get_weather(location: str) -> str:
    """Tells the weather."""
    called_locations.append(location)
    return f"sunny in {location}"


async def main() -> None:
    for name, model in MODELS.items():
        called_locations.clear()
        agent = FunctionAgent(tools=[get_weather], llm=model)
        text = str(await agent.run(QUESTION, max_iterations=4))
        assert text.endswith(QUESTION) and len(called_locations) == 1, (
            name,
            text,
            called_locations,
        )
        print(f"{name}: passed")


asyncio.run(main())
