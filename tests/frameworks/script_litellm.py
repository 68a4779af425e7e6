"""litellm over every provider: text, streams, tools, errors."""

import os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm
from weather import QUESTION, TOOL

URL, KEY = os.environ["MOCKLLM_URL"], "sk-litellm"
TEXT = "Hello from the mock, one two three four five six."
BASE_URLS = {
    "openai/gpt-4o": f"{URL}/v1",
    "anthropic/claude-sonnet-4-5": URL,
    "gemini/gemini-2.5-flash": f"{URL}/v1beta",
    "ollama_chat/llama3.2": URL,
    "ollama/llama3.2": URL,
}


def check(model: str, base: str) -> None:
    def complete(prompt: str, **fields: object) -> object:
        messages = [{"role": "user", "content": prompt}]
        options = {"api_base": base, "api_key": KEY, "max_retries": 0, "messages": messages}
        return litellm.completion(model=model, **{**options, **fields})

    answer = complete("Hello")
    assert answer.choices[0].message.content == TEXT, answer
    assert answer.usage.total_tokens > 0
    pieces = [chunk.choices[0].delta.content or "" for chunk in complete("Hello", stream=True)]
    assert "".join(pieces) == TEXT, pieces
    if model.startswith("ollama/"):
        # On this path LiteLLM writes tools into the prompt's text.
        return
    try:
        complete("limit")
    except Exception as error:
        assert getattr(error, "status_code", 0) in (429, 500), error
    else:
        raise AssertionError("no error was raised")
    first = complete(QUESTION, tools=[TOOL]).choices[0].message
    (call,) = first.tool_calls
    assert call.function.name == "get_weather"
    tool_result = {
        "role": "tool",
        "tool_call_id": call.id,
        "name": "get_weather",
        "content": "sunny",
    }
    messages = [{"role": "user", "content": QUESTION}, first, tool_result]
    second = complete("", tools=[TOOL], messages=messages)
    assert second.choices[0].message.content == "It is sunny in Paris.", second


for model, base in BASE_URLS.items():
    check(model, base)
    print(f"{model}: passed")
