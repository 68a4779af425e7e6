"""The same conversation over Anthropic's official SDK, streamed, against `make run` as it comes.

    python examples/anthropic_weather.py

MOCKLLM_URL names another server than http://127.0.0.1:8000.
"""

import os
from collections.abc import Callable
from typing import Any

from anthropic import Anthropic

URL = os.environ.get("MOCKLLM_URL", "http://127.0.0.1:8000")


def get_weather(city: str, unit: str = "celsius") -> str:
    return f"{city}: 18 degrees {unit}, sunny"


def find_hotels(city: str, nights: int, near: dict[str, bool]) -> str:
    places = ", ".join(place for place, wanted in near.items() if wanted)
    return f"{city}: 3 hotels near the {places} with rooms for {nights} nights"


TOOLS: dict[str, Callable[..., str]] = {tool.__name__: tool for tool in (get_weather, find_hotels)}
OFFERED: list[Any] = [{"name": name, "input_schema": {"type": "object"}} for name in TOOLS]


def converse(client: Anthropic, question: str) -> None:
    """Ask, run whatever tools are called, and go on until the model calls none."""
    print(f"\nyou    {question}")
    messages: list[Any] = [{"role": "user", "content": question}]
    while True:
        with client.messages.stream(
            model="claude-sonnet-5-5", max_tokens=1024, messages=messages, tools=OFFERED
        ) as stream:
            prefix = "model  "
            for text in stream.text_stream:
                print(prefix, text, sep="", end="", flush=True)
                prefix = ""
            print(end="" if prefix else "\n")
            message = stream.get_final_message()
        messages.append({"role": "assistant", "content": message.content})
        results = []
        for block in message.content:
            if block.type == "tool_use":
                result = TOOLS[block.name](**block.input)
                print(f"tool   {block.name}({block.input}) -> {result}")
                results.append({"type": "tool_result", "tool_use_id": block.id, "content": result})
        if not results:
            return
        messages.append({"role": "user", "content": results})


if __name__ == "__main__":
    with Anthropic(base_url=URL, api_key="anthropic-weather") as anthropic:
        converse(anthropic, "What is the weather in Paris?")
        converse(anthropic, "And where should my next trip go?")
