"""A tool loop on openai's Responses: `[stream] [careful]`."""

import sys

import openai
from tool import DESCRIPTION, QUESTION, SCHEMA, give_up, result_of

STREAM, CAREFUL = "stream" in sys.argv, "careful" in sys.argv
TOOL = {"type": "function", "name": "get_weather", "description": DESCRIPTION, "parameters": SCHEMA}
client = openai.OpenAI()
items = [{"role": "user", "content": QUESTION}]


def ask() -> openai.types.responses.Response | None:
    options = {"model": "gpt-4o", "input": items, "tools": [TOOL]}
    if not STREAM:
        return client.responses.create(**options)
    final = None
    for event in client.responses.create(**options, stream=True):
        if event.type in ("response.completed", "response.incomplete"):
            final = event.response
    return final


while True:
    response = ask()
    if response is None:
        if CAREFUL:
            give_up("the stream ended early, without response.completed")
        break
    if CAREFUL and response.status != "completed":
        give_up(f"the answer is incomplete: {response.incomplete_details}")
    refusals = [
        part.refusal
        for item in response.output
        if item.type == "message"
        for part in item.content
        if part.type == "refusal"
    ]
    if CAREFUL and refusals:
        give_up(f"refused: {refusals[0]}")
    calls = [item for item in response.output if item.type == "function_call"]
    if not calls:
        break
    items += [item.model_dump(exclude_none=True) for item in response.output]
    for call in calls:
        output = result_of(call.name, call.arguments)
        items.append({"type": "function_call_output", "call_id": call.call_id, "output": output})
text = response.output_text if response else ""
if CAREFUL and not text:
    give_up("the answer is empty")
print(text)
