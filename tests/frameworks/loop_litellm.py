"""A loop of calls through litellm against answers that nobody scripted: over each provider it
calls its tool once and ends."""

import os
from typing import Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm
from pydantic import BaseModel
from weather import MOST_TURNS, QUESTION, TOOL, result_of

URL, KEY = os.environ["MOCKLLM_URL"], "sk-litellm"
WAYS = {
    "openai/gpt-4o": f"{URL}/v1",
    "openai/responses/gpt-4o": f"{URL}/v1",
    "anthropic/claude-sonnet-4-5": URL,
    "gemini/gemini-2.5-flash": f"{URL}/v1beta",
    "ollama_chat/llama3.2": URL,
}


class City(BaseModel):
    """A city and how many people live there."""

    name: str
    people: int


def ask(model: str, messages: list[Any], **fields: Any) -> Any:
    given = {"api_base": WAYS[model], "api_key": KEY, "max_retries": 0, "messages": messages}
    return litellm.completion(model=model, **given, **fields)


def loop(model: str, *, stream: bool) -> tuple[str, int]:
    """What is said in the end, and how many calls there were before."""
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    calls = 0
    for _ in range(MOST_TURNS):
        answer = ask(model, messages, tools=[TOOL], stream=stream)
        if stream:
            answer = litellm.stream_chunk_builder(list(answer), messages=messages)
        said = answer.choices[0].message
        if not said.tool_calls:
            return said.content, calls
        messages.append(said)
        messages += map(result_of, said.tool_calls)
        calls += len(said.tool_calls)
    raise AssertionError(f"{model} called tools in each of {MOST_TURNS} turns")


for model in WAYS:
    for stream in (False, True):
        said, calls = loop(model, stream=stream)
        assert said.endswith(QUESTION) and calls == 1, (model, stream, said, calls)
    asked = [{"role": "user", "content": "Tell me a city"}]
    typed = ask(model, asked, response_format=City).choices[0].message.content
    City.model_validate_json(typed)
    print(f"{model}: passed")
