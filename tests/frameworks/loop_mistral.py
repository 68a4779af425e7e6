"""Mistral's SDK against answers that nobody scripted: it calls its tool once and ends."""

import os
from typing import Any

from mistralai.client import Mistral
from weather import MOST_TURNS, QUESTION, TOOL, result_of

URL, KEY, MODEL = os.environ["MOCKLLM_URL"], "sk-mistral", "mistral-large-latest"
client = Mistral(api_key=KEY, server_url=f"{URL}/mistral")
messages: list[Any] = [{"role": "user", "content": QUESTION}]
calls = 0
for _ in range(MOST_TURNS):
    said = client.chat.complete(model=MODEL, messages=messages, tools=[TOOL]).choices[0].message
    if not said.tool_calls:
        break
    messages.append(said)
    messages += map(result_of, said.tool_calls)
    calls += len(said.tool_calls)
assert said.content.endswith(QUESTION) and calls == 1, (said, calls)
print("chat: passed")
