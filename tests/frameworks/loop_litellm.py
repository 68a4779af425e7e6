"""litellm without a script: a loop over each provider calls its tool once and ends."""

import os
from typing import Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm
from pydantic import BaseModel
from weather import MAX_TURNS, QUESTION, TOOL, tool_result

URL, KEY = os.environ["MOCKLLM_URL"], "sk-litellm"
BASE_URLS = {
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


def complete(model: str, messages: list[Any], **fields: Any) -> Any:
    options = {"api_base": BASE_URLS[model], "api_key": KEY, "max_retries": 0, "messages": messages}
    return litellm.completion(model=model, **options, **fields)


def run_loop(model: str, *, stream: bool) -> tuple[str, int]:
    """Return the last text and the number of tool calls before it."""
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    calls = 0
    for _ in range(MAX_TURNS):
        answer = complete(model, messages, tools=[TOOL], stream=stream)
        if stream:
            answer = litellm.stream_chunk_builder(list(answer), messages=messages)
        message = answer.choices[0].message
        if not message.tool_calls:
            return message.content, calls
        messages.append(message)
        messages += map(tool_result, message.tool_calls)
        calls += len(message.tool_calls)
    raise AssertionError(f"{model} called tools in each of {MAX_TURNS} turns")


for model in BASE_URLS:
    for stream in (False, True):
        text, calls = run_loop(model, stream=stream)
        assert text.endswith(QUESTION) and calls == 1, (model, stream, text, calls)
    messages = [{"role": "user", "content": "Tell me a city"}]
    typed = complete(model, messages, response_format=City).choices[0].message.content
    City.model_validate_json(typed)
    print(f"{model}: passed")
