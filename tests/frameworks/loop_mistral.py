"""Mistral's SDK without a script: it calls its tool once and ends."""

import os
from typing import Any

from mistralai.client import Mistral
from weather import MAX_TURNS, QUESTION, TOOL, tool_result

URL, KEY, MODEL = os.environ["MOCKLLM_URL"], "sk-mistral", "mistral-large-latest"
client = Mistral(api_key=KEY, server_url=f"{URL}/mistral")
messages: list[Any] = [{"role": "user", "content": QUESTION}]
calls = 0
for _ in range(MAX_TURNS):
    message = client.chat.complete(model=MODEL, messages=messages, tools=[TOOL]).choices[0].message
    if not message.tool_calls:
        break
    messages.append(message)
    messages += map(tool_result, message.tool_calls)
    calls += len(message.tool_calls)
assert message.content.endswith(QUESTION) and calls == 1, (message, calls)
print("chat: passed")
