"""A tool loop on litellm's completion(): `[careful]`."""

import os
import sys

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm
from tool import DESCRIPTION, QUESTION, SCHEMA, give_up, result_of

CAREFUL = "careful" in sys.argv
FUNCTION = {"name": "get_weather", "description": DESCRIPTION, "parameters": SCHEMA}
messages = [{"role": "user", "content": QUESTION}]
while True:
    choice = litellm.completion(
        model="openai/gpt-4o",
        messages=messages,
        tools=[{"type": "function", "function": FUNCTION}],
        **({"num_retries": 2} if CAREFUL else {}),
    ).choices[0]
    message = choice.message
    if CAREFUL and choice.finish_reason == "length":
        give_up("the answer was cut off: finish_reason length")
    if CAREFUL and getattr(message, "refusal", None):
        give_up(f"refused: {message.refusal}")
    if not message.tool_calls:
        break
    messages.append(message)
    for call in message.tool_calls:
        result = result_of(call.function.name, call.function.arguments)
        messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
if CAREFUL and not message.content:
    give_up("the answer is empty")
print(message.content)
