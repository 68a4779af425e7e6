"""A conversation with tools over OpenAI's official SDK, streamed, against `make run` as it comes.

    python examples/openai_weather.py

MOCKLLM_URL names another server than http://127.0.0.1:8000.
"""

import json
import os
from collections.abc import Callable
from typing import Any

from openai import OpenAI

URL = os.environ.get("MOCKLLM_URL", "http://127.0.0.1:8000")


def get_weather(city: str, unit: str = "celsius") -> str:
    return f"{city}: 18 degrees {unit}, sunny"


def find_hotels(city: str, nights: int, near: dict[str, bool]) -> str:
    places = ", ".join(place for place, wanted in near.items() if wanted)
    return f"{city}: 3 hotels near the {places} with rooms for {nights} nights"


TOOLS: dict[str, Callable[..., str]] = {tool.__name__: tool for tool in (get_weather, find_hotels)}
OFFERED: list[Any] = [{"type": "function", "function": {"name": name}} for name in TOOLS]


def converse(client: OpenAI, question: str) -> None:
    """Ask, run whatever tools are called, and go on until the model calls none."""
    print(f"\nyou    {question}")
    messages: list[Any] = [{"role": "user", "content": question}]
    while True:
        with client.chat.completions.stream(
            model="gpt-4o", messages=messages, tools=OFFERED
        ) as stream:
            prefix = "model  "
            for event in stream:
                if event.type == "content.delta":
                    print(prefix, event.delta, sep="", end="", flush=True)
                    prefix = ""
            print(end="" if prefix else "\n")
            message = stream.get_final_completion().choices[0].message
        messages.append(message)
        for call in message.tool_calls or ():
            name, arguments = call.function.name, json.loads(call.function.arguments)
            result = TOOLS[name](**arguments)
            print(f"tool   {name}({arguments}) -> {result}")
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
        if not message.tool_calls:
            return


if __name__ == "__main__":
    with OpenAI(base_url=f"{URL}/v1", api_key="openai-weather") as openai:
        converse(openai, "What is the weather in Paris?")
        converse(openai, "And where should my next trip go?")
