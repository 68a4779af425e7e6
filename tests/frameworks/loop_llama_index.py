"""Agents of llama-index against answers that nobody scripted: each run calls its tool and ends."""

import asyncio
import os

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.anthropic import Anthropic
from llama_index.llms.ollama import Ollama
from llama_index.llms.openai import OpenAI, OpenAIResponses

URL, KEY = os.environ["MOCKLLM_URL"], "sk-llama-index"
ASKED = "What is the weather in Paris?"
MODELS = {
    "openai": OpenAI(model="gpt-4o", api_base=f"{URL}/v1", api_key=KEY, max_retries=0),
    "responses": OpenAIResponses(model="gpt-4o", api_base=f"{URL}/v1", api_key=KEY, max_retries=0),
    "anthropic": Anthropic(
        model="claude-sonnet-4-5", base_url=URL, api_key=KEY, max_retries=0, max_tokens=4_096
    ),
    "ollama": Ollama(model="llama3.2", base_url=URL, request_timeout=20),
}
called: list[str] = []


def get_weather(location: str) -> str:
    """Tells the weather."""
    called.append(location)
    return f"sunny in {location}"


async def main() -> None:
    for name, model in MODELS.items():
        called.clear()
        agent = FunctionAgent(tools=[get_weather], llm=model)
        said = str(await agent.run(ASKED, max_iterations=4))
        assert said.endswith(ASKED) and len(called) == 1, (name, said, called)
        print(f"{name}: passed")


asyncio.run(main())
