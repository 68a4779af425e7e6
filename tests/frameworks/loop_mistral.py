"""Mistral's SDK against answers that nobody scripted: it calls its tool once and ends."""

import json
import os
from typing import Any

from mistralai.client import Mistral

URL, KEY, MODEL = os.environ["MOCKLLM_URL"], "sk-mistral", "mistral-large-latest"
QUESTION = "What is the weather in Paris?"
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "parameters": {
                "type": "object",
                "properties": {"location": {"type": "string"}},
                "required": ["location"],
            },
        },
    }
]
MOST_TURNS = 4
client = Mistral(api_key=KEY, server_url=f"{URL}/mistral")
messages: list[Any] = [{"role": "user", "content": QUESTION}]
calls = 0
for _ in range(MOST_TURNS):
    said = client.chat.complete(model=MODEL, messages=messages, tools=TOOLS).choices[0].message
    if not said.tool_calls:
        break
    messages.append(said)
    for call in said.tool_calls:
        calls += 1
        city = json.loads(call.function.arguments)["location"]
        told = {"role": "tool", "tool_call_id": call.id, "name": call.function.name}
        messages.append({**told, "content": f"sunny in {city}"})
assert said.content.endswith(QUESTION) and calls == 1, (said, calls)
print("chat: passed")
