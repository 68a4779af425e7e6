"""Agents of LangChain without a script: each calls its tool once and ends."""

import os

from langchain.agents import create_agent
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_anthropic import ChatAnthropic
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_google_genai import ChatGoogleGenerativeAI
from langchain_ollama import ChatOllama
from langchain_openai import ChatOpenAI
from pydantic import BaseModel

URL, KEY = os.environ["MOCKLLM_URL"], "sk-langchain"
QUESTION = "What is the weather in Paris?"
INPUT = {"messages": [{"role": "user", "content": QUESTION}]}
# One turn of the model and one tool call are two steps.
CONFIG = {"recursion_limit": 9}
called_locations: list[str] = []


class City(BaseModel):
    """A city and how many people live there."""

    name: str
    people: int


def get_weather(location: str) -> str:
    """Tells the weather."""
    called_locations.append(location)
    return f"sunny in {location}"


def models() -> dict[str, BaseChatModel]:
    openai = {"model": "gpt-4o", "base_url": f"{URL}/v1", "api_key": KEY, "max_retries": 0}
    return {
        "chat completions": ChatOpenAI(**openai),
        "responses": ChatOpenAI(**openai, use_responses_api=True),
        "anthropic": ChatAnthropic(
            model="claude-sonnet-4-5", base_url=URL, api_key=KEY, max_retries=0
        ),
        "gemini": ChatGoogleGenerativeAI(
            model="gemini-2.5-flash", base_url=URL, api_key=KEY, max_retries=1
        ),
        "ollama": ChatOllama(model="llama3.2", base_url=URL),
    }


def check(model: BaseChatModel) -> None:
    called_locations.clear()
    last_message = create_agent(model, [get_weather]).invoke(INPUT, CONFIG)["messages"][-1]
    assert isinstance(last_message, AIMessage) and last_message.text.endswith(QUESTION), (
        last_message
    )
    assert len(called_locations) == 1, called_locations

    called_locations.clear()
    pieces = create_agent(model, [get_weather]).stream(INPUT, CONFIG, stream_mode="messages")
    text = "".join(piece.text for piece, _ in pieces if piece.type.startswith("AIMessage"))
    assert text.endswith(QUESTION) and len(called_locations) == 1, (text, called_locations)

    if isinstance(model, ChatOllama):
        # Ollama cannot force calls, so the format alone gives the type.
        typed = model.with_structured_output(City).invoke(QUESTION)
        assert isinstance(typed, City), typed
        return
    for strategy in (ToolStrategy(City), ProviderStrategy(City)):
        agent = create_agent(model, [get_weather], response_format=strategy)
        city = agent.invoke(INPUT, CONFIG)["structured_response"]
        assert isinstance(city, City), (strategy, city)


for name, model in models().items():
    check(model)
    print(f"{name}: passed")
